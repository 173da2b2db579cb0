// lavaMD with room for 100 particles a box, as in Rodinia: 7200 bytes of shared memory a block. Compiled as for GPUs without double
// precision, which PTXPlus is translated from: all is computed in single precision, and a number keeps the 64 bits of its
// storage, with half of them in use (PTX ISA, .target map_f64_to_f32).

#include "warpfile.h"

#define MOST_PARTICLES 100
#define OWN_NUMBERS
typedef float computed;
struct __attribute__((aligned(8))) stored {
    float value, unused;
    __device__ operator float() const { return value; }
    __device__ void operator=(float computed) { value = computed; }
    __device__ void operator=(const stored &other) { value = other.value; }
};
struct computed4 {
    float x, y, z, w;
};
struct __attribute__((aligned(16))) stored4 {
    stored x, y, z, w;
    __device__ operator computed4() const { return computed4{x, y, z, w}; }
    __device__ void operator=(const computed4 &computed) {
        x = computed.x, y = computed.y, z = computed.z, w = computed.w;
    }
};
static inline __device__ float exp(float x) { return expf(x); }

#include "../lavaMD/lavaMD.cu"
