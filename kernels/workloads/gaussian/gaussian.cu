// Forward elimination of a system of linear equations A x = b, without pivoting. A column is eliminated in two
// launches: the multipliers of the rows, then the update of everything right of and below the pivot.

#include "warpfile.h"

// One row a thread.
extern "C" __global__ void multipliers(const float *a, float *multiplier, int n, int step) {
    int below = blockIdx.x * blockDim.x + threadIdx.x;
    if (below < n - 1 - step) {
        int row = step + 1 + below;
        multiplier[row * n + step] = a[row * n + step] / a[step * n + step];
    }
}

// One element a thread; the first column's threads update the right-hand side as well.
extern "C" __global__ void eliminate(float *a, float *b, const float *multiplier, int n, int step) {
    int below = blockIdx.y * blockDim.y + threadIdx.y;
    int beside = blockIdx.x * blockDim.x + threadIdx.x;
    if (below >= n - 1 - step || beside >= n - step) return;

    int row = step + 1 + below;
    int column = step + beside;
    float factor = multiplier[row * n + step];
    a[row * n + column] -= factor * a[step * n + column];
    if (beside == 0) b[row] -= factor * b[step];
}
