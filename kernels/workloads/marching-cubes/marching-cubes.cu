// The surface on which a function of space has a value, as triangles: which cells of a grid it goes through, by which of
// their corners lie inside; a list of those cells; of each the points on its edges, and its triangles from a table.

#include "warpfile.h"

#define THREADS 32
// Threads of the kernel that adds up counts.
#define ADDERS 256
// What the function is on the surface.
#define VALUE (-11.8f)

struct Place {
    float x, y, z;
};

// Corner x + 2 y + 4 z of a cell. Edges 0 to 3 go along x, then along y, then along z; of four the first is at 0 of both
// other axes, the next at 1 of the first of them. Case by case, a bit for each corner that is inside: the edges on which
// the corners of triangles lie. On each face segments cut inside corners off, the segments of all faces make polygons, from
// the first corner of which triangles are cut (kernels/src/workloads/marching_cubes.rs does so).
__constant__ unsigned char triangles[256][16] = {
    {}, {0, 4, 8}, {0, 9, 5}, {4, 8, 9, 4, 9, 5}, {1, 10, 4}, {0, 1, 10, 0, 10, 8}, {0, 9, 5, 1, 10, 4},
    {1, 10, 8, 1, 8, 9, 1, 9, 5}, {1, 5, 11}, {0, 4, 8, 1, 5, 11}, {0, 9, 11, 0, 11, 1},
    {1, 4, 8, 1, 8, 9, 1, 9, 11}, {4, 5, 11, 4, 11, 10}, {0, 5, 11, 0, 11, 10, 0, 10, 8},
    {0, 9, 11, 0, 11, 10, 0, 10, 4}, {8, 9, 11, 8, 11, 10}, {2, 8, 6}, {0, 4, 6, 0, 6, 2}, {0, 9, 5, 2, 8, 6},
    {2, 9, 5, 2, 5, 4, 2, 4, 6}, {1, 10, 4, 2, 8, 6}, {0, 1, 10, 0, 10, 6, 0, 6, 2}, {0, 9, 5, 1, 10, 4, 2, 8, 6},
    {1, 10, 6, 1, 6, 2, 1, 2, 9, 1, 9, 5}, {1, 5, 11, 2, 8, 6}, {0, 4, 6, 0, 6, 2, 1, 5, 11},
    {0, 9, 11, 0, 11, 1, 2, 8, 6}, {1, 4, 6, 1, 6, 2, 1, 2, 9, 1, 9, 11}, {2, 8, 6, 4, 5, 11, 4, 11, 10},
    {0, 5, 11, 0, 11, 10, 0, 10, 6, 0, 6, 2}, {0, 9, 11, 0, 11, 10, 0, 10, 4, 2, 8, 6},
    {2, 9, 11, 2, 11, 10, 2, 10, 6}, {2, 7, 9}, {0, 4, 8, 2, 7, 9}, {0, 2, 7, 0, 7, 5},
    {2, 7, 5, 2, 5, 4, 2, 4, 8}, {1, 10, 4, 2, 7, 9}, {0, 1, 10, 0, 10, 8, 2, 7, 9}, {0, 2, 7, 0, 7, 5, 1, 10, 4},
    {1, 10, 8, 1, 8, 2, 1, 2, 7, 1, 7, 5}, {1, 5, 11, 2, 7, 9}, {0, 4, 8, 1, 5, 11, 2, 7, 9},
    {0, 2, 7, 0, 7, 11, 0, 11, 1}, {1, 4, 8, 1, 8, 2, 1, 2, 7, 1, 7, 11}, {2, 7, 9, 4, 5, 11, 4, 11, 10},
    {0, 5, 11, 0, 11, 10, 0, 10, 8, 2, 7, 9}, {0, 2, 7, 0, 7, 11, 0, 11, 10, 0, 10, 4},
    {2, 7, 11, 2, 11, 10, 2, 10, 8}, {6, 7, 9, 6, 9, 8}, {0, 4, 6, 0, 6, 7, 0, 7, 9}, {0, 8, 6, 0, 6, 7, 0, 7, 5},
    {4, 6, 7, 4, 7, 5}, {1, 10, 4, 6, 7, 9, 6, 9, 8}, {0, 1, 10, 0, 10, 6, 0, 6, 7, 0, 7, 9},
    {0, 8, 6, 0, 6, 7, 0, 7, 5, 1, 10, 4}, {1, 10, 6, 1, 6, 7, 1, 7, 5}, {1, 5, 11, 6, 7, 9, 6, 9, 8},
    {0, 4, 6, 0, 6, 7, 0, 7, 9, 1, 5, 11}, {0, 8, 6, 0, 6, 7, 0, 7, 11, 0, 11, 1}, {1, 4, 6, 1, 6, 7, 1, 7, 11},
    {4, 5, 11, 4, 11, 10, 6, 7, 9, 6, 9, 8}, {0, 5, 11, 0, 11, 10, 0, 10, 6, 0, 6, 7, 0, 7, 9},
    {0, 8, 6, 0, 6, 7, 0, 7, 11, 0, 11, 10, 0, 10, 4}, {6, 7, 11, 6, 11, 10}, {3, 6, 10}, {0, 4, 8, 3, 6, 10},
    {0, 9, 5, 3, 6, 10}, {3, 6, 10, 4, 8, 9, 4, 9, 5}, {1, 3, 6, 1, 6, 4}, {0, 1, 3, 0, 3, 6, 0, 6, 8},
    {0, 9, 5, 1, 3, 6, 1, 6, 4}, {1, 3, 6, 1, 6, 8, 1, 8, 9, 1, 9, 5}, {1, 5, 11, 3, 6, 10},
    {0, 4, 8, 1, 5, 11, 3, 6, 10}, {0, 9, 11, 0, 11, 1, 3, 6, 10}, {1, 4, 8, 1, 8, 9, 1, 9, 11, 3, 6, 10},
    {3, 6, 4, 3, 4, 5, 3, 5, 11}, {0, 5, 11, 0, 11, 3, 0, 3, 6, 0, 6, 8}, {0, 9, 11, 0, 11, 3, 0, 3, 6, 0, 6, 4},
    {3, 6, 8, 3, 8, 9, 3, 9, 11}, {2, 8, 10, 2, 10, 3}, {0, 4, 10, 0, 10, 3, 0, 3, 2},
    {0, 9, 5, 2, 8, 10, 2, 10, 3}, {2, 9, 5, 2, 5, 4, 2, 4, 10, 2, 10, 3}, {1, 3, 2, 1, 2, 8, 1, 8, 4},
    {0, 1, 3, 0, 3, 2}, {0, 9, 5, 1, 3, 2, 1, 2, 8, 1, 8, 4}, {1, 3, 2, 1, 2, 9, 1, 9, 5},
    {1, 5, 11, 2, 8, 10, 2, 10, 3}, {0, 4, 10, 0, 10, 3, 0, 3, 2, 1, 5, 11},
    {0, 9, 11, 0, 11, 1, 2, 8, 10, 2, 10, 3}, {1, 4, 10, 1, 10, 3, 1, 3, 2, 1, 2, 9, 1, 9, 11},
    {2, 8, 4, 2, 4, 5, 2, 5, 11, 2, 11, 3}, {0, 5, 11, 0, 11, 3, 0, 3, 2},
    {0, 9, 11, 0, 11, 3, 0, 3, 2, 0, 2, 8, 0, 8, 4}, {2, 9, 11, 2, 11, 3}, {2, 7, 9, 3, 6, 10},
    {0, 4, 8, 2, 7, 9, 3, 6, 10}, {0, 2, 7, 0, 7, 5, 3, 6, 10}, {2, 7, 5, 2, 5, 4, 2, 4, 8, 3, 6, 10},
    {1, 3, 6, 1, 6, 4, 2, 7, 9}, {0, 1, 3, 0, 3, 6, 0, 6, 8, 2, 7, 9}, {0, 2, 7, 0, 7, 5, 1, 3, 6, 1, 6, 4},
    {1, 3, 6, 1, 6, 8, 1, 8, 2, 1, 2, 7, 1, 7, 5}, {1, 5, 11, 2, 7, 9, 3, 6, 10},
    {0, 4, 8, 1, 5, 11, 2, 7, 9, 3, 6, 10}, {0, 2, 7, 0, 7, 11, 0, 11, 1, 3, 6, 10},
    {1, 4, 8, 1, 8, 2, 1, 2, 7, 1, 7, 11, 3, 6, 10}, {2, 7, 9, 3, 6, 4, 3, 4, 5, 3, 5, 11},
    {0, 5, 11, 0, 11, 3, 0, 3, 6, 0, 6, 8, 2, 7, 9}, {0, 2, 7, 0, 7, 11, 0, 11, 3, 0, 3, 6, 0, 6, 4},
    {2, 7, 11, 2, 11, 3, 2, 3, 6, 2, 6, 8}, {3, 7, 9, 3, 9, 8, 3, 8, 10}, {0, 4, 10, 0, 10, 3, 0, 3, 7, 0, 7, 9},
    {0, 8, 10, 0, 10, 3, 0, 3, 7, 0, 7, 5}, {3, 7, 5, 3, 5, 4, 3, 4, 10}, {1, 3, 7, 1, 7, 9, 1, 9, 8, 1, 8, 4},
    {0, 1, 3, 0, 3, 7, 0, 7, 9}, {0, 8, 4, 0, 4, 1, 0, 1, 3, 0, 3, 7, 0, 7, 5}, {1, 3, 7, 1, 7, 5},
    {1, 5, 11, 3, 7, 9, 3, 9, 8, 3, 8, 10}, {0, 4, 10, 0, 10, 3, 0, 3, 7, 0, 7, 9, 1, 5, 11},
    {0, 8, 10, 0, 10, 3, 0, 3, 7, 0, 7, 11, 0, 11, 1}, {1, 4, 10, 1, 10, 3, 1, 3, 7, 1, 7, 11},
    {3, 7, 9, 3, 9, 8, 3, 8, 4, 3, 4, 5, 3, 5, 11}, {0, 5, 11, 0, 11, 3, 0, 3, 7, 0, 7, 9}, {0, 8, 4, 3, 7, 11},
    {3, 7, 11}, {3, 11, 7}, {0, 4, 8, 3, 11, 7}, {0, 9, 5, 3, 11, 7}, {3, 11, 7, 4, 8, 9, 4, 9, 5},
    {1, 10, 4, 3, 11, 7}, {0, 1, 10, 0, 10, 8, 3, 11, 7}, {0, 9, 5, 1, 10, 4, 3, 11, 7},
    {1, 10, 8, 1, 8, 9, 1, 9, 5, 3, 11, 7}, {1, 5, 7, 1, 7, 3}, {0, 4, 8, 1, 5, 7, 1, 7, 3},
    {0, 9, 7, 0, 7, 3, 0, 3, 1}, {1, 4, 8, 1, 8, 9, 1, 9, 7, 1, 7, 3}, {3, 10, 4, 3, 4, 5, 3, 5, 7},
    {0, 5, 7, 0, 7, 3, 0, 3, 10, 0, 10, 8}, {0, 9, 7, 0, 7, 3, 0, 3, 10, 0, 10, 4}, {3, 10, 8, 3, 8, 9, 3, 9, 7},
    {2, 8, 6, 3, 11, 7}, {0, 4, 6, 0, 6, 2, 3, 11, 7}, {0, 9, 5, 2, 8, 6, 3, 11, 7},
    {2, 9, 5, 2, 5, 4, 2, 4, 6, 3, 11, 7}, {1, 10, 4, 2, 8, 6, 3, 11, 7}, {0, 1, 10, 0, 10, 6, 0, 6, 2, 3, 11, 7},
    {0, 9, 5, 1, 10, 4, 2, 8, 6, 3, 11, 7}, {1, 10, 6, 1, 6, 2, 1, 2, 9, 1, 9, 5, 3, 11, 7},
    {1, 5, 7, 1, 7, 3, 2, 8, 6}, {0, 4, 6, 0, 6, 2, 1, 5, 7, 1, 7, 3}, {0, 9, 7, 0, 7, 3, 0, 3, 1, 2, 8, 6},
    {1, 4, 6, 1, 6, 2, 1, 2, 9, 1, 9, 7, 1, 7, 3}, {2, 8, 6, 3, 10, 4, 3, 4, 5, 3, 5, 7},
    {0, 5, 7, 0, 7, 3, 0, 3, 10, 0, 10, 6, 0, 6, 2}, {0, 9, 7, 0, 7, 3, 0, 3, 10, 0, 10, 4, 2, 8, 6},
    {2, 9, 7, 2, 7, 3, 2, 3, 10, 2, 10, 6}, {2, 3, 11, 2, 11, 9}, {0, 4, 8, 2, 3, 11, 2, 11, 9},
    {0, 2, 3, 0, 3, 11, 0, 11, 5}, {2, 3, 11, 2, 11, 5, 2, 5, 4, 2, 4, 8}, {1, 10, 4, 2, 3, 11, 2, 11, 9},
    {0, 1, 10, 0, 10, 8, 2, 3, 11, 2, 11, 9}, {0, 2, 3, 0, 3, 11, 0, 11, 5, 1, 10, 4},
    {1, 10, 8, 1, 8, 2, 1, 2, 3, 1, 3, 11, 1, 11, 5}, {1, 5, 9, 1, 9, 2, 1, 2, 3},
    {0, 4, 8, 1, 5, 9, 1, 9, 2, 1, 2, 3}, {0, 2, 3, 0, 3, 1}, {1, 4, 8, 1, 8, 2, 1, 2, 3},
    {2, 3, 10, 2, 10, 4, 2, 4, 5, 2, 5, 9}, {0, 5, 9, 0, 9, 2, 0, 2, 3, 0, 3, 10, 0, 10, 8},
    {0, 2, 3, 0, 3, 10, 0, 10, 4}, {2, 3, 10, 2, 10, 8}, {3, 11, 9, 3, 9, 8, 3, 8, 6},
    {0, 4, 6, 0, 6, 3, 0, 3, 11, 0, 11, 9}, {0, 8, 6, 0, 6, 3, 0, 3, 11, 0, 11, 5}, {3, 11, 5, 3, 5, 4, 3, 4, 6},
    {1, 10, 4, 3, 11, 9, 3, 9, 8, 3, 8, 6}, {0, 1, 10, 0, 10, 6, 0, 6, 3, 0, 3, 11, 0, 11, 9},
    {0, 8, 6, 0, 6, 3, 0, 3, 11, 0, 11, 5, 1, 10, 4}, {1, 10, 6, 1, 6, 3, 1, 3, 11, 1, 11, 5},
    {1, 5, 9, 1, 9, 8, 1, 8, 6, 1, 6, 3}, {0, 4, 6, 0, 6, 3, 0, 3, 1, 0, 1, 5, 0, 5, 9},
    {0, 8, 6, 0, 6, 3, 0, 3, 1}, {1, 4, 6, 1, 6, 3}, {3, 10, 4, 3, 4, 5, 3, 5, 9, 3, 9, 8, 3, 8, 6},
    {0, 5, 9, 3, 10, 6}, {0, 8, 6, 0, 6, 3, 0, 3, 10, 0, 10, 4}, {3, 10, 6}, {6, 10, 11, 6, 11, 7},
    {0, 4, 8, 6, 10, 11, 6, 11, 7}, {0, 9, 5, 6, 10, 11, 6, 11, 7}, {4, 8, 9, 4, 9, 5, 6, 10, 11, 6, 11, 7},
    {1, 11, 7, 1, 7, 6, 1, 6, 4}, {0, 1, 11, 0, 11, 7, 0, 7, 6, 0, 6, 8}, {0, 9, 5, 1, 11, 7, 1, 7, 6, 1, 6, 4},
    {1, 11, 7, 1, 7, 6, 1, 6, 8, 1, 8, 9, 1, 9, 5}, {1, 5, 7, 1, 7, 6, 1, 6, 10},
    {0, 4, 8, 1, 5, 7, 1, 7, 6, 1, 6, 10}, {0, 9, 7, 0, 7, 6, 0, 6, 10, 0, 10, 1},
    {1, 4, 8, 1, 8, 9, 1, 9, 7, 1, 7, 6, 1, 6, 10}, {4, 5, 7, 4, 7, 6}, {0, 5, 7, 0, 7, 6, 0, 6, 8},
    {0, 9, 7, 0, 7, 6, 0, 6, 4}, {6, 8, 9, 6, 9, 7}, {2, 8, 10, 2, 10, 11, 2, 11, 7},
    {0, 4, 10, 0, 10, 11, 0, 11, 7, 0, 7, 2}, {0, 9, 5, 2, 8, 10, 2, 10, 11, 2, 11, 7},
    {2, 9, 5, 2, 5, 4, 2, 4, 10, 2, 10, 11, 2, 11, 7}, {1, 11, 7, 1, 7, 2, 1, 2, 8, 1, 8, 4},
    {0, 1, 11, 0, 11, 7, 0, 7, 2}, {0, 9, 5, 1, 11, 7, 1, 7, 2, 1, 2, 8, 1, 8, 4},
    {1, 11, 7, 1, 7, 2, 1, 2, 9, 1, 9, 5}, {1, 5, 7, 1, 7, 2, 1, 2, 8, 1, 8, 10},
    {0, 4, 10, 0, 10, 1, 0, 1, 5, 0, 5, 7, 0, 7, 2}, {0, 9, 7, 0, 7, 2, 0, 2, 8, 0, 8, 10, 0, 10, 1},
    {1, 4, 10, 2, 9, 7}, {2, 8, 4, 2, 4, 5, 2, 5, 7}, {0, 5, 7, 0, 7, 2}, {0, 9, 7, 0, 7, 2, 0, 2, 8, 0, 8, 4},
    {2, 9, 7}, {2, 6, 10, 2, 10, 11, 2, 11, 9}, {0, 4, 8, 2, 6, 10, 2, 10, 11, 2, 11, 9},
    {0, 2, 6, 0, 6, 10, 0, 10, 11, 0, 11, 5}, {2, 6, 10, 2, 10, 11, 2, 11, 5, 2, 5, 4, 2, 4, 8},
    {1, 11, 9, 1, 9, 2, 1, 2, 6, 1, 6, 4}, {0, 1, 11, 0, 11, 9, 0, 9, 2, 0, 2, 6, 0, 6, 8},
    {0, 2, 6, 0, 6, 4, 0, 4, 1, 0, 1, 11, 0, 11, 5}, {1, 11, 5, 2, 6, 8}, {1, 5, 9, 1, 9, 2, 1, 2, 6, 1, 6, 10},
    {0, 4, 8, 1, 5, 9, 1, 9, 2, 1, 2, 6, 1, 6, 10}, {0, 2, 6, 0, 6, 10, 0, 10, 1},
    {1, 4, 8, 1, 8, 2, 1, 2, 6, 1, 6, 10}, {2, 6, 4, 2, 4, 5, 2, 5, 9}, {0, 5, 9, 0, 9, 2, 0, 2, 6, 0, 6, 8},
    {0, 2, 6, 0, 6, 4}, {2, 6, 8}, {8, 10, 11, 8, 11, 9}, {0, 4, 10, 0, 10, 11, 0, 11, 9},
    {0, 8, 10, 0, 10, 11, 0, 11, 5}, {4, 10, 11, 4, 11, 5}, {1, 11, 9, 1, 9, 8, 1, 8, 4}, {0, 1, 11, 0, 11, 9},
    {0, 8, 4, 0, 4, 1, 0, 1, 11, 0, 11, 5}, {1, 11, 5}, {1, 5, 9, 1, 9, 8, 1, 8, 10},
    {0, 4, 10, 0, 10, 1, 0, 1, 5, 0, 5, 9}, {0, 8, 10, 0, 10, 1}, {1, 4, 10}, {4, 5, 9, 4, 9, 8}, {0, 5, 9},
    {0, 8, 4}, {},};

