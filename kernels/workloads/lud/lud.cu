// LU decomposition in place, without pivoting: A = L U with ones on the diagonal of L. Right-looking, in tiles
// of 16 x 16: a launch each for the tile on the diagonal, the tiles right of it and below it, and the rest.
// n is a multiple of 16.

#include "warpfile.h"

#define SIDE 16

// Decomposes the tile on the diagonal, a row a thread.
extern "C" __global__ void diagonal(float *a, int n, int step) {
    __shared__ float tile[SIDE][SIDE];

    int t = threadIdx.x;
    float *corner = a + step * SIDE * (n + 1);
    for (int row = 0; row < SIDE; row++) tile[row][t] = corner[row * n + t];
    __syncthreads();

    for (int pivot = 0; pivot < SIDE - 1; pivot++) {
        if (t > pivot) {
            float factor = tile[t][pivot] / tile[pivot][pivot];
            tile[t][pivot] = factor;
            for (int column = pivot + 1; column < SIDE; column++) tile[t][column] -= factor * tile[pivot][column];
        }
        __syncthreads();
    }

    for (int row = 1; row < SIDE; row++) corner[row * n + t] = tile[row][t];
}

// Solves L X = A for a tile in the row of the diagonal tile, a column a thread, and X U = A for the tile in its
// column that lies opposite, a row a thread: half a warp each.
extern "C" __global__ void perimeter(float *a, int n, int step) {
    __shared__ float pivot[SIDE][SIDE], right[SIDE][SIDE], below[SIDE][SIDE];

    int t = threadIdx.x % SIDE;
    int away = (blockIdx.x + 1) * SIDE;
    float *corner = a + step * SIDE * (n + 1);
    float *to_right = corner + away;
    float *to_below = corner + away * n;

    if (threadIdx.x < SIDE) {
        for (int row = 0; row < SIDE; row++) {
            pivot[row][t] = corner[row * n + t];
            right[row][t] = to_right[row * n + t];
        }
    } else {
        for (int row = 0; row < SIDE; row++) below[row][t] = to_below[row * n + t];
    }
    __syncthreads();

    if (threadIdx.x < SIDE) {
        for (int row = 1; row < SIDE; row++) {
            float rest = right[row][t];
            for (int i = 0; i < row; i++) rest -= pivot[row][i] * right[i][t];
            right[row][t] = rest;
        }
    } else {
        for (int column = 0; column < SIDE; column++) {
            float rest = below[t][column];
            for (int i = 0; i < column; i++) rest -= below[t][i] * pivot[i][column];
            below[t][column] = rest / pivot[column][column];
        }
    }
    __syncthreads();

    if (threadIdx.x < SIDE) {
        for (int row = 1; row < SIDE; row++) to_right[row * n + t] = right[row][t];
    } else {
        for (int row = 0; row < SIDE; row++) to_below[row * n + t] = below[row][t];
    }
}

// Subtracts from every other tile the product of the tile left of it and the tile above it.
extern "C" __global__ void internal(float *a, int n, int step) {
    __shared__ float left[SIDE][SIDE], above[SIDE][SIDE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = (step + 1 + blockIdx.y) * SIDE + ty;
    int column = (step + 1 + blockIdx.x) * SIDE + tx;
    left[ty][tx] = a[row * n + step * SIDE + tx];
    above[ty][tx] = a[(step * SIDE + ty) * n + column];
    __syncthreads();

    float product = 0.0f;
#pragma unroll
    for (int i = 0; i < SIDE; i++) product += left[ty][i] * above[i][tx];
    a[row * n + column] -= product;
}
