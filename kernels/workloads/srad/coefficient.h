// The diffusion coefficient of Yu & Acton (2002), from 0 to 1, of a pixel and its four derivatives.

static inline __device__ float diffusion(float here, float n, float s, float w, float e, float speckle_scale) {
    float gradient = (n * n + s * s + w * w + e * e) / (here * here);
    float laplacian = (n + s + w + e) / here;
    float numerator = 0.5f * gradient - 0.0625f * (laplacian * laplacian);
    float denominator = 1.0f + 0.25f * laplacian;
    float variation = numerator / (denominator * denominator);
    float c = 1.0f / (1.0f + (variation - speckle_scale) / (speckle_scale * (1.0f + speckle_scale)));
    return c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}
