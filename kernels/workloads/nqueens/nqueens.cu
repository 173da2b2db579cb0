// In how many ways n queens can be placed on an n x n board so that none attacks another: a thread tries all places of
// the rows that are left below the first ones, whose queens its number says, and goes back where a row has no place left.

#include "warpfile.h"

#define THREADS 96
// Rows that a thread can go down.
#define DEPTH 9

// Rows as bits: those columns on which a queen is, and those on which the next row is attacked along diagonals.
extern "C" __global__ void __launch_bounds__(THREADS)
    solve(int *__restrict__ solutions, int n, int placed, int boards) {
    __shared__ int columns[THREADS][DEPTH], to_left[THREADS][DEPTH], to_right[THREADS][DEPTH], left_over[THREADS][DEPTH];
    __shared__ int sums[THREADS];
    int thread = threadIdx.x;
    int board = blockIdx.x * THREADS + thread;
    int all = (1 << n) - 1;

    // The first rows: the board's number in base n.
    int column = 0, left = 0, right = 0, valid = board < boards;
    for (int row = 0, digits = board; row < placed; row++) {
        int queen = 1 << digits % n;
        digits /= n;
        if ((column | left | right) & queen) valid = 0;
        column |= queen;
        left = (left | queen) << 1;
        right = (right | queen) >> 1;
    }

    int count = 0;
    if (valid) {
        int depth = 0, last = n - placed - 1;
        columns[thread][0] = column;
        to_left[thread][0] = left;
        to_right[thread][0] = right;
        left_over[thread][0] = all & ~(column | left | right);
        while (depth >= 0) {
            int places = left_over[thread][depth];
            if (places == 0) {
                depth--;
            } else if (depth == last) {
                // The last row has one place at most.
                count++;
                depth--;
            } else {
                int queen = places & -places;
                left_over[thread][depth] = places ^ queen;
                column = columns[thread][depth] | queen;
                left = (to_left[thread][depth] | queen) << 1;
                right = (to_right[thread][depth] | queen) >> 1;
                depth++;
                columns[thread][depth] = column;
                to_left[thread][depth] = left;
                to_right[thread][depth] = right;
                left_over[thread][depth] = all & ~(column | left | right);
            }
        }
    }

    sums[thread] = count;
    __syncthreads();
    if (thread < 32) sums[thread] += sums[thread + 32] + sums[thread + 64];
    for (int half = 16; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) sums[thread] += sums[thread + half];
    }
    if (thread == 0) solutions[blockIdx.x] = sums[0];
}
