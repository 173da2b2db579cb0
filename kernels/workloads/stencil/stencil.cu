// One Jacobi step of a 7-point stencil on a 3-D grid. A block of 32 x 8 threads walks up through z: the
// planes below and above are in registers, the current plane in shared memory. Boundary cells stay as they are.

#include "warpfile.h"

#define WIDTH 32
#define HEIGHT 8

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT)
    stencil(const float *__restrict__ before, float *__restrict__ after, int nx, int ny, int nz,
            float centre_weight, float neighbour_weight) {
    __shared__ float plane[HEIGHT][WIDTH];

    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * WIDTH + tx;
    int y = blockIdx.y * HEIGHT + ty;
    int layer = nx * ny;
    int cell = y * nx + x;
    bool inside = x < nx && y < ny;
    bool interior = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;

    float below = 0.0f, centre = 0.0f;
    if (inside) {
        below = before[cell];
        centre = before[cell + layer];
    }
    for (int z = 1; z < nz - 1; z++) {
        cell += layer;
        plane[ty][tx] = centre;
        __syncthreads();

        float above = inside ? before[cell + layer] : 0.0f;
        if (interior) {
            float west = tx > 0 ? plane[ty][tx - 1] : before[cell - 1];
            float east = tx < WIDTH - 1 ? plane[ty][tx + 1] : before[cell + 1];
            float south = ty > 0 ? plane[ty - 1][tx] : before[cell - nx];
            float north = ty < HEIGHT - 1 ? plane[ty + 1][tx] : before[cell + nx];
            after[cell] = neighbour_weight * (above + below + north + south + east + west) - centre_weight * centre;
        }
        below = centre;
        centre = above;
        __syncthreads();
    }
}
