// Temperature of a chip over time, as `hotspot`, with as much as possible in registers: a thread holds a strip of a
// column, a block 64 such strips side by side; only what goes east and west passes through shared memory.
//
// Two time steps a launch: strips overlap by two rows and blocks by two columns at each end. Cells beyond the edge
// of the chip repeat the edge. The number of rows is a multiple of 8.

#include "warpfile.h"

#define STEPS 2
#define ROWS 8
#define HELD (ROWS + 2 * STEPS)
#define THREADS 64

struct Chip {
    int rows;
    float step_over_capacity, conductance_x, conductance_y, conductance_z, ambient;
};

// Where a thread stands: the row of its first cell, its own place in a line and those east and west of it.
struct Place {
    int top, here, west, east;
};

// One time step of all cells but the first and last `step`, which have no neighbours left.
template <int step>
static inline __device__ void advance(const Chip &chip, const Place &place, float (*line)[THREADS], float *now,
                                      const float *heat) {
#pragma unroll
    for (int i = step; i < HELD - step; i++) line[i][place.here] = now[i];
    __syncthreads();

    float next[HELD];
#pragma unroll
    for (int i = step; i < HELD - step; i++) {
        float t = now[i];
        float north = place.top + i > 0 ? now[i - 1] : t;
        float south = place.top + i < chip.rows - 1 ? now[i + 1] : t;
        float across = line[i][place.east] + line[i][place.west];
        next[i] = t + chip.step_over_capacity *
                          (heat[i] + (south + north - 2.0f * t) * chip.conductance_y +
                           (across - 2.0f * t) * chip.conductance_x + (chip.ambient - t) * chip.conductance_z);
    }
#pragma unroll
    for (int i = step; i < HELD - step; i++) now[i] = next[i];
    __syncthreads();
}

extern "C" __global__ void hotspot_strips(const float *power, const float *before, float *after, int columns,
                                          int rows, float step_over_capacity, float conductance_x,
                                          float conductance_y, float conductance_z, float ambient) {
    __shared__ float line[HELD][THREADS];

    int t = threadIdx.x;
    int column = blockIdx.x * (THREADS - 2 * STEPS) + t - STEPS;
    int top = blockIdx.y * ROWS - STEPS;
    int west = column > 0 ? max(t - 1, 0) : t;
    int east = column < columns - 1 ? min(t + 1, THREADS - 1) : t;
    int clamped = min(max(column, 0), columns - 1);

    float now[HELD], heat[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        int cell = min(max(top + i, 0), rows - 1) * columns + clamped;
        now[i] = before[cell];
        heat[i] = power[cell];
    }

    Chip chip = {rows, step_over_capacity, conductance_x, conductance_y, conductance_z, ambient};
    Place place = {top, t, west, east};
    advance<1>(chip, place, line, now, heat);
    advance<2>(chip, place, line, now, heat);

    if (t >= STEPS && t < THREADS - STEPS && column < columns) {
#pragma unroll
        for (int i = STEPS; i < HELD - STEPS; i++) after[(top + i) * columns + column] = now[i];
    }
}
