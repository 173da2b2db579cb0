// Searches in a B+ tree of many keys a node: a block is a query, a thread a key of the node. On every level one
// thread finds the key interval that the query lies in, and tells the others which child is next.
//
// The tree is full: level l has order^l nodes. A node has order + 1 keys, the smallest of every child and of the
// node that follows; the children of a leaf are numbers of records.

#include "warpfile.h"

// Makes one level from the sorted keys of the records, a child a thread.
extern "C" __global__ void build(const int *record_keys, int *keys, int *children, int records, int order,
                                 int levels, int level) {
    int first = 0, nodes = 1;
    for (int l = 0; l < level; l++) {
        first += nodes;
        nodes *= order;
    }
    int span = 1;
    for (int l = level + 1; l < levels; l++) span *= order;

    int child = blockIdx.x * blockDim.x + threadIdx.x;
    if (child >= nodes * order) return;
    int node = first + child / order, slot = child % order;
    keys[node * (order + 1) + slot] = record_keys[child * span];
    children[node * order + slot] = level == levels - 1 ? child : first + nodes + child;
    if (slot == order - 1) {
        int next = (child + 1) * span;
        keys[node * (order + 1) + order] = next < records ? record_keys[next] : 0x7fffffff;
    }
}

// The record with a key, if there is one.
extern "C" __global__ void find(const int *keys, const int *children, const int *values, const int *wanted,
                                int *found, int order, int levels) {
    __shared__ int node;

    int t = threadIdx.x;
    int key = wanted[blockIdx.x];
    if (t == 0) node = 0;
    __syncthreads_and_reload();

    for (int level = 0; level < levels - 1; level++) {
        const int *own = keys + node * (order + 1) + t;
        int next = -1;
        if (own[0] <= key && key < own[1]) next = children[node * order + t];
        __syncthreads_and_reload();
        if (next >= 0) node = next;
        __syncthreads_and_reload();
    }
    if (keys[node * (order + 1) + t] == key) found[blockIdx.x] = values[children[node * order + t]];
}

// The first record with a key above a bound, and how many more there are up to the other bound: two walks side
// by side. No bound is smaller than all keys.
extern "C" __global__ void find_range(const int *keys, const int *children, const int *lower,
                                      const int *extent, int *first, int *count, int order, int levels) {
    __shared__ int from_node, to_node, from, to;

    int t = threadIdx.x;
    int lower_key = lower[blockIdx.x];
    int upper_key = lower_key + extent[blockIdx.x];
    if (t == 0) {
        from_node = 0;
        to_node = 0;
    }
    __syncthreads_and_reload();

    for (int level = 0; level < levels; level++) {
        const int *from_keys = keys + from_node * (order + 1) + t;
        const int *to_keys = keys + to_node * (order + 1) + t;
        int next_from = -1, next_to = -1;
        if (from_keys[0] <= lower_key && lower_key < from_keys[1]) next_from = children[from_node * order + t];
        if (to_keys[0] <= upper_key && upper_key < to_keys[1]) next_to = children[to_node * order + t];
        __syncthreads_and_reload();
        if (level < levels - 1) {
            if (next_from >= 0) from_node = next_from;
            if (next_to >= 0) to_node = next_to;
        } else {
            if (next_from >= 0) from = next_from;
            if (next_to >= 0) to = next_to;
        }
        __syncthreads_and_reload();
    }
    if (t == 0) {
        first[blockIdx.x] = from + 1;
        count[blockIdx.x] = to - from;
    }
}
