// Forward sums of a fully connected layer of 16 hidden units, as a block of 16 x 16 threads for every 16 inputs. As in
// backprop, but that rows of products are 544 bytes apart: a block takes 8768.

#include "warpfile.h"

#define PITCH 136
#include "../backprop/forward.h"
