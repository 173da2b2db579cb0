// Prefix sums of arrays of integers, exclusive and inclusive: a tree in shared memory for the elements of a block, the
// same for the sums of the blocks, which are then added to what is behind them.

#include "warpfile.h"

#define THREADS 128
#define ELEMENTS (2 * THREADS)

// A word more after every 32 against conflicts of banks.
#define AT(i) ((i) + ((i) >> 5))

// Exclusive prefix sums of a block's elements in `tree`, which is up to date when it returns; their sum is returned to thread 0.
static inline __device__ int scan_tree(int *tree) {
    int thread = threadIdx.x, total = 0;
    // Up: the last element of every 2, 4, ... gets their sum.
    int stride = 1;
    for (int pairs = THREADS; pairs > 0; pairs /= 2) {
        __syncthreads();
        if (thread < pairs) {
            int right = stride * (2 * thread + 2) - 1;
            tree[AT(right)] += tree[AT(right - stride)];
        }
        stride *= 2;
    }
    if (thread == 0) {
        total = tree[AT(ELEMENTS - 1)];
        tree[AT(ELEMENTS - 1)] = 0;
    }
    // Down: the left half gets what is before both, the right half that and the left half's sum.
    for (int pairs = 1; pairs <= THREADS; pairs *= 2) {
        stride /= 2;
        __syncthreads();
        if (thread < pairs) {
            int right = stride * (2 * thread + 2) - 1;
            int left = tree[AT(right - stride)];
            tree[AT(right - stride)] = tree[AT(right)];
            tree[AT(right)] += left;
        }
    }
    __syncthreads();
    return total;
}

// Row y of blocks has an array of `length` elements; `sums` has the sum of each block's.
template <bool INCLUSIVE>
static inline __device__ void scan_block(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ sums,
                                         int length, int *tree) {
    int start = blockIdx.x * ELEMENTS, array = blockIdx.y * length;
    int own[2];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int i = threadIdx.x + half * THREADS;
        own[half] = start + i < length ? in[array + start + i] : 0;
        tree[AT(i)] = own[half];
    }
    int total = scan_tree(tree);
    if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] = total;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int i = threadIdx.x + half * THREADS;
        if (start + i < length) out[array + start + i] = INCLUSIVE ? tree[AT(i)] + own[half] : tree[AT(i)];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    exclusive(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ sums, int length) {
    __shared__ int tree[AT(ELEMENTS)];
    scan_block<false>(in, out, sums, length, tree);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    inclusive(const int *__restrict__ in, int *__restrict__ out, int *__restrict__ sums, int length) {
    __shared__ int tree[AT(ELEMENTS)];
    scan_block<true>(in, out, sums, length, tree);
}

// Adds to a block's elements the sum of all before it.
extern "C" __global__ void __launch_bounds__(THREADS)
    add_sums(int *__restrict__ out, const int *__restrict__ sums, int length) {
    __shared__ int before;
    if (threadIdx.x == 0) before = sums[blockIdx.y * gridDim.x + blockIdx.x];
    __syncthreads_and_reload();
    int start = blockIdx.x * ELEMENTS, array = blockIdx.y * length;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int i = start + threadIdx.x + half * THREADS;
        if (i < length) out[array + i] += before;
    }
}
