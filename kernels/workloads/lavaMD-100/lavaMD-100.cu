// lavaMD with room for 100 particles a box, as in Rodinia: 7200 bytes of shared memory a block.

#define MOST_PARTICLES 100
#include "../lavaMD/lavaMD.cu"
