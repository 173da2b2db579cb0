// The finite differences of fdtd3d in blocks of 32 x 4 threads, with the plane of the largest block of the CUDA SDK's program,
// 32 x 16: 3840 bytes.

#define HEIGHT 4
#define ROOM 16
#include "../fdtd3d/fdtd3d.cu"
