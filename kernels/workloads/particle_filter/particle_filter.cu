// Tracks an object through the frames of a film with a cloud of particles: each moves at random, is weighed by how
// bright the disc around it is, and is drawn again in proportion to its weight (Gordon, Salmond & Smith 1993).
//
// Weights are whole numbers, so the sum over all particles does not depend on its order.

#include "warpfile.h"

#define THREADS 128

static inline __device__ float uniform(unsigned &seed) {
    seed = seed * 1664525u + 1013904223u;
    return (float)((seed >> 8) + 1) * 5.9604644775390625e-8f; // 2^-24
}

// Box & Muller.
static inline __device__ float normal(unsigned &seed) {
    float u = uniform(seed);
    float v = uniform(seed);
    return sqrtf(-2.0f * logf(u)) * cosf(6.283185307179586f * v);
}

// Moves every particle and weighs it: one a thread. `disc` has the offsets of the disc's pixels, x and y.
extern "C" __global__ void likelihood(const unsigned char *frame, const int *disc, float *x, float *y,
                                      unsigned *seeds, int *weight, int particles, int side, int pixels) {
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles) return;

    unsigned seed = seeds[particle];
    float new_x = x[particle] + 1.0f + 2.0f * normal(seed);
    float new_y = y[particle] - 0.5f + 1.5f * normal(seed);
    x[particle] = new_x;
    y[particle] = new_y;
    seeds[particle] = seed;

    int centre_x = (int)floorf(new_x + 0.5f);
    int centre_y = (int)floorf(new_y + 0.5f);
    int brightness = 0;
    for (int i = 0; i < pixels; i++) {
        int px = centre_x + disc[2 * i];
        int py = centre_y + disc[2 * i + 1];
        if (px >= 0 && px < side && py >= 0 && py < side) brightness += frame[py * side + px];
    }
    // In steps of four of 256 shades, an eighth of a power of two each.
    float level = (float)(brightness / (4 * pixels));
    weight[particle] = (int)(16.0f * expf(0.6931471805599453f * 0.125f * level));
}

// Sums of the weights up to every particle, within its block; the sum of the block.
extern "C" __global__ void sum(const int *weight, int *cumulative, int *total, int particles) {
    __shared__ int sums[2][THREADS];

    int t = threadIdx.x;
    int particle = blockIdx.x * THREADS + t;
    sums[0][t] = particle < particles ? weight[particle] : 0;
    __syncthreads();

    int from = 0;
    for (int distance = 1; distance < THREADS; distance *= 2) {
        int value = sums[from][t];
        if (t >= distance) value += sums[from][t - distance];
        sums[1 - from][t] = value;
        from = 1 - from;
        __syncthreads();
    }
    if (particle < particles) cumulative[particle] = sums[from][t];
    if (t == THREADS - 1) total[blockIdx.x] = sums[from][t];
}

// Adds the sums of the blocks before.
extern "C" __global__ void accumulate(int *cumulative, const int *total, int particles) {
    int particle = blockIdx.x * THREADS + threadIdx.x;
    int before = 0;
    for (int block = 0; block < blockIdx.x; block++) before += total[block];
    if (particle < particles) cumulative[particle] += before;
}

// Draws particles at equal distances on the sum of the weights, each by a search from the start.
extern "C" __global__ void resample(const int *cumulative, const float *x, const float *y, float *drawn_x,
                                    float *drawn_y, int particles) {
    int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles) return;

    int step = cumulative[particles - 1] / particles;
    int wanted = step * particle + step / 2;
    int found = particles - 1;
#pragma unroll 1
    for (int i = 0; i < particles; i++) {
        if (cumulative[i] > wanted) {
            found = i;
            break;
        }
    }
    drawn_x[particle] = x[found];
    drawn_y[particle] = y[found];
}
