// Discrete wavelet transform of an image with the 9/7 filters of JPEG 2000, by lifting (Daubechies & Sweldens 1998).
// Every level transforms the rows and then the columns of what the level before left: the low frequencies, in the
// upper left corner. A thread holds 16 samples and the seven around them that they depend on in registers.
//
// Width and height of every level are multiples of 16. Signals are mirrored at their ends.

#include "warpfile.h"

#define SAMPLES 16
#define PAIRS (SAMPLES / 2)
#define BEFORE 4
#define HELD (SAMPLES + 7)

// Of the kernel along rows: a block has 8 rows and 8 strips.
#define ROWS 8
#define STRIPS 8
#define WIDTH (STRIPS * SAMPLES)
#define THREADS (ROWS * STRIPS)

static inline __device__ int mirrored(int i, int length) {
    int positive = i < 0 ? -i : i;
    return positive < length ? positive : 2 * (length - 1) - positive;
}

// Adds to every other sample from `first` to `last` its neighbours, weighted.
static inline __device__ void lift(float *v, int first, int last, float weight) {
#pragma unroll
    for (int k = first; k <= last; k += 2) v[k] += weight * (v[k - 1] + v[k + 1]);
}

// Leaves the low frequencies in the even samples from `BEFORE` on and the high ones in the odd ones.
static inline __device__ void transform(float *v) {
    lift(v, 1, HELD - 2, -1.586134342f);
    lift(v, 2, HELD - 3, -0.05298011854f);
    lift(v, 3, HELD - 4, 0.8829110762f);
    lift(v, 4, HELD - 5, 0.4435068522f);
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++) {
        v[BEFORE + 2 * pair] *= 1.149604398f;
        v[BEFORE + 2 * pair + 1] *= 0.8698644523f;
    }
}

extern "C" __global__ void along_rows(const float *image, float *transformed, int columns, int rows, int level) {
    __shared__ float tile[ROWS][WIDTH + HELD - SAMPLES];

    int width = columns >> level, height = rows >> level;
    int top = blockIdx.y * ROWS, left = blockIdx.x * WIDTH;
    if (left >= width || top >= height) return;
    int strips = min(STRIPS, (width - left) / SAMPLES);
    int held = strips * SAMPLES + HELD - SAMPLES;

    for (int row = 0; row < ROWS; row++)
        for (int i = threadIdx.x; i < held; i += THREADS)
            tile[row][i] = image[(top + row) * columns + mirrored(left + i - BEFORE, width)];
    __syncthreads();

    int row = threadIdx.x / STRIPS, strip = threadIdx.x % STRIPS;
    float v[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++) v[i] = tile[row][strip * SAMPLES + i];
    transform(v);
    __syncthreads();

    if (strip < strips) {
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++) {
            tile[row][strip * PAIRS + pair] = v[BEFORE + 2 * pair];
            tile[row][(strips + strip) * PAIRS + pair] = v[BEFORE + 2 * pair + 1];
        }
    }
    __syncthreads();

    int half = strips * PAIRS;
    int i = threadIdx.x;
    if (i < half) {
        for (int row = 0; row < ROWS; row++) {
            float *low = transformed + (top + row) * columns + left / 2 + i;
            low[0] = tile[row][i];
            low[width / 2] = tile[row][half + i];
        }
    }
}

// Neighbouring threads have neighbouring columns.
extern "C" __global__ void along_columns(const float *image, float *transformed, int columns, int rows, int level) {
    int width = columns >> level, height = rows >> level;
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int top = blockIdx.y * SAMPLES;
    if (column >= width || top >= height) return;

    float v[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++) v[i] = image[mirrored(top + i - BEFORE, height) * columns + column];
    transform(v);

    float *low = transformed + top / 2 * columns + column;
    float *high = low + height / 2 * columns;
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++) {
        low[pair * columns] = v[BEFORE + 2 * pair];
        high[pair * columns] = v[BEFORE + 2 * pair + 1];
    }
}
