// Discrete cosine transform of the 8 x 8 tiles of an image and its inverse in single precision, as in dct8x8; of the shared
// memory, which has room for 32 x 64 pixels, 8320 bytes, a block uses 16 x 32.

#include "warpfile.h"
#include "../dct8x8/transform.h"

#define HEIGHT 16
#define ROOM 32
#define STRIDE 65

extern "C" __global__ void __launch_bounds__(64)
    forward(const float *__restrict__ image, float *__restrict__ spectrum, int width) {
    __shared__ float tile[ROOM][STRIDE];
    transform<float, float, HEIGHT, STRIDE, false>(tile, image, spectrum, width);
}

extern "C" __global__ void __launch_bounds__(64)
    inverse(const float *__restrict__ spectrum, float *__restrict__ image, int width) {
    __shared__ float tile[ROOM][STRIDE];
    transform<float, float, HEIGHT, STRIDE, true>(tile, spectrum, image, width);
}
