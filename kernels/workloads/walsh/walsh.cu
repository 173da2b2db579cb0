// Dyadic convolution of a sequence with a short filter by fast Walsh transforms: stages of four over all of memory until
// a part fits into a block, the rest of its stages in shared memory.

#include "warpfile.h"

#define MOST_ELEMENTS 512

// Two stages at once on elements that are `stride` apart.
static inline __device__ void four(float *d0, float *d1, float *d2, float *d3) {
    float s02 = *d0 + *d2, s13 = *d1 + *d3, t02 = *d0 - *d2, t13 = *d1 - *d3;
    *d0 = s02 + s13;
    *d1 = s02 - s13;
    *d2 = t02 + t13;
    *d3 = t02 - t13;
}

// Two stages in memory, over parts of 4 * stride elements.
extern "C" __global__ void __launch_bounds__(256) global_stages(float *data, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = i & (stride - 1);
    float *at = data + (i - low) * 4 + low;
    float d0 = at[0], d1 = at[stride], d2 = at[2 * stride], d3 = at[3 * stride];
    four(&d0, &d1, &d2, &d3);
    at[0] = d0;
    at[stride] = d1;
    at[2 * stride] = d2;
    at[3 * stride] = d3;
}

// All stages of a part of four elements a thread.
extern "C" __global__ void __launch_bounds__(MOST_ELEMENTS / 4) shared_stages(float *data) {
    __shared__ float part[MOST_ELEMENTS];
    int thread = threadIdx.x, threads = blockDim.x;
    float *from = data + blockIdx.x * threads * 4;
    for (int i = thread; i < 4 * threads; i += threads) part[i] = from[i];
    int stride = threads;
    for (; stride > 0; stride /= 4) {
        int low = thread & (stride - 1);
        float *at = part + (thread - low) * 4 + low;
        __syncthreads();
        four(at, at + stride, at + 2 * stride, at + 3 * stride);
        // One stage is left if their number is odd.
        if (stride == 2) {
            __syncthreads();
            for (int i = 2 * thread; i < 4 * threads; i += 2 * threads) {
                float sum = part[i] + part[i + 1], difference = part[i] - part[i + 1];
                part[i] = sum;
                part[i + 1] = difference;
            }
        }
    }
    __syncthreads();
    for (int i = thread; i < 4 * threads; i += threads) from[i] = part[i];
}

// Product of the spectra; the transform is its own inverse but for the number of elements.
extern "C" __global__ void __launch_bounds__(128)
    modulate(float *__restrict__ data, const float *__restrict__ filter, int n) {
    float scale = __fdividef(1.0f, (float)n);
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) data[i] *= filter[i] * scale;
}
