// Matches of many short strings with a text, by a suffix tree of the text: a thread takes a query and finds, from every
// character of it on, how far it goes on as the text does somewhere.
//
// A node of the tree is a string of the text. Node 0 is the empty one, and node 4 n + 1 + c is that of node n with the
// character c behind it. A string that is once in the text is a leaf: its edge goes on in the text. So does that of a
// string of `depth` characters, from its last occurrence.

#include "warpfile.h"

struct Node {
    int children[4]; // 0: none
    int link;        // the string without its first character
    int count;       // how often it is in the text
    int last;        // where it begins there for the last time
    int unused;
};

// Enters the strings that begin at a place of the text, a place a thread. Nodes behind a leaf are made as well, and
// never visited.
extern "C" __global__ void __launch_bounds__(256) build(const unsigned char *text, Node *tree, int length, int depth) {
    int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= length) return;

    int end = min(place + depth, length);
    int node = 0, link = 0;
    for (int next = place; next < end; next++) {
        int character = text[next];
        int child = 4 * node + 1 + character;
        if (next > place) link = 4 * link + 1 + character;
        tree[node].children[character] = child;
        tree[child].link = link;
        atomicAdd(&tree[child].count, 1);
        atomicMax(&tree[child].last, place);
        node = child;
    }
}

// For every place of a query the node at which its way down the tree ends, or the leaf along whose edge it goes on, and
// the characters that agree.
extern "C" __global__ void __launch_bounds__(256)
    match(const unsigned char *text, const Node *__restrict__ tree, const unsigned char *queries, int *nodes,
          int *lengths, int length, int depth, int query_count, int query_length) {
    int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= query_count) return;

    int own = query * query_length, end = own + query_length;
    int node = 0, matched = 0;
    for (int start = own; start < end; start++) {
        while (start + matched < end && matched < depth && tree[node].count != 1) {
            int child = tree[node].children[queries[start + matched]];
            if (child == 0) break;
            node = child;
            matched++;
        }
        int agree = matched;
        if (matched == depth || tree[node].count == 1) {
            int last = tree[node].last;
            while (start + agree < end && last + agree < length && queries[start + agree] == text[last + agree]) agree++;
        }
        nodes[start] = node;
        lengths[start] = agree;
        // What agreed down to the node is in the text without its first character, too.
        if (matched > 0) {
            node = tree[node].link;
            matched--;
        }
    }
}
