// Speckle-reducing anisotropic diffusion (Yu & Acton 2002) of an image, 16 x 16 pixels a block. Pixels
// beyond the border repeat it. Width and height are multiples of 16.

#include "warpfile.h"
#include "coefficient.h"

#define SIDE 16

// Diffusion coefficient of every pixel from its four derivatives, which are kept for the update.
extern "C" __global__ void coefficients(const float *image, float *north, float *south, float *west,
                                        float *east, float *coefficient, int columns, int rows,
                                        float speckle_scale) {
    __shared__ float tile[SIDE][SIDE];
    __shared__ float above[SIDE], below[SIDE], left[SIDE], right[SIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * SIDE + tx;
    int row = blockIdx.y * SIDE + ty;
    int pixel = row * columns + column;

    tile[ty][tx] = image[pixel];
    if (ty == 0) above[tx] = image[row > 0 ? pixel - columns : pixel];
    if (ty == SIDE - 1) below[tx] = image[row < rows - 1 ? pixel + columns : pixel];
    if (tx == 0) left[ty] = image[column > 0 ? pixel - 1 : pixel];
    if (tx == SIDE - 1) right[ty] = image[column < columns - 1 ? pixel + 1 : pixel];
    __syncthreads();

    float here = tile[ty][tx];
    float n = (ty == 0 ? above[tx] : tile[ty - 1][tx]) - here;
    float s = (ty == SIDE - 1 ? below[tx] : tile[ty + 1][tx]) - here;
    float w = (tx == 0 ? left[ty] : tile[ty][tx - 1]) - here;
    float e = (tx == SIDE - 1 ? right[ty] : tile[ty][tx + 1]) - here;

    coefficient[pixel] = diffusion(here, n, s, w, e, speckle_scale);
    north[pixel] = n;
    south[pixel] = s;
    west[pixel] = w;
    east[pixel] = e;
}

// One diffusion step with the coefficients of the pixel and of its southern and eastern neighbours.
extern "C" __global__ void diffuse(float *image, const float *north, const float *south, const float *west,
                                   const float *east, const float *coefficient, int columns, int rows,
                                   float rate) {
    __shared__ float tile[SIDE][SIDE];
    __shared__ float below[SIDE], right[SIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * SIDE + tx;
    int row = blockIdx.y * SIDE + ty;
    int pixel = row * columns + column;

    tile[ty][tx] = coefficient[pixel];
    if (ty == SIDE - 1) below[tx] = coefficient[row < rows - 1 ? pixel + columns : pixel];
    if (tx == SIDE - 1) right[ty] = coefficient[column < columns - 1 ? pixel + 1 : pixel];
    __syncthreads();

    float here = tile[ty][tx];
    float at_south = ty == SIDE - 1 ? below[tx] : tile[ty + 1][tx];
    float at_east = tx == SIDE - 1 ? right[ty] : tile[ty][tx + 1];
    float divergence = here * north[pixel] + at_south * south[pixel] + here * west[pixel] + at_east * east[pixel];
    image[pixel] += 0.25f * rate * divergence;
}
