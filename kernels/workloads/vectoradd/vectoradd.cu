// Element-wise sum of two vectors, one element a thread.

#include "warpfile.h"

extern "C" __global__ void vectoradd(const float *a, const float *b, float *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sum[i] = a[i] + b[i];
}
