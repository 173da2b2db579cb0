// Prices of European calls by Monte Carlo: quasi-random normal samples once, then a block an option.

#include "warpfile.h"

#define THREADS 256

// Quantile of the normal distribution: Moro's rational approximation in the middle, his polynomial in the logarithm
// of the logarithm in the tails.
static inline __device__ float quantile(float p) {
    float y = p - 0.5f;
    if (fabsf(y) < 0.42f) {
        float z = y * y;
        float numerator = ((-25.44106049637f * z + 41.39119773534f) * z - 18.61500062529f) * z + 2.50662823884f;
        float denominator =
            (((3.13082909833f * z - 21.06224101826f) * z + 23.08336743743f) * z - 8.4735109309f) * z + 1.0f;
        return __fdividef(y * numerator, denominator);
    }
    float z = logf(-logf(y > 0.0f ? 1.0f - p : p));
    float tail = 0.0000003960315187f;
    tail = tail * z + 0.0000002888167364f;
    tail = tail * z + 0.0000321767881768f;
    tail = tail * z + 0.0003951896511919f;
    tail = tail * z + 0.0038405729373609f;
    tail = tail * z + 0.0276438810333863f;
    tail = tail * z + 0.1607979714918209f;
    tail = tail * z + 0.9761690190917186f;
    tail = tail * z + 0.3374754822726147f;
    return y > 0.0f ? tail : -tail;
}

// Samples at equal steps of probability: (i + 1) / (n + 1).
extern "C" __global__ void __launch_bounds__(128) quantiles(float *__restrict__ samples, int n) {
    float step = __fdividef(1.0f, (float)(n + 1));
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        samples[i] = quantile((float)(i + 1) * step);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    price(const float *__restrict__ samples, const float *__restrict__ spot, const float *__restrict__ strike,
          const float *__restrict__ years, float *__restrict__ expected, float *__restrict__ deviation,
          float riskfree, float volatility, int paths) {
    __shared__ float sums[THREADS], squares[THREADS];

    int option = blockIdx.x, thread = threadIdx.x;
    float s = spot[option], x = strike[option], t = years[option];
    float drift = (riskfree - 0.5f * volatility * volatility) * t;
    float spread = volatility * sqrtf(t);
    float sum = 0.0f, square = 0.0f;
    for (int path = thread; path < paths; path += THREADS) {
        float payoff = fmaxf(s * expf(drift + spread * samples[path]) - x, 0.0f);
        sum += payoff;
        square += payoff * payoff;
    }
    sums[thread] = sum;
    squares[thread] = square;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) {
            sums[thread] += sums[thread + half];
            squares[thread] += squares[thread + half];
        }
    }
    if (thread == 0) {
        float discount = expf(-riskfree * t);
        float mean = __fdividef(sums[0], (float)paths);
        expected[option] = discount * mean;
        deviation[option] = discount * sqrtf(__fdividef(squares[0], (float)paths) - mean * mean);
    }
}
