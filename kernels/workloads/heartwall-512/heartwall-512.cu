// heartwall that looks for a point up to ten pixels away: 12912 bytes of shared memory a block.

#define MOST_REACH 10
#include "../heartwall/heartwall.cu"
