// Streaming k-median, the search for centres: would it pay to open a centre at a candidate point? Points that are
// nearer to it would move there; a centre whose remaining points lose less than a centre costs would be closed.
//
// Every centre ever opened has a slot; slot 0 is the first point's. The kernels `weigh` and `decide` do what a host
// program does between launches.

#include "warpfile.h"

#define MOST_DIMENSIONS 64
#define THREADS 128

// Cost of every point at the candidate, and whether it would move there. One point a thread; coordinates are
// stored dimension by dimension, those of the candidate pass through shared memory.
extern "C" __global__ void price(const float *coordinates, const float *weight, const float *cost, float *there,
                                 int *moves, int points, int dimensions, int candidate) {
    __shared__ float place[MOST_DIMENSIONS];

    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < dimensions) place[threadIdx.x] = coordinates[threadIdx.x * points + candidate];
    __syncthreads();
    if (point >= points) return;

    float squared = 0.0f;
#pragma unroll 1
    for (int d = 0; d < dimensions; d++) {
        float difference = coordinates[d * points + point] - place[d];
        squared += difference * difference;
    }
    float price = squared * weight[point];
    there[point] = price;
    moves[point] = price < cost[point];
}

// What the points of a slot that would not move lose if its centre is closed, a slot a block; the last block sums
// what the points that move save.
extern "C" __global__ void weigh(const int *assigned, const int *moves, const float *cost, const float *there,
                                 float *gain, int points, int slots) {
    __shared__ float sum[THREADS];

    int slot = blockIdx.x, t = threadIdx.x;
    float own = 0.0f;
#pragma unroll 1
    for (int point = t; point < points; point += THREADS) {
        bool counts = slot == slots ? moves[point] != 0 : moves[point] == 0 && assigned[point] == slot;
        if (counts) own += cost[point] - there[point];
    }
    sum[t] = own;
    __syncthreads();

    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) sum[t] += sum[t + half];
        __syncthreads();
    }
    if (t == 0) gain[slot] = sum[0];
}

// One thread: opens the candidate's slot if that pays, and closes what it makes superfluous.
extern "C" __global__ void decide(const float *gain, int *open, int *closes, int slots, int slot,
                                  float price_of_centre) {
    float total = gain[slots] - price_of_centre;
    for (int s = 0; s < slots; s++) {
        float freed = price_of_centre + gain[s];
        closes[s] = open[s] && freed > 0.0f;
        if (closes[s]) total += freed;
    }
    for (int s = 0; s < slots; s++) {
        if (total <= 0.0f) closes[s] = 0;
        if (closes[s]) open[s] = 0;
    }
    open[slot] = total > 0.0f;
}

// One point a thread.
extern "C" __global__ void reassign(int *assigned, const int *moves, float *cost, const float *there,
                                    const int *open, const int *closes, int points, int slot) {
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points || !open[slot]) return;
    if (moves[point] || closes[assigned[point]]) {
        assigned[point] = slot;
        cost[point] = there[point];
    }
}
