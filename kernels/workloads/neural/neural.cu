// Digits recognised by a convolutional network of four layers: two of feature maps, from 5 x 5 windows two places apart,
// and two fully connected ones. A block is a map, or a neuron, of one image. Weights of a map or neuron lie together,
// the bias first.

#include "warpfile.h"

#define SIDE 29
#define FIRST_SIDE 13
#define SECOND_SIDE 5
#define WINDOW 5
#define STRIDE 2

// 1.7159 tanh(2/3 x), with tanh y = 1 - 2 / (e^(2y) + 1).
static inline __device__ float activation(float x) {
    return 1.7159f - __fdividef(2.0f * 1.7159f, expf((4.0f / 3.0f) * x) + 1.0f);
}

static inline __device__ float convolve(const float *__restrict__ window, int row, const float *__restrict__ weights) {
    float sum = 0.0f;
#pragma unroll
    for (int y = 0; y < WINDOW; y++) {
#pragma unroll
        for (int x = 0; x < WINDOW; x++) sum += weights[y * WINDOW + x] * window[y * row + x];
    }
    return sum;
}

static inline __device__ float neuron(const float *__restrict__ inputs, const float *__restrict__ weights, int count) {
    float sum = weights[0];
    for (int i = 0; i < count; i++) sum += weights[1 + i] * inputs[i];
    return activation(sum);
}

// The images lie side by side in one strip: `row` pixels from a row to the next.
extern "C" __global__ void __launch_bounds__(FIRST_SIDE *FIRST_SIDE)
    first_layer(const float *__restrict__ pixels, const float *__restrict__ weights, float *__restrict__ maps, int row) {
    int map = blockIdx.x, image = blockIdx.y, x = threadIdx.x, y = threadIdx.y;
    const float *own = weights + map * (1 + WINDOW * WINDOW);
    const float *window = pixels + STRIDE * y * row + image * SIDE + STRIDE * x;
    float sum = own[0] + convolve(window, row, own + 1);
    maps[((image * gridDim.x + map) * FIRST_SIDE + y) * FIRST_SIDE + x] = activation(sum);
}

extern "C" __global__ void __launch_bounds__(SECOND_SIDE *SECOND_SIDE)
    second_layer(const float *__restrict__ before, const float *__restrict__ weights, float *__restrict__ maps,
                 int before_maps) {
    int map = blockIdx.x, image = blockIdx.y, x = threadIdx.x, y = threadIdx.y;
    const float *own = weights + map * (1 + before_maps * WINDOW * WINDOW);
    const float *window =
        before + image * before_maps * FIRST_SIDE * FIRST_SIDE + STRIDE * y * FIRST_SIDE + STRIDE * x;
    float sum = own[0];
    own++;
    for (int i = 0; i < before_maps; i++) {
        sum += convolve(window, FIRST_SIDE, own);
        window += FIRST_SIDE * FIRST_SIDE;
        own += WINDOW * WINDOW;
    }
    maps[((image * gridDim.x + map) * SECOND_SIDE + y) * SECOND_SIDE + x] = activation(sum);
}

extern "C" __global__ void __launch_bounds__(1)
    third_layer(const float *__restrict__ before, const float *__restrict__ weights, float *__restrict__ neurons,
                int inputs) {
    int own = blockIdx.x, image = blockIdx.y;
    neurons[image * gridDim.x + own] = neuron(before + image * inputs, weights + own * (1 + inputs), inputs);
}

extern "C" __global__ void __launch_bounds__(1)
    fourth_layer(const float *__restrict__ before, const float *__restrict__ weights, float *__restrict__ scores,
                 int inputs) {
    int own = blockIdx.x, image = blockIdx.y;
    scores[image * gridDim.x + own] = neuron(before + image * inputs, weights + own * (1 + inputs), inputs);
}
