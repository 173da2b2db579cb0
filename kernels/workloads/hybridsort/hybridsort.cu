// Sorts numbers: into buckets by a histogram, then every bucket by merging, four numbers at a time. A bucket
// starts at a multiple of four and is padded at its end with a number larger than all.

#include "warpfile.h"

#define MOST_BUCKETS 1024

// Bucket of every key, which is the number of pivots not above it, and its rank among the keys of its bucket in
// its block; how many keys of the block each bucket has.
extern "C" __global__ void count(const float *keys, const float *pivots, int *bucket_of, int *rank_of,
                                 int *histogram, int n, int buckets) {
    __shared__ int in_block[MOST_BUCKETS];

    for (int b = threadIdx.x; b < buckets; b += blockDim.x) in_block[b] = 0;
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float key = keys[i];
        int low = 0, high = buckets - 1;
        while (low < high) {
            int middle = (low + high) / 2;
            if (pivots[middle] <= key)
                low = middle + 1;
            else
                high = middle;
        }
        bucket_of[i] = low;
        rank_of[i] = atomicAdd(&in_block[low], 1);
    }
    __syncthreads();

    for (int b = threadIdx.x; b < buckets; b += blockDim.x) histogram[blockIdx.x * buckets + b] = in_block[b];
}

// A single block, a bucket a thread: keys of the bucket in the blocks before, for every block; then where the
// buckets start, padded and not.
extern "C" __global__ void starts(int *histogram, int *padded_start, int *start, int blocks) {
    __shared__ int size[MOST_BUCKETS];

    int bucket = threadIdx.x, buckets = blockDim.x;
    int before = 0;
    for (int block = 0; block < blocks; block++) {
        int here = histogram[block * buckets + bucket];
        histogram[block * buckets + bucket] = before;
        before += here;
    }
    size[bucket] = before;
    __syncthreads();

    int padded = 0, dense = 0;
    for (int b = 0; b < bucket; b++) {
        padded += (size[b] + 3) / 4 * 4;
        dense += size[b];
    }
    padded_start[bucket] = padded;
    start[bucket] = dense;
    if (bucket == buckets - 1) {
        padded_start[buckets] = padded + (before + 3) / 4 * 4;
        start[buckets] = dense + before;
    }
}

extern "C" __global__ void scatter(const float *keys, const int *bucket_of, const int *rank_of,
                                   const int *histogram, const int *padded_start, float *sorted, int n,
                                   int buckets) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int bucket = bucket_of[i];
        sorted[padded_start[bucket] + histogram[blockIdx.x * buckets + bucket] + rank_of[i]] = keys[i];
    }
}

// Puts the smaller of two numbers first.
static inline __device__ void order(float &a, float &b) {
    float smaller = fminf(a, b);
    b = fmaxf(a, b);
    a = smaller;
}

// Four numbers a thread.
extern "C" __global__ void sort_quads(float4 *sorted, int quads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        float4 q = sorted[i];
        order(q.x, q.y);
        order(q.z, q.w);
        order(q.x, q.z);
        order(q.y, q.w);
        order(q.y, q.z);
        sorted[i] = q;
    }
}

// Sorts four numbers that rise and then fall, or the other way round.
static inline __device__ void sort_bitonic(float4 &q) {
    order(q.x, q.z);
    order(q.y, q.w);
    order(q.x, q.y);
    order(q.z, q.w);
}

// Merges two sorted runs of a bucket, 2^pass quads each, or what there is of them. One pair of runs a thread;
// `first_pairs` is their number in a bucket in pass 0.
extern "C" __global__ void merge(const float4 *runs, float4 *merged, const int *padded_start, int buckets,
                                 int pass, int first_pairs) {
    int pairs = first_pairs >> pass;
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int bucket = thread / pairs, pair = thread % pairs;
    if (bucket >= buckets) return;

    int length = 1 << pass;
    int end = padded_start[bucket + 1] / 4;
    int a = padded_start[bucket] / 4 + 2 * length * pair;
    if (a >= end) return;

    int to = a;
    int a_end = min(a + length, end);
    int b = a_end;
    int b_end = min(b + length, end);
    if (b == b_end) {
        while (a < a_end) merged[to++] = runs[a++];
        return;
    }

    // `upper` has the four largest numbers taken so far, sorted; no number still in the runs belongs before
    // the four smallest.
    float4 lower = runs[a++];
    float4 upper = runs[b++];
    while (true) {
        order(lower.x, upper.w);
        order(lower.y, upper.z);
        order(lower.z, upper.y);
        order(lower.w, upper.x);
        sort_bitonic(lower);
        sort_bitonic(upper);
        merged[to++] = lower;
        if (a < a_end && (b == b_end || runs[a].x <= runs[b].x))
            lower = runs[a++];
        else if (b < b_end)
            lower = runs[b++];
        else
            break;
    }
    merged[to] = upper;
}

// Leaves the padding out, a bucket a block.
extern "C" __global__ void compact(const float *sorted, const int *padded_start, const int *start,
                                   float *result) {
    int from = padded_start[blockIdx.x], to = start[blockIdx.x];
    int size = start[blockIdx.x + 1] - to;
    for (int i = threadIdx.x; i < size; i += blockDim.x) result[to + i] = sorted[from + i];
}
