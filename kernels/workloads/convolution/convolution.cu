// Separable convolution of an image with a kernel of 17 weights: along the rows, then along the columns. A block
// loads a strip of tiles and the tiles beside it into shared memory; each thread computes eight results. Outside the
// image is zero; tiles outside it are left out (its sides are multiples of a tile's).

#include "warpfile.h"

#define RADIUS 8
#define RESULTS 8
#define ROW_WIDTH 16
#define ROW_HEIGHT 4
#define COLUMN_WIDTH 16
#define COLUMN_HEIGHT 8

__constant__ float weights[2 * RADIUS + 1];

extern "C" __global__ void __launch_bounds__(ROW_WIDTH *ROW_HEIGHT)
    along_rows(const float *__restrict__ image, float *__restrict__ result, int width) {
    __shared__ float strip[ROW_HEIGHT][(RESULTS + 2) * ROW_WIDTH];

    int first = blockIdx.x * RESULTS * ROW_WIDTH + threadIdx.x;
    int row = (blockIdx.y * ROW_HEIGHT + threadIdx.y) * width;
    float *line = strip[threadIdx.y];
#pragma unroll
    for (int tile = 0; tile < RESULTS + 2; tile++) {
        int x = first + (tile - 1) * ROW_WIDTH;
        line[tile * ROW_WIDTH + threadIdx.x] = x >= 0 && x < width ? image[row + x] : 0.0f;
    }
    __syncthreads();

#pragma unroll
    for (int tile = 1; tile <= RESULTS; tile++) {
        int x = first + (tile - 1) * ROW_WIDTH;
        if (x >= width) return;
        float sum = 0.0f;
#pragma unroll
        for (int tap = -RADIUS; tap <= RADIUS; tap++) {
            sum += weights[RADIUS - tap] * line[tile * ROW_WIDTH + threadIdx.x + tap];
        }
        result[row + x] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(COLUMN_WIDTH *COLUMN_HEIGHT)
    along_columns(const float *__restrict__ image, float *__restrict__ result, int width, int height) {
    // A word more than the strip is high, so that the threads of a row are in different banks.
    __shared__ float strip[COLUMN_WIDTH][(RESULTS + 2) * COLUMN_HEIGHT + 1];

    int x = blockIdx.x * COLUMN_WIDTH + threadIdx.x;
    int first = blockIdx.y * RESULTS * COLUMN_HEIGHT + threadIdx.y;
    float *line = strip[threadIdx.x];
#pragma unroll
    for (int tile = 0; tile < RESULTS + 2; tile++) {
        int y = first + (tile - 1) * COLUMN_HEIGHT;
        line[tile * COLUMN_HEIGHT + threadIdx.y] = y >= 0 && y < height ? image[y * width + x] : 0.0f;
    }
    __syncthreads();

#pragma unroll
    for (int tile = 1; tile <= RESULTS; tile++) {
        int y = first + (tile - 1) * COLUMN_HEIGHT;
        if (y >= height) return;
        float sum = 0.0f;
#pragma unroll
        for (int tap = -RADIUS; tap <= RADIUS; tap++) {
            sum += weights[RADIUS - tap] * line[tile * COLUMN_HEIGHT + threadIdx.y + tap];
        }
        result[y * width + x] = sum;
    }
}
