// Product of a sparse matrix and a vector, the matrix in jagged diagonals: the rows are sorted by their lengths, and
// the n-th entries of all rows that have so many lie beside each other. A row a thread.

#include "warpfile.h"

extern "C" __global__ void __launch_bounds__(192)
    spmv(const float *__restrict__ values, const int *__restrict__ columns, const int *__restrict__ starts,
         const int *__restrict__ lengths, const int *__restrict__ order, const float *__restrict__ x,
         float *__restrict__ y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    float sum = 0.0f;
    int length = lengths[row];
    for (int n = 0; n < length; n++) {
        int entry = starts[n] + row;
        sum += values[entry] * x[columns[entry]];
    }
    y[order[row]] = sum;
}
