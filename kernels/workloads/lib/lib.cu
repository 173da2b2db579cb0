// Value of a portfolio of swaptions in the LIBOR market model by simulation: a path of forward rates a thread,
// evolved maturity by maturity in local memory, and the discounted payoffs of all swaptions at its end.

#include "warpfile.h"

#define MOST_RATES 80
#define OPTIONS 15
#define DELTA 0.25f

__constant__ float volatility[MOST_RATES];
__constant__ int maturities[OPTIONS];
__constant__ float swap_rates[OPTIONS];

// Rates `maturity` and beyond move by the normal number of this maturity; those before are settled.
static inline __device__ void evolve(float *rates, const float *__restrict__ normals, int path, int paths, int count,
                                     int steps) {
    for (int maturity = 0; maturity < steps; maturity++) {
        float shock = 0.5f * normals[maturity * paths + path];
        float drift = 0.0f;
        for (int i = maturity + 1; i < count; i++) {
            float lambda = volatility[i - maturity - 1];
            float step = DELTA * lambda;
            drift += __fdividef(step * rates[i], 1.0f + DELTA * rates[i]);
            rates[i] *= expf(step * drift + lambda * (shock - 0.5f * step));
        }
    }
}

extern "C" __global__ void __launch_bounds__(192)
    portfolio(const float *__restrict__ normals, float *__restrict__ values, float initial, int paths, int count,
              int steps) {
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths) return;

    float rates[MOST_RATES];
    for (int i = 0; i < count; i++) rates[i] = initial;
    evolve(rates, normals, path, paths, count, steps);

    // Bonds and the sums of bonds that end with each rate after the last step.
    float bonds[MOST_RATES], annuities[MOST_RATES];
    float bond = 1.0f, annuity = 0.0f;
    for (int i = steps; i < count; i++) {
        bond = __fdividef(bond, 1.0f + DELTA * rates[i]);
        annuity += DELTA * bond;
        bonds[i] = bond;
        annuities[i] = annuity;
    }

    float value = 0.0f;
    for (int option = 0; option < OPTIONS; option++) {
        int last = steps + maturities[option] - 1;
        float swap = bonds[last] + swap_rates[option] * annuities[last] - 1.0f;
        if (swap < 0.0f) value -= 100.0f * swap;
    }
    for (int i = 0; i < steps; i++) value = __fdividef(value, 1.0f + DELTA * rates[i]);
    values[path] = value;
}
