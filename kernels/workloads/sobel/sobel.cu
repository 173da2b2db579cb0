// Sobel's filter: how much the brightness of an image changes at each pixel, from the eight pixels around it. A block has
// its pixels and those around them as bytes in shared memory; a thread computes four neighbours of a row.

#include "warpfile.h"

#define THREADS_X 16
#define THREADS_Y 4
#define TILE_X (4 * THREADS_X)
#define PITCH (TILE_X + 4)

typedef unsigned char Pixel;

static inline __device__ Pixel edge(Pixel a, Pixel b, Pixel c, Pixel d, Pixel e, Pixel f, Pixel g, Pixel h, float scale) {
    // a b c
    // d   e
    // f g h
    int across = c + 2 * e + h - a - 2 * d - f;
    int down = a + 2 * b + c - f - 2 * g - h;
    int sum = (int)(scale * (float)((across < 0 ? -across : across) + (down < 0 ? -down : down)));
    return (Pixel)min(max(sum, 0), 255);
}

// Beyond the image's edges are the pixels at them. `width` is a multiple of four.
extern "C" __global__ void __launch_bounds__(THREADS_X * THREADS_Y)
    sobel(const Pixel *__restrict__ image, Pixel *__restrict__ edges, int width, int height, float scale) {
    __shared__ Pixel tile[THREADS_Y + 2][PITCH];
    int left = blockIdx.x * TILE_X, top = blockIdx.y * THREADS_Y;
    for (int y = threadIdx.y; y < THREADS_Y + 2; y += THREADS_Y) {
        const Pixel *row = image + min(max(top + y - 1, 0), height - 1) * width;
        for (int x = threadIdx.x; x < TILE_X + 2; x += THREADS_X) {
            tile[y][x] = row[min(max(left + x - 1, 0), width - 1)];
        }
    }
    __syncthreads();

    int x = 4 * threadIdx.x, y = threadIdx.y;
    if (left + x >= width || top + y >= height) return;
    Pixel around[3][6];
#pragma unroll
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int j = 0; j < 6; j++) around[i][j] = tile[y + i][x + j];
    }
    Pixel *to = edges + (top + y) * width + left + x;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        to[j] = edge(around[0][j], around[0][j + 1], around[0][j + 2], around[1][j], around[1][j + 2], around[2][j],
                     around[2][j + 1], around[2][j + 2], scale);
    }
}
