// Electric potential of atoms on the points of a lattice, smoothed so that it ends at a cutoff distance. Atoms are in bins
// of as many at most as each has room for; a block computes a cube of points, as large as a bin, from the bins around.

#include "warpfile.h"

// Points along the edge of a bin; a thread has four of a row in y.
#define EDGE 8
#define POINTS 4
#define THREADS (EDGE * (EDGE / POINTS) * EDGE)
// Distance of points, and length of a bin's edge, which is the cutoff as well.
#define SPACING 0.5f
#define LENGTH (EDGE * SPACING)
// Atoms of a piece that a block has in shared memory, and words of an atom.
#define MOST_ATOMS 128
#define WORDS 4

// The 27 bins from which atoms are within the cutoff: this bin, its neighbours.
#define NEIGHBOURS 27
__constant__ int offsets[3 * NEIGHBOURS];

// `atoms` has for each bin `depth` atoms, those there are in front: their places from the bin's corner, and their charges;
// a charge of zero is no atom. Around the lattice is one bin on each side.
extern "C" __global__ void __launch_bounds__(THREADS)
    potential(const float *__restrict__ atoms, float *__restrict__ lattice, int bins_x, int bins_y, int depth) {
    __shared__ float cached[MOST_ATOMS * WORDS];
    int x = threadIdx.x, y = threadIdx.y * POINTS, z = threadIdx.z;
    int thread = (z * blockDim.y + threadIdx.y) * blockDim.x + x;
    float at_x = (float)x * SPACING, at_y = (float)y * SPACING, at_z = (float)z * SPACING;
    float energy[POINTS] = {0.0f, 0.0f, 0.0f, 0.0f};

    int a_piece = MOST_ATOMS / depth;
    for (int first = 0; first < NEIGHBOURS; first += a_piece) {
        int bins = min(a_piece, NEIGHBOURS - first);
        __syncthreads();
        for (int i = thread; i < bins * depth * WORDS; i += THREADS) {
            int bin = i / (depth * WORDS), word = i - bin * depth * WORDS;
            const int *offset = offsets + 3 * (first + bin);
            int number = ((int)blockIdx.z + 1 + offset[2]) * (bins_y + 2) + (int)blockIdx.y + 1 + offset[1];
            number = number * (bins_x + 2) + (int)blockIdx.x + 1 + offset[0];
            float value = atoms[number * depth * WORDS + word];
            // Places are from the corner of the block's own bin from now on.
            int axis = word & 3;
            cached[i] = axis == 3 ? value : value + LENGTH * (float)offset[axis];
        }
        __syncthreads();
        for (int bin = 0; bin < bins; bin++) {
            const float *atom = cached + bin * depth * WORDS;
            for (int i = 0; i < depth; i++, atom += WORDS) {
                float charge = atom[3];
                if (charge == 0.0f) break;
                float dx = at_x - atom[0], dy = at_y - atom[1], dz = at_z - atom[2];
                float flat = dx * dx + dz * dz;
#pragma unroll
                for (int point = 0; point < POINTS; point++) {
                    float r2 = flat + dy * dy;
                    float s = 1.0f - r2 * (1.0f / (LENGTH * LENGTH));
                    if (s > 0.0f) energy[point] += charge * rsqrtf(r2) * s * s;
                    dy += SPACING;
                }
            }
        }
    }

    int points_x = bins_x * EDGE, points_y = bins_y * EDGE;
    float *to = lattice + ((blockIdx.z * EDGE + z) * points_y + blockIdx.y * EDGE + y) * points_x + blockIdx.x * EDGE + x;
#pragma unroll
    for (int point = 0; point < POINTS; point++) to[point * points_x] = energy[point];
}
