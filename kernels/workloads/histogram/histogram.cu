// How often each of 256 values is among many bytes: a histogram a warp in shared memory, their sum a block, the sum of the
// blocks.

#include "warpfile.h"

#define BINS 256
#define WARPS 9
#define THREADS (32 * WARPS)

// Bytes come four to a word.
extern "C" __global__ void __launch_bounds__(THREADS)
    count(const unsigned *__restrict__ bytes, int *__restrict__ partial, int words) {
    __shared__ int counts[WARPS * BINS];
    int thread = threadIdx.x;
    for (int i = thread; i < WARPS * BINS; i += THREADS) counts[i] = 0;
    __syncthreads();
    int *own = counts + thread / 32 * BINS;
    for (int i = blockIdx.x * THREADS + thread; i < words; i += gridDim.x * THREADS) {
        unsigned four = bytes[i];
        atomicAdd(own + (four & 255), 1);
        atomicAdd(own + (four >> 8 & 255), 1);
        atomicAdd(own + (four >> 16 & 255), 1);
        atomicAdd(own + (four >> 24), 1);
    }
    __syncthreads();
    if (thread < BINS) {
        int sum = 0;
#pragma unroll
        for (int warp = 0; warp < WARPS; warp++) sum += counts[warp * BINS + thread];
        partial[blockIdx.x * BINS + thread] = sum;
    }
}

// A thread a value.
extern "C" __global__ void __launch_bounds__(64)
    merge(const int *__restrict__ partial, int *__restrict__ histogram, int blocks) {
    int bin = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    for (int block = 0; block < blocks; block++) sum += partial[block * BINS + bin];
    histogram[bin] = sum;
}
