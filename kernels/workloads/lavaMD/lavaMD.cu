// Forces between particles in boxes: every particle feels those of its own box and of the up to 26 around it. A
// block is a box; the particles of one neighbour at a time pass through shared memory.
//
// The potential is a screened one, exp(-a r²), from positions and charges, in double precision as in Rodinia.

#include "warpfile.h"

#ifndef MOST_PARTICLES
#define MOST_PARTICLES 128
#endif
#define MOST_NEIGHBOURS 27

// Numbers as they are computed with and as they lie in memory.
#ifndef OWN_NUMBERS
typedef double computed;
typedef double4 computed4;
typedef double stored;
typedef double4 stored4;
#endif

// The boxes around a box and the box itself, one box a thread.
extern "C" __global__ void neighbours(int *neighbour, int *count, int width, int height, int depth) {
    int box = blockIdx.x * blockDim.x + threadIdx.x;
    if (box >= width * height * depth) return;

    int x = box % width, y = box / width % height, z = box / (width * height);
    int found = 0;
    for (int nz = max(z - 1, 0); nz <= min(z + 1, depth - 1); nz++)
        for (int ny = max(y - 1, 0); ny <= min(y + 1, height - 1); ny++)
#pragma unroll 1
            for (int nx = max(x - 1, 0); nx <= min(x + 1, width - 1); nx++)
                neighbour[box * MOST_NEIGHBOURS + found++] = (nz * height + ny) * width + nx;
    count[box] = found;
}

// x, y, z and half the squared length of every position; potential and force of every particle.
extern "C" __global__ void forces(const int *neighbour, const int *count, const stored4 *position,
                                  const stored *charge, stored4 *force, int particles, computed steepness) {
    __shared__ stored4 own_position[MOST_PARTICLES];
    __shared__ stored4 near_position[MOST_PARTICLES];
    __shared__ stored near_charge[MOST_PARTICLES];

    int box = blockIdx.x;
    for (int i = threadIdx.x; i < particles; i += blockDim.x) own_position[i] = position[box * particles + i];
    __syncthreads();

    int boxes_near = count[box];
    for (int k = 0; k < boxes_near; k++) {
        int near = neighbour[box * MOST_NEIGHBOURS + k];
        for (int i = threadIdx.x; i < particles; i += blockDim.x) {
            near_position[i] = position[near * particles + i];
            near_charge[i] = charge[near * particles + i];
        }
        __syncthreads();

        for (int i = threadIdx.x; i < particles; i += blockDim.x) {
            computed4 here = own_position[i];
            computed4 sum = force[box * particles + i];
#pragma unroll 1
            for (int j = 0; j < particles; j++) {
                computed4 there = near_position[j];
                computed dot = here.x * there.x + here.y * there.y + here.z * there.z;
                computed squared = here.w + there.w - dot;
                computed potential = exp(-steepness * squared);
                computed strength = 2 * potential;
                computed dx = here.x - there.x;
                computed dy = here.y - there.y;
                computed dz = here.z - there.z;
                computed q = near_charge[j];
                sum.w += q * potential;
                sum.x += q * (strength * dx);
                sum.y += q * (strength * dy);
                sum.z += q * (strength * dz);
            }
            force[box * particles + i] = sum;
        }
        __syncthreads();
    }
}