// How many corners they have.
__constant__ unsigned char corners[256] = {
    0, 3, 3, 6, 3, 6, 6, 9, 3, 6, 6, 9, 6, 9, 9, 6, 3, 6, 6, 9, 6, 9, 9, 12, 6, 9, 9, 12, 9, 12, 12, 9, 3, 6, 6, 9,
    6, 9, 9, 12, 6, 9, 9, 12, 9, 12, 12, 9, 6, 9, 9, 6, 9, 12, 12, 9, 9, 12, 12, 9, 12, 15, 15, 6, 3, 6, 6, 9, 6,
    9, 9, 12, 6, 9, 9, 12, 9, 12, 12, 9, 6, 9, 9, 12, 9, 6, 12, 9, 9, 12, 12, 15, 12, 9, 15, 6, 6, 9, 9, 12, 9, 12,
    12, 15, 9, 12, 12, 15, 12, 15, 15, 12, 9, 12, 12, 9, 12, 9, 15, 6, 12, 15, 15, 12, 15, 12, 6, 3, 3, 6, 6, 9, 6,
    9, 9, 12, 6, 9, 9, 12, 9, 12, 12, 9, 6, 9, 9, 12, 9, 12, 12, 15, 9, 12, 12, 15, 12, 15, 15, 12, 6, 9, 9, 12, 9,
    12, 12, 15, 9, 12, 6, 9, 12, 15, 9, 6, 9, 12, 12, 9, 12, 15, 15, 12, 12, 15, 9, 6, 15, 6, 12, 3, 6, 9, 9, 12,
    9, 12, 12, 15, 9, 12, 12, 15, 6, 9, 9, 6, 9, 12, 12, 15, 12, 9, 15, 12, 12, 15, 15, 6, 9, 6, 12, 3, 9, 12, 12,
    15, 12, 15, 15, 6, 12, 15, 9, 12, 9, 12, 6, 3, 6, 9, 9, 6, 9, 6, 12, 3, 9, 12, 6, 3, 6, 3, 3, 0,};

