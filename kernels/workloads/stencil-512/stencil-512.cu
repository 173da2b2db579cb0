// One Jacobi step of a 7-point stencil on a 3-D grid. A block of 32 x 16 threads walks up through z, each thread two columns
// 32 apart: what is below and above is in registers, the current plane in shared memory, its halo in global memory. Boundary
// cells stay as they are.

#include "warpfile.h"

#define WIDTH 32
#define HEIGHT 16
#define COLUMNS 2

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT)
    stencil(const float *__restrict__ before, float *__restrict__ after, int nx, int ny, int nz,
            float centre_weight, float neighbour_weight) {
    __shared__ float plane[HEIGHT][COLUMNS * WIDTH];

    int ty = threadIdx.y;
    int x = blockIdx.x * COLUMNS * WIDTH + threadIdx.x;
    int y = blockIdx.y * HEIGHT + ty;
    int layer = nx * ny;
    int first = y * nx + x;

    float below[COLUMNS], centre[COLUMNS], above[COLUMNS];
    bool inside[COLUMNS], interior[COLUMNS];
#pragma unroll
    for (int i = 0; i < COLUMNS; i++) {
        int own = x + i * WIDTH;
        inside[i] = own < nx && y < ny;
        interior[i] = own > 0 && own < nx - 1 && y > 0 && y < ny - 1;
        below[i] = inside[i] ? before[first + i * WIDTH] : 0.0f;
        centre[i] = inside[i] ? before[first + i * WIDTH + layer] : 0.0f;
        above[i] = 0.0f;
    }
    for (int z = 1; z < nz - 1; z++) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            plane[ty][threadIdx.x + i * WIDTH] = centre[i];
            if (inside[i]) above[i] = before[first + i * WIDTH + (z + 1) * layer];
        }
        __syncthreads();

#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
            int tx = threadIdx.x + i * WIDTH;
            int cell = first + i * WIDTH + z * layer;
            if (interior[i]) {
                float west = tx == 0 ? before[cell - 1] : plane[ty][tx - 1];
                float east = tx == COLUMNS * WIDTH - 1 ? before[cell + 1] : plane[ty][tx + 1];
                float north = ty == 0 ? before[cell - nx] : plane[ty - 1][tx];
                float south = ty == HEIGHT - 1 ? before[cell + nx] : plane[ty + 1][tx];
                after[cell] = neighbour_weight * (above[i] + below[i] + north + south + west + east) -
                              centre_weight * centre[i];
            }
            below[i] = centre[i];
            centre[i] = above[i];
        }
        __syncthreads();
    }
}
