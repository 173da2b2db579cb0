// Cheapest way down a grid of costs, one row at a time: a cell's total is its cost plus the least of the
// three totals above it.
//
// A launch makes `steps` rows. A block keeps the totals of 256 columns in shared memory; the valid part
// shrinks by one column a side with every row, so neighbouring blocks overlap by 2 * steps.

#include "warpfile.h"

#define THREADS 256

extern "C" __global__ void pathfinder(int steps, const int *cost, const int *before, int *after, int columns,
                                      int first_row) {
    __shared__ int above[THREADS];
    __shared__ int total[THREADS];

    int tx = threadIdx.x;
    int first_column = (THREADS - 2 * steps) * blockIdx.x - steps;
    int column = first_column + tx;
    bool on_grid = column >= 0 && column < columns;

    int left = max(tx - 1, max(0, -first_column));
    int right = min(tx + 1, min(THREADS - 1, columns - 1 - first_column));

    if (on_grid) above[tx] = before[column];
    __syncthreads();

    bool computed = false;
    for (int step = 0; step < steps; step++) {
        computed = false;
        if (on_grid && tx > step && tx < THREADS - 1 - step) {
            computed = true;
            int least = min(min(above[left], above[tx]), above[right]);
            total[tx] = least + cost[(first_row + step) * columns + column];
        }
        __syncthreads();
        if (step == steps - 1) break;
        if (computed) above[tx] = total[tx];
        __syncthreads();
    }

    if (computed) after[column] = total[tx];
}
