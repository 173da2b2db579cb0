// Sums of absolute differences of an image's blocks and the same blocks of another image, moved to all positions of a
// search range: of blocks of 4 x 4 pixels, and from these of 8 x 8 and of 16 x 16.

#include "warpfile.h"

#define THREADS 64
#define SIDE 4

// A block of threads a block of pixels: position by position in a square around its own, pixels beyond the other image's
// edges are those at them.
extern "C" __global__ void __launch_bounds__(THREADS)
    sad4(const unsigned char *__restrict__ image, const unsigned char *__restrict__ other,
         unsigned short *__restrict__ sums, int width, int height, int range) {
    __shared__ int block[SIDE * SIDE];
    int left = blockIdx.x * SIDE, top = blockIdx.y * SIDE;
    if (threadIdx.x < SIDE * SIDE) {
        block[threadIdx.x] = image[(top + threadIdx.x / SIDE) * width + left + threadIdx.x % SIDE];
    }
    __syncthreads();
    int side = 2 * range + 1, positions = side * side;
    unsigned short *to = sums + (blockIdx.y * gridDim.x + blockIdx.x) * positions;
    for (int position = threadIdx.x; position < positions; position += THREADS) {
        int down = position / side, across = position - down * side;
        int columns[SIDE], sum = 0;
#pragma unroll
        for (int x = 0; x < SIDE; x++) columns[x] = min(max(left + across - range + x, 0), width - 1);
#pragma unroll
        for (int y = 0; y < SIDE; y++) {
            const unsigned char *row = other + min(max(top + down - range + y, 0), height - 1) * width;
#pragma unroll
            for (int x = 0; x < SIDE; x++) {
                int difference = block[y * SIDE + x] - row[columns[x]];
                sum += difference < 0 ? -difference : difference;
            }
        }
        to[position] = (unsigned short)sum;
    }
}

// A block of pixels is four smaller ones; a thread a position.
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_four(const unsigned short *__restrict__ small, unsigned short *__restrict__ sums, int positions) {
    int position = blockIdx.z * THREADS + threadIdx.x;
    if (position >= positions) return;
    int columns = 2 * gridDim.x;
    const unsigned short *from = small + (2 * blockIdx.y * columns + 2 * blockIdx.x) * positions + position;
    int upper = from[0] + from[positions];
    int lower = from[columns * positions] + from[columns * positions + positions];
    sums[(blockIdx.y * gridDim.x + blockIdx.x) * positions + position] = (unsigned short)(upper + lower);
}
