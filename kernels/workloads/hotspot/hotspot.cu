// Temperature of a chip over time: explicit Euler steps of the heat equation on a 2-D grid with a power map.
//
// A block loads a 16 x 16 tile and makes `steps` time steps on it in shared memory; the tile's valid part
// shrinks by one cell a side in every step, so neighbouring tiles overlap by 2 * steps. Cells beyond the
// edge of the chip repeat the edge.

#include "warpfile.h"

#define SIDE 16

extern "C" __global__ void hotspot(int steps, const float *power, const float *before, float *after,
                                   int columns, int rows, float step_over_capacity, float conductance_x,
                                   float conductance_y, float conductance_z, float ambient) {
    __shared__ float now[SIDE][SIDE];
    __shared__ float heat[SIDE][SIDE];
    __shared__ float next[SIDE][SIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int owned = SIDE - 2 * steps;
    int tile_row = owned * blockIdx.y - steps;
    int tile_column = owned * blockIdx.x - steps;
    int row = tile_row + ty;
    int column = tile_column + tx;
    int cell = row * columns + column;
    bool on_chip = row >= 0 && row < rows && column >= 0 && column < columns;

    if (on_chip) {
        now[ty][tx] = before[cell];
        heat[ty][tx] = power[cell];
    }
    __syncthreads();

    // First and last tile row and column that lie on the chip.
    int top = max(0, -tile_row), bottom = min(SIDE - 1, rows - 1 - tile_row);
    int left = max(0, -tile_column), right = min(SIDE - 1, columns - 1 - tile_column);
    int north = max(ty - 1, top), south = min(ty + 1, bottom);
    int west = max(tx - 1, left), east = min(tx + 1, right);

    bool computed = false;
    for (int step = 0; step < steps; step++) {
        computed = false;
        if (on_chip && tx > step && tx < SIDE - 1 - step && ty > step && ty < SIDE - 1 - step) {
            computed = true;
            float t = now[ty][tx];
            next[ty][tx] = t + step_over_capacity *
                                   (heat[ty][tx] + (now[south][tx] + now[north][tx] - 2.0f * t) * conductance_y +
                                    (now[ty][east] + now[ty][west] - 2.0f * t) * conductance_x +
                                    (ambient - t) * conductance_z);
        }
        __syncthreads();
        if (step == steps - 1) break;
        if (computed) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }

    if (computed) after[cell] = next[ty][tx];
}
