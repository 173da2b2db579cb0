// Needleman-Wunsch global alignment of many pairs of sequences: scores in tiles, a launch for
// every diagonal of tiles, a block for every tile on it and every pair, an anti-diagonal of the tile at a time.
//
// `score` holds a matrix of (n + 1) x (n + 1) for every pair, `similarity` one of n x n.

#include "warpfile.h"

#ifndef TILE
#define TILE 16
#endif

// Row and column 0 of the scores: gaps only.
extern "C" __global__ void borders(int *score, int n, int penalty) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int width = n + 1;
    if (i > n) return;
    int *own_score = score + blockIdx.y * width * width;
    own_score[i] = -i * penalty;
    own_score[i * width] = -i * penalty;
}

static inline __device__ int best(int diagonal, int left, int above, int similarity, int penalty) {
    return max(diagonal + similarity, max(left - penalty, above - penalty));
}

extern "C" __global__ void diagonal(const int *similarity, int *score, int n, int penalty, int tile_row,
                                    int tile_column) {
    __shared__ int cell[TILE + 1][TILE + 1];
    __shared__ int match[TILE][TILE];

    int tx = threadIdx.x;
    int width = n + 1;
    // Tiles of a diagonal run from bottom left to top right.
    int first_row = (tile_row - (int)blockIdx.x) * TILE;
    int first_column = (tile_column + blockIdx.x) * TILE;
    const int *own_similarity = similarity + blockIdx.y * n * n + first_row * n + first_column;
    int *own_score = score + blockIdx.y * width * width + first_row * width + first_column;

#pragma unroll
    for (int y = 0; y < TILE; y++) match[y][tx] = own_similarity[y * n + tx];
    if (tx == 0) cell[0][0] = own_score[0];
    cell[0][tx + 1] = own_score[tx + 1];
    cell[tx + 1][0] = own_score[(tx + 1) * width];
    __syncthreads();

    for (int m = 0; m < TILE; m++) {
        if (tx <= m) {
            int x = tx + 1, y = m - tx + 1;
            cell[y][x] = best(cell[y - 1][x - 1], cell[y][x - 1], cell[y - 1][x], match[y - 1][x - 1], penalty);
        }
        __syncthreads();
    }
    for (int m = TILE - 2; m >= 0; m--) {
        if (tx <= m) {
            int x = tx + TILE - m, y = TILE - tx;
            cell[y][x] = best(cell[y - 1][x - 1], cell[y][x - 1], cell[y - 1][x], match[y - 1][x - 1], penalty);
        }
        __syncthreads();
    }

#pragma unroll
    for (int y = 0; y < TILE; y++) own_score[(y + 1) * width + tx + 1] = cell[y + 1][tx + 1];
}
