// nw in tiles of 32 x 32: 8452 bytes of shared memory a block, a whole warp.

#define TILE 32
#include "../nw/nw.cu"
