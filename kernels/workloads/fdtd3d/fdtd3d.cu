// A step of a finite difference in time on a 3-D grid: a weighted sum of a cell and of its neighbours up to RADIUS
// cells away along each axis. A block walks up through z: the cells below and above are in registers, the plane and
// its halo in shared memory. The grid has a border of RADIUS cells that is never written.

#include "warpfile.h"

#define RADIUS 4
#define WIDTH 32
// Rows of threads, and rows that the plane has room for beside its halo.
#ifndef HEIGHT
#define HEIGHT 8
#define ROOM 8
#endif

__constant__ float weights[RADIUS + 1];

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT)
    fdtd(const float *__restrict__ before, float *__restrict__ after, int row, int layer, int nz) {
    __shared__ float plane[ROOM + 2 * RADIUS][WIDTH + 2 * RADIUS];

    int tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS;
    int cell = (blockIdx.y * HEIGHT + ty) * row + blockIdx.x * WIDTH + tx;
    float below[RADIUS], above[RADIUS], centre;
#pragma unroll
    for (int i = 0; i < RADIUS; i++) below[RADIUS - 1 - i] = before[cell + i * layer];
    centre = before[cell + RADIUS * layer];
#pragma unroll
    for (int i = 0; i < RADIUS; i++) above[i] = before[cell + (RADIUS + 1 + i) * layer];

    cell += RADIUS * layer;
    for (int z = 0; z < nz; z++) {
        __syncthreads();
        if (threadIdx.y < RADIUS) {
            plane[threadIdx.y][tx] = before[cell - RADIUS * row];
            plane[threadIdx.y + HEIGHT + RADIUS][tx] = before[cell + HEIGHT * row];
        }
        if (threadIdx.x < RADIUS) {
            plane[ty][threadIdx.x] = before[cell - RADIUS];
            plane[ty][threadIdx.x + WIDTH + RADIUS] = before[cell + WIDTH];
        }
        plane[ty][tx] = centre;
        __syncthreads();

        float sum = weights[0] * centre;
#pragma unroll
        for (int i = 1; i <= RADIUS; i++) {
            sum += weights[i] * (below[i - 1] + above[i - 1] + plane[ty - i][tx] + plane[ty + i][tx] +
                                 plane[ty][tx - i] + plane[ty][tx + i]);
        }
        after[cell] = sum;

        if (z == nz - 1) break;
#pragma unroll
        for (int i = RADIUS - 1; i > 0; i--) below[i] = below[i - 1];
        below[0] = centre;
        centre = above[0];
#pragma unroll
        for (int i = 0; i < RADIUS - 1; i++) above[i] = above[i + 1];
        cell += layer;
        above[RADIUS - 1] = before[cell + RADIUS * layer];
    }
}
