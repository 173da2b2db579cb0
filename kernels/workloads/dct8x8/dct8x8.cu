// Discrete cosine transform of the 8 x 8 tiles of an image and its inverse, as a JPEG coder has them: a thread
// transforms eight values in registers, first a row of a tile, then a column, by way of shared memory.

#include "warpfile.h"

#include "transform.h"

// A block has two rows of four tiles: 16 x 32 pixels, a word more in a row against conflicts of banks.
#define HEIGHT 16

extern "C" __global__ void __launch_bounds__(64)
    forward(const float *__restrict__ image, float *__restrict__ spectrum, int width) {
    __shared__ float tile[HEIGHT][WIDTH + 1];
    transform<float, float, HEIGHT, WIDTH + 1, false>(tile, image, spectrum, width);
}

extern "C" __global__ void __launch_bounds__(64)
    inverse(const float *__restrict__ spectrum, float *__restrict__ image, int width) {
    __shared__ float tile[HEIGHT][WIDTH + 1];
    transform<float, float, HEIGHT, WIDTH + 1, true>(tile, spectrum, image, width);
}

// In fixed point: every pass rounds to whole numbers of 16 bits. Twice as many rows of tiles a block.
extern "C" __global__ void __launch_bounds__(128)
    forward_short(const short *__restrict__ image, short *__restrict__ spectrum, int width) {
    __shared__ short tile[2 * HEIGHT][WIDTH + 2];
    transform<int, short, 2 * HEIGHT, WIDTH + 2, false>(tile, image, spectrum, width);
}

extern "C" __global__ void __launch_bounds__(128)
    inverse_short(const short *__restrict__ spectrum, short *__restrict__ image, int width) {
    __shared__ short tile[2 * HEIGHT][WIDTH + 2];
    transform<int, short, 2 * HEIGHT, WIDTH + 2, true>(tile, spectrum, image, width);
}