// Squares and fourth powers; the gradient beside them.
static inline __device__ float function(Place at) {
    float x2 = at.x * at.x, y2 = at.y * at.y, z2 = at.z * at.z;
    return x2 * x2 - 5.0f * x2 + y2 * y2 - 5.0f * y2 + z2 * z2 - 5.0f * z2;
}

static inline __device__ float slope(float x) { return (4.0f * x * x - 10.0f) * x; }

// A grid of 2^shift cells along each axis, from -3 to 3.
static inline __device__ Place corner_of(int cell, int corner, int shift, float spacing) {
    int mask = (1 << shift) - 1;
    int x = (cell & mask) + (corner & 1), y = (cell >> shift & mask) + (corner >> 1 & 1);
    int z = (cell >> 2 * shift) + (corner >> 2);
    Place at = {(float)x * spacing - 3.0f, (float)y * spacing - 3.0f, (float)z * spacing - 3.0f};
    return at;
}

extern "C" __global__ void __launch_bounds__(128)
    classify(int *__restrict__ crossed, int *__restrict__ counts, int shift, float spacing) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= 1 << 3 * shift) return;
    int inside = 0;
#pragma unroll
    for (int corner = 0; corner < 8; corner++) {
        if (function(corner_of(cell, corner, shift, spacing)) < VALUE) inside |= 1 << corner;
    }
    int count = corners[inside];
    counts[cell] = count;
    crossed[cell] = count > 0;
}

