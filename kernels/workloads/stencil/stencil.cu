// One Jacobi step of a 7-point stencil on a 3-D grid. A block of 32 x 8 threads walks up through z: the
// planes below and above are in registers, the current plane and its halo in shared memory. Boundary cells stay
// as they are.

#include "warpfile.h"

#define WIDTH 32
#define HEIGHT 8

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT)
    stencil(const float *__restrict__ before, float *__restrict__ after, int nx, int ny, int nz,
            float centre_weight, float neighbour_weight) {
    __shared__ float plane[HEIGHT + 2][WIDTH + 2];

    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * WIDTH + threadIdx.x;
    int y = blockIdx.y * HEIGHT + threadIdx.y;
    int layer = nx * ny;
    int cell = y * nx + x;
    bool inside = x < nx && y < ny;
    bool interior = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;

    float below = 0.0f, centre = 0.0f, above = 0.0f;
    if (inside) {
        below = before[cell];
        centre = before[cell + layer];
    }
    for (int z = 1; z < nz - 1; z++) {
        cell += layer;
        plane[ty][tx] = centre;
        if (interior) {
            if (tx == 1) plane[ty][0] = before[cell - 1];
            if (tx == WIDTH) plane[ty][WIDTH + 1] = before[cell + 1];
            if (ty == 1) plane[0][tx] = before[cell - nx];
            if (ty == HEIGHT) plane[HEIGHT + 1][tx] = before[cell + nx];
        }
        if (inside) above = before[cell + layer];
        __syncthreads();

        if (interior) {
            after[cell] = neighbour_weight * (above + below + plane[ty - 1][tx] + plane[ty + 1][tx] +
                                              plane[ty][tx - 1] + plane[ty][tx + 1]) -
                          centre_weight * centre;
        }
        below = centre;
        centre = above;
        __syncthreads();
    }
}
