// Prices of European calls in the binomial model, a block an option: from the values at expiry back to today, in pieces of
// several steps that a block does in shared memory; between pieces the values are in global memory.

#include "warpfile.h"

#define THREADS 256
// Steps of a piece: of its THREADS values this many fewer are known afterwards.
#define STEPS 32

// What an option's tree is made of.
struct __attribute__((aligned(4))) Option {
    float spot, strike;
    // Logarithm of the factor of a step up; the values of steps up and down, discounted.
    float step, up, down;
};

// Of each option from its spot price, strike price and years, in double precision as on a host.
extern "C" __global__ void __launch_bounds__(32)
    prepare(const float *__restrict__ spot, const float *__restrict__ strike, const float *__restrict__ years,
            Option *__restrict__ options, float riskfree, float volatility, int steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float years_a_step = __fdividef(years[i], (float)steps);
    float step = volatility * sqrtf(years_a_step);
    double up = exp((double)step), growth = exp((double)riskfree * (double)years_a_step);
    double down = exp(-(double)step), probability = (growth - down) / (up - down);
    double discount = exp(-(double)riskfree * (double)years_a_step);
    options[i].spot = spot[i];
    options[i].strike = strike[i];
    options[i].step = step;
    options[i].up = (float)(discount * probability);
    options[i].down = (float)(discount * (1.0 - probability));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    price(const Option *__restrict__ options, float *values, float *__restrict__ prices, int steps) {
    __shared__ float one[THREADS + 1], other[THREADS + 1];
    int thread = threadIdx.x;
    Option option = options[blockIdx.x];
    float *at_nodes = values + blockIdx.x * (steps + 1);
    for (int i = thread; i <= steps; i += THREADS) {
        at_nodes[i] = fmaxf(option.spot * expf(option.step * (float)(2 * i - steps)) - option.strike, 0.0f);
    }
    // `last` is the last node of a step; a piece begins at every (THREADS - STEPS)-th.
    for (int last = steps; last > 0; last -= STEPS) {
        for (int base = 0; base < last; base += THREADS - STEPS) {
            int nodes = min(THREADS - 1, last - base);
            int end = nodes - STEPS;
            __syncthreads();
            if (thread <= nodes) one[thread] = at_nodes[base + thread];
            for (int k = nodes - 1; k >= end; k -= 2) {
                __syncthreads();
                other[thread] = option.up * one[thread + 1] + option.down * one[thread];
                __syncthreads();
                one[thread] = option.up * other[thread + 1] + option.down * other[thread];
            }
            __syncthreads();
            if (thread <= end) at_nodes[base + thread] = one[thread];
        }
    }
    if (thread == 0) prices[blockIdx.x] = one[0];
}