// What is before each of n counts: one block, of which each thread adds up a piece.
extern "C" __global__ void __launch_bounds__(ADDERS)
    add_up(const int *__restrict__ counts, int *__restrict__ before, int n) {
    __shared__ int sums[ADDERS];
    int thread = threadIdx.x, piece = (n + ADDERS - 1) / ADDERS;
    int first = min(thread * piece, n), end = min(first + piece, n);
    int sum = 0;
    for (int i = first; i < end; i++) sum += counts[i];
    sums[thread] = sum;
    for (int distance = 1; distance < ADDERS; distance *= 2) {
        __syncthreads();
        int left = thread >= distance ? sums[thread - distance] : 0;
        __syncthreads();
        sums[thread] += left;
    }
    sum = sums[thread] - sum;
    for (int i = first; i < end; i++) {
        before[i] = sum;
        sum += counts[i];
    }
}

extern "C" __global__ void __launch_bounds__(128)
    compact(const int *__restrict__ crossed, const int *__restrict__ before, int *__restrict__ cells, int n) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < n && crossed[cell]) cells[before[cell]] = cell;
}

// A thread a cell: in shared memory the point of the surface on each of its twelve edges, a row of PITCH threads an edge,
// and the gradient there.
template <int PITCH>
static inline __device__ void generate(Place *points, Place *gradients, const int *__restrict__ cells,
                                       const int *__restrict__ before, float4 *__restrict__ positions,
                                       float4 *__restrict__ normals, int n, int shift, float spacing) {
    int thread = threadIdx.x, i = blockIdx.x * THREADS + thread;
    int cell = cells[min(i, n - 1)];
    Place at[8];
    float value[8];
    int inside = 0;
#pragma unroll
    for (int corner = 0; corner < 8; corner++) {
        at[corner] = corner_of(cell, corner, shift, spacing);
        value[corner] = function(at[corner]);
        if (value[corner] < VALUE) inside |= 1 << corner;
    }
#pragma unroll
    for (int edge = 0; edge < 12; edge++) {
        int axis = edge / 4, first = edge & 1, second = edge >> 1 & 1;
        int from = axis == 0 ? 2 * first + 4 * second : axis == 1 ? first + 4 * second : first + 2 * second;
        int to = from + (1 << axis);
        float t = __fdividef(VALUE - value[from], value[to] - value[from]);
        Place a = at[from], b = at[to];
        Place *point = points + edge * PITCH + thread, *gradient = gradients + edge * PITCH + thread;
        point->x = a.x + t * (b.x - a.x);
        point->y = a.y + t * (b.y - a.y);
        point->z = a.z + t * (b.z - a.z);
        gradient->x = slope(a.x) + t * (slope(b.x) - slope(a.x));
        gradient->y = slope(a.y) + t * (slope(b.y) - slope(a.y));
        gradient->z = slope(a.z) + t * (slope(b.z) - slope(a.z));
    }
    __syncthreads();
    if (i >= n) return;
    int start = before[cell], count = corners[inside];
    for (int corner = 0; corner < count; corner++) {
        int from = triangles[inside][corner] * PITCH + thread;
        Place point = points[from], gradient = gradients[from];
        float4 position = {point.x, point.y, point.z, 1.0f}, normal = {gradient.x, gradient.y, gradient.z, 0.0f};
        positions[start + corner] = position;
        normals[start + corner] = normal;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    generate_1(const int *__restrict__ cells, const int *__restrict__ before, float4 *__restrict__ positions,
               float4 *__restrict__ normals, int n, int shift, float spacing) {
    __shared__ Place points[12 * THREADS], gradients[12 * THREADS];
    generate<THREADS>(points, gradients, cells, before, positions, normals, n, shift, spacing);
}

// The same with half as much shared memory again.
extern "C" __global__ void __launch_bounds__(THREADS)
    generate_2(const int *__restrict__ cells, const int *__restrict__ before, float4 *__restrict__ positions,
               float4 *__restrict__ normals, int n, int shift, float spacing) {
    __shared__ Place points[18 * THREADS], gradients[18 * THREADS];
    generate<3 * THREADS / 2>(points, gradients, cells, before, positions, normals, n, shift, spacing);
}
