// C = alpha A B + beta C for row-major matrices, A m x k, B k x n, as Parboil's register-tiled product.
//
// A block of 128 threads makes a 16 x 128 tile of C, each thread a column of it in 16 registers; B is read once from
// global memory, 8-deep slices of A pass through shared memory. m is a multiple of 16, n of 128, k of 8.

#include "warpfile.h"

#define COLUMNS 128
#define ROWS 16
#define DEPTH 8

extern "C" __global__ void sgemm(const float *__restrict__ a, const float *__restrict__ b, float *c, int n,
                                 int k, float alpha, float beta) {
    __shared__ float slice_a[DEPTH][ROWS];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * ROWS;
    int column = blockIdx.x * COLUMNS + ty * ROWS + tx;

    float sum[ROWS];
#pragma unroll
    for (int i = 0; i < ROWS; i++) sum[i] = 0.0f;

    for (int slice = 0; slice < k; slice += DEPTH) {
        slice_a[ty][tx] = a[(row + tx) * k + slice + ty];
        __syncthreads();

#pragma unroll
        for (int depth = 0; depth < DEPTH; depth++) {
            float from_b = b[(slice + depth) * n + column];
#pragma unroll
            for (int i = 0; i < ROWS; i++) sum[i] += slice_a[depth][i] * from_b;
        }
        __syncthreads();
    }

    float *own = c + row * n + column;
#pragma unroll
    for (int i = 0; i < ROWS; i++) own[i * n] = alpha * sum[i] + beta * own[i * n];
}
