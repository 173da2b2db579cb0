// Membrane of a heart muscle cell over time: the ventricular action potential of Luo & Rudy (1991), eight coupled
// differential equations solved by Heun's method. One cell a thread, few threads, long straight code.

#include "warpfile.h"

// Membrane potential (mV), gates of the sodium current, of the slow inward current and of the potassium current,
// calcium in the cell (mM).
struct State {
    float v, m, h, j, d, f, x, calcium;
};

static inline __device__ float relax(float gate, float opening, float closing) {
    return opening * (1.0f - gate) - closing * gate;
}

// Change a millisecond, with a current from outside (uA/cm2).
static inline __device__ State derivative(const State &s, float stimulus) {
    float v = s.v;
    State change;

    float opening_m = 0.32f * (v + 47.13f) / (1.0f - expf(-0.1f * (v + 47.13f)));
    float closing_m = 0.08f * expf(v * (-1.0f / 11.0f));
    float opening_h, closing_h, opening_j, closing_j;
    if (v < -40.0f) {
        opening_h = 0.135f * expf((80.0f + v) * (-1.0f / 6.8f));
        closing_h = 3.56f * expf(0.079f * v) + 3.1e5f * expf(0.35f * v);
        opening_j = (-1.2714e5f * expf(0.2444f * v) - 3.474e-5f * expf(-0.04391f * v)) * (v + 37.78f) /
                    (1.0f + expf(0.311f * (v + 79.23f)));
        closing_j = 0.1212f * expf(-0.01052f * v) / (1.0f + expf(-0.1378f * (v + 40.14f)));
    } else {
        opening_h = 0.0f;
        closing_h = 1.0f / (0.13f * (1.0f + expf((v + 10.66f) * (-1.0f / 11.1f))));
        opening_j = 0.0f;
        closing_j = 0.3f * expf(-2.535e-7f * v) / (1.0f + expf(-0.1f * (v + 32.0f)));
    }
    change.m = relax(s.m, opening_m, closing_m);
    change.h = relax(s.h, opening_h, closing_h);
    change.j = relax(s.j, opening_j, closing_j);
    float sodium = 23.0f * s.m * s.m * s.m * s.h * s.j * (v - 54.4f);

    float opening_d = 0.095f * expf(-0.01f * (v - 5.0f)) / (1.0f + expf(-0.072f * (v - 5.0f)));
    float closing_d = 0.07f * expf(-0.017f * (v + 44.0f)) / (1.0f + expf(0.05f * (v + 44.0f)));
    float opening_f = 0.012f * expf(-0.008f * (v + 28.0f)) / (1.0f + expf(0.15f * (v + 28.0f)));
    float closing_f = 0.0065f * expf(-0.02f * (v + 30.0f)) / (1.0f + expf(-0.2f * (v + 30.0f)));
    change.d = relax(s.d, opening_d, closing_d);
    change.f = relax(s.f, opening_f, closing_f);
    float slow_inward = 0.09f * s.d * s.f * (v - (7.7f - 13.0287f * logf(s.calcium)));
    change.calcium = -1e-4f * slow_inward + 0.07f * (1e-4f - s.calcium);

    float opening_x = 0.0005f * expf(0.083f * (v + 50.0f)) / (1.0f + expf(0.057f * (v + 50.0f)));
    float closing_x = 0.0013f * expf(-0.06f * (v + 20.0f)) / (1.0f + expf(-0.04f * (v + 20.0f)));
    change.x = relax(s.x, opening_x, closing_x);
    float inactivation = 2.837f * (expf(0.04f * (v + 77.0f)) - 1.0f) / expf(0.04f * (v + 35.0f));
    float potassium = 0.282f * s.x * inactivation;

    float above = v + 87.26f;
    float opening_k1 = 1.02f / (1.0f + expf(0.2385f * (above - 59.215f)));
    float closing_k1 = (0.49124f * expf(0.08032f * (above + 5.476f)) + expf(0.06175f * (above - 594.31f))) /
                       (1.0f + expf(-0.5143f * (above + 4.753f)));
    float potassium_1 = 0.6047f * opening_k1 / (opening_k1 + closing_k1) * above;
    float plateau = 0.0183f / (1.0f + expf((7.488f - v) * (1.0f / 5.98f))) * above;
    float background = 0.03921f * (v + 59.87f);

    change.v = stimulus - (sodium + slow_inward + potassium + potassium_1 + plateau + background);
    return change;
}

static inline __device__ State moved(const State &s, const State &change, float time) {
    return {s.v + time * change.v, s.m + time * change.m, s.h + time * change.h, s.j + time * change.j,
            s.d + time * change.d, s.f + time * change.f, s.x + time * change.x,
            s.calcium + time * change.calcium};
}

// Variables are stored one after the other, cells side by side. Every cell has its own current from outside.
extern "C" __global__ void solve(float *state, const float *stimulus, int cells, int steps, float time_step) {
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells) return;

    float *own = state + cell;
    State s = {own[0], own[cells], own[2 * cells], own[3 * cells],
               own[4 * cells], own[5 * cells], own[6 * cells], own[7 * cells]};
    float current = stimulus[cell];
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        State first = derivative(s, current);
        State second = derivative(moved(s, first, time_step), current);
        s = moved(moved(s, first, 0.5f * time_step), second, 0.5f * time_step);
    }
    own[0] = s.v;
    own[cells] = s.m;
    own[2 * cells] = s.h;
    own[3 * cells] = s.j;
    own[4 * cells] = s.d;
    own[5 * cells] = s.f;
    own[6 * cells] = s.x;
    own[7 * cells] = s.calcium;
}
