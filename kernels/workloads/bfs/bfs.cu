// Breadth-first search, a level at a time, one node a thread. The graph is in compressed rows: the edges of
// node i are edges[offsets[i]] … edges[offsets[i + 1] - 1].
//
// Two kernels a level, so that no node is read and marked in the same launch.

#include "warpfile.h"

// Every frontier node reaches its unvisited neighbours.
extern "C" __global__ void expand(const int *offsets, const int *edges, unsigned char *frontier,
                                  unsigned char *reached, const unsigned char *visited, int *depth, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && frontier[node]) {
        frontier[node] = 0;
        int last = offsets[node + 1];
        for (int e = offsets[node]; e < last; e++) {
            int neighbour = edges[e];
            if (!visited[neighbour]) {
                depth[neighbour] = depth[node] + 1;
                reached[neighbour] = 1;
            }
        }
    }
}

// The nodes just reached are the next frontier; says whether there are any.
extern "C" __global__ void advance(unsigned char *frontier, unsigned char *reached, unsigned char *visited,
                                   int *more, int nodes) {
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && reached[node]) {
        frontier[node] = 1;
        visited[node] = 1;
        reached[node] = 0;
        *more = 1;
    }
}
