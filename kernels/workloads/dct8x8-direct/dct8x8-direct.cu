// Discrete cosine transform of the 8 x 8 tiles of an image as two products of matrices, a block for a tile and a thread for
// each of its coefficients.

#include "warpfile.h"

#define SIDE 8

// Row k, column n: the function of frequency k at place n.
__constant__ float cosines[SIDE * SIDE];

extern "C" __global__ void __launch_bounds__(SIDE *SIDE)
    direct(const float *__restrict__ image, float *__restrict__ spectrum, int width) {
    __shared__ float tile[SIDE][SIDE], by_columns[SIDE][SIDE];

    int x = threadIdx.x, y = threadIdx.y;
    int pixel = (blockIdx.y * SIDE + y) * width + blockIdx.x * SIDE + x;
    tile[y][x] = image[pixel];
    __syncthreads();

    float sum = 0;
#pragma unroll
    for (int i = 0; i < SIDE; i++) sum += cosines[y * SIDE + i] * tile[i][x];
    by_columns[y][x] = sum;
    __syncthreads();

    sum = 0;
#pragma unroll
    for (int i = 0; i < SIDE; i++) sum += by_columns[y][i] * cosines[x * SIDE + i];
    spectrum[pixel] = sum;
}
