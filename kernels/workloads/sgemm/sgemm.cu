// C = alpha A B + beta C for row-major matrices, A m x k, B k x n.
//
// A block of 16 x 16 threads makes a 32 x 32 tile of C, each thread a 2 x 2 square of it held in registers;
// 16-deep slices of A and B pass through shared memory. m and n are multiples of 32, k of 16.

#include "warpfile.h"

#define SIDE 16
#define TILE 32

extern "C" __global__ void sgemm(const float *__restrict__ a, const float *__restrict__ b, float *c, int n,
                                 int k, float alpha, float beta) {
    __shared__ float tile_a[TILE][SIDE];
    __shared__ float tile_b[SIDE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int column = blockIdx.x * TILE + tx;

    float c00 = 0.0f, c01 = 0.0f, c10 = 0.0f, c11 = 0.0f;
    for (int slice = 0; slice < k; slice += SIDE) {
        tile_a[ty][tx] = a[row * k + slice + tx];
        tile_a[ty + SIDE][tx] = a[(row + SIDE) * k + slice + tx];
        tile_b[ty][tx] = b[(slice + ty) * n + column];
        tile_b[ty][tx + SIDE] = b[(slice + ty) * n + column + SIDE];
        __syncthreads();

#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            float a0 = tile_a[ty][i], a1 = tile_a[ty + SIDE][i];
            float b0 = tile_b[i][tx], b1 = tile_b[i][tx + SIDE];
            c00 += a0 * b0;
            c01 += a0 * b1;
            c10 += a1 * b0;
            c11 += a1 * b1;
        }
        __syncthreads();
    }

    float *upper = c + row * n + column;
    float *lower = upper + SIDE * n;
    upper[0] = alpha * c00 + beta * upper[0];
    upper[SIDE] = alpha * c01 + beta * upper[SIDE];
    lower[0] = alpha * c10 + beta * lower[0];
    lower[SIDE] = alpha * c11 + beta * lower[SIDE];
}
