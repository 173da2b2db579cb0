// Training of a fully connected layer of 16 hidden units, as a block of 16 x 16 threads for every 16 inputs.
//
// Weights form a matrix of (inputs + 1) x 17: row and column 0 belong to the bias units.

#include "warpfile.h"

#define HIDDEN 16
#define ROW (HIDDEN + 1)
#define LEARNING_RATE 0.3f
#define MOMENTUM 0.3f

// partial[block][unit] = sum over the block's inputs of input * weight; products are left in `weighted`.
extern "C" __global__ void layer_forward(const float *input, const float *weights, float *weighted,
                                         float *partial) {
    __shared__ float node[HIDDEN];
    __shared__ float product[HIDDEN][HIDDEN];

    int tx = threadIdx.x, ty = threadIdx.y, by = blockIdx.y;
    int index = (HIDDEN * by + ty + 1) * ROW + tx + 1;

    if (tx == 0) node[ty] = input[HIDDEN * by + ty + 1];
    __syncthreads();
    product[ty][tx] = weights[index];
    __syncthreads();
    product[ty][tx] *= node[ty];
    __syncthreads();

    for (int pair = 2; pair <= HIDDEN; pair *= 2) {
        if (ty % pair == 0) product[ty][tx] += product[ty + pair / 2][tx];
        __syncthreads();
    }

    weighted[index] = product[ty][tx];
    if (ty == 0) partial[by * HIDDEN + tx] = product[0][tx];
}

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
