// Black-Scholes prices of European options, a grid-stride loop over the options.

#include "warpfile.h"

// Distribution function of the normal distribution (Abramowitz & Stegun 26.2.17).
static inline __device__ float normal(float d) {
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float tail = 0.3989422804f * expf(-0.5f * d * d) * polynomial;
    return d > 0.0f ? 1.0f - tail : tail;
}

extern "C" __global__ void __launch_bounds__(128)
    blackscholes(const float *__restrict__ price, const float *__restrict__ strike,
                 const float *__restrict__ years, float *__restrict__ call, float *__restrict__ put,
                 float riskfree, float volatility, int options) {
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < options; i += stride) {
        float s = price[i], x = strike[i], t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = __fdividef(logf(__fdividef(s, x)) + (riskfree + 0.5f * volatility * volatility) * t, spread);
        float n1 = normal(d1);
        float n2 = normal(d1 - spread);
        float discounted = x * expf(-riskfree * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
