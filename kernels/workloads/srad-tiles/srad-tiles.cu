// Speckle-reducing anisotropic diffusion (Yu & Acton 2002) of an image, 16 x 16 pixels a block, with the shared memory of
// Rodinia's second version: a tile for the pixels, one for what lies beyond the block in each direction, one for the result,
// 6144 and 5120 bytes. Every row of threads loads the rows above and below the block, and uses its own place of them. Pixels
// beyond the border repeat it. Width and height are multiples of 16.

#include "warpfile.h"
#include "../srad/coefficient.h"

#define SIDE 16

// Diffusion coefficient of every pixel from its four derivatives, which are kept for the update.
extern "C" __global__ void coefficients(const float *image, float *north, float *south, float *west,
                                        float *east, float *coefficient, int columns, int rows,
                                        float speckle_scale) {
    __shared__ float tile[SIDE][SIDE], result[SIDE][SIDE];
    __shared__ float above[SIDE][SIDE], below[SIDE][SIDE], left[SIDE][SIDE], right[SIDE][SIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int first_column = blockIdx.x * SIDE, first_row = blockIdx.y * SIDE;
    int last_column = first_column + SIDE - 1, last_row = first_row + SIDE - 1;
    int column = first_column + tx, row = first_row + ty;
    int pixel = row * columns + column;

    above[ty][tx] = image[max(first_row - 1, 0) * columns + column];
    below[ty][tx] = image[min(last_row + 1, rows - 1) * columns + column];
    left[ty][tx] = image[row * columns + max(first_column - 1, 0)];
    right[ty][tx] = image[row * columns + min(last_column + 1, columns - 1)];
    tile[ty][tx] = image[pixel];
    __syncthreads_and_reload();

    float here = tile[ty][tx];
    float n = (ty == 0 ? above[ty][tx] : tile[ty - 1][tx]) - here;
    float s = (ty == SIDE - 1 ? below[ty][tx] : tile[ty + 1][tx]) - here;
    float w = (tx == 0 ? left[ty][tx] : tile[ty][tx - 1]) - here;
    float e = (tx == SIDE - 1 ? right[ty][tx] : tile[ty][tx + 1]) - here;

    result[ty][tx] = diffusion(here, n, s, w, e, speckle_scale);
    __syncthreads_and_reload();

    coefficient[pixel] = result[ty][tx];
    north[pixel] = n;
    south[pixel] = s;
    west[pixel] = w;
    east[pixel] = e;
}

// One diffusion step with the coefficients of the pixel and of its southern and eastern neighbours.
extern "C" __global__ void diffuse(float *image, const float *north, const float *south, const float *west,
                                   const float *east, const float *coefficient, int columns, int rows,
                                   float rate) {
    __shared__ float below[SIDE][SIDE], right[SIDE][SIDE];
    __shared__ float own[SIDE][SIDE], tile[SIDE][SIDE], result[SIDE][SIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int last_column = blockIdx.x * SIDE + SIDE - 1, last_row = blockIdx.y * SIDE + SIDE - 1;
    int column = blockIdx.x * SIDE + tx, row = blockIdx.y * SIDE + ty;
    int pixel = row * columns + column;

    own[ty][tx] = image[pixel];
    below[ty][tx] = coefficient[min(last_row + 1, rows - 1) * columns + column];
    right[ty][tx] = coefficient[row * columns + min(last_column + 1, columns - 1)];
    tile[ty][tx] = coefficient[pixel];
    __syncthreads_and_reload();

    float here = tile[ty][tx];
    float at_south = ty == SIDE - 1 ? below[ty][tx] : tile[ty + 1][tx];
    float at_east = tx == SIDE - 1 ? right[ty][tx] : tile[ty][tx + 1];
    float divergence = here * north[pixel] + at_south * south[pixel] + here * west[pixel] + at_east * east[pixel];
    result[ty][tx] = own[ty][tx] + 0.25f * rate * divergence;
    __syncthreads_and_reload();

    image[pixel] = result[ty][tx];
}
