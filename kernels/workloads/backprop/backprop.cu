// Training of a fully connected layer of 16 hidden units, as a block of 16 x 16 threads for every 16 inputs.
//
// Weights form a matrix of (inputs + 1) x 17: row and column 0 belong to the bias units.

#include "warpfile.h"

#define PITCH 16
#include "forward.h"

#define LEARNING_RATE 0.3f
#define MOMENTUM 0.3f

// Moves every weight along its gradient with momentum; `change` holds the last change of every weight.
extern "C" __global__ void adjust_weights(const float *delta, const float *input, float *weights,
                                          float *change) {
    int tx = threadIdx.x, ty = threadIdx.y, by = blockIdx.y;
    int unit = tx + 1;
    int node = HIDDEN * by + ty + 1;
    int index = node * ROW + unit;

    float step = LEARNING_RATE * delta[unit] * input[node] + MOMENTUM * change[index];
    weights[index] += step;
    change[index] = step;

    __syncthreads();

    if (ty == 0 && by == 0) {
        float bias_step = LEARNING_RATE * delta[unit] + MOMENTUM * change[unit];
        weights[unit] += bias_step;
        change[unit] = bias_step;
    }
}
