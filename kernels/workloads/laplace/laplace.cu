// One Jacobi step of Laplace's equation on a 3-D grid: a cell becomes the mean of its six neighbours. A block walks up
// through z with the plane, the one below, the one above and their halos in shared memory, so that all six neighbours are
// read from there. Cells of the boundary are copied.

#include "warpfile.h"

#define WIDTH 32
#define HEIGHT 4
#define ROWS (2 * WIDTH)
#define HALO (2 * (WIDTH + HEIGHT))

// Place in a plane of the halo cell that a thread loads: the rows around the tile, then its columns.
static inline __device__ void halo_place(int thread, int *x, int *y) {
    if (thread < ROWS) {
        *x = thread % WIDTH + 1;
        *y = thread < WIDTH ? 0 : HEIGHT + 1;
    } else {
        *x = thread < ROWS + HEIGHT ? 0 : WIDTH + 1;
        *y = (thread - ROWS) % HEIGHT + 1;
    }
}

extern "C" __global__ void __launch_bounds__(WIDTH *HEIGHT)
    laplace(const float *__restrict__ before, float *__restrict__ after, int nx, int ny, int nz) {
    __shared__ float planes[3][HEIGHT + 2][WIDTH + 2];

    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * WIDTH + threadIdx.x, y = blockIdx.y * HEIGHT + threadIdx.y;
    int layer = nx * ny, cell = y * nx + x;
    bool inside = x < nx && y < ny;
    bool rim = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;

    int thread = threadIdx.y * WIDTH + threadIdx.x;
    int halo_tx, halo_ty;
    halo_place(thread, &halo_tx, &halo_ty);
    int halo_x = blockIdx.x * WIDTH + halo_tx - 1, halo_y = blockIdx.y * HEIGHT + halo_ty - 1;
    int halo_cell = halo_y * nx + halo_x;
    bool halo = thread < HALO && halo_x >= 0 && halo_x < nx && halo_y >= 0 && halo_y < ny;

    int below = 0, here = 1, above = 2;
    if (inside) planes[here][ty][tx] = before[cell];
    if (halo) planes[here][halo_ty][halo_tx] = before[halo_cell];
    for (int z = 0; z < nz; z++) {
        if (z < nz - 1) {
            if (inside) planes[above][ty][tx] = before[cell + layer];
            if (halo) planes[above][halo_ty][halo_tx] = before[halo_cell + layer];
        }
        __syncthreads();

        if (inside) {
            float value = planes[here][ty][tx];
            if (!rim && z > 0 && z < nz - 1) {
                value = (1.0f / 6.0f) * (planes[here][ty][tx - 1] + planes[here][ty][tx + 1] + planes[here][ty - 1][tx] +
                                         planes[here][ty + 1][tx] + planes[below][ty][tx] + planes[above][ty][tx]);
            }
            after[cell] = value;
        }
        cell += layer;
        halo_cell += layer;
        int oldest = below;
        below = here;
        here = above;
        above = oldest;
        __syncthreads();
    }
}
