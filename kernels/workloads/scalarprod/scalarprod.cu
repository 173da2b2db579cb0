// Scalar products of many pairs of vectors, one pair a block: every thread sums a strided part of the
// products, then the block adds the parts in a tree in shared memory.

#include "warpfile.h"

#define THREADS 256

extern "C" __global__ void scalarprod(const float *a, const float *b, float *products, int length) {
    __shared__ float part[THREADS];

    const float *x = a + blockIdx.x * length;
    const float *y = b + blockIdx.x * length;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += THREADS) sum += x[i] * y[i];
    part[threadIdx.x] = sum;

    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) products[blockIdx.x] = part[0];
}
