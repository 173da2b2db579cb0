// The part of CUDA C that the workloads use, declared for clang without a CUDA toolkit.
//
// `__syncthreads` is built into clang. Launch syntax and host code are left out: a launch.toml says how the kernels run. Transcendentals are the
// hardware's approximations (what nvcc emits with -use_fast_math).

#ifndef WARPFILE_H
#define WARPFILE_H

// A barrier before shared variables that are no arrays are read: clang 14 takes `__syncthreads` for something that changes none.
#define __syncthreads_and_reload() \
    do { \
        __syncthreads(); \
        asm volatile("" ::: "memory"); \
    } while (0)

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))

#define WARPFILE_INDEX(type, name, reg)                                                                     \
    struct type {                                                                                           \
        __declspec(property(get = get_x)) unsigned x;                                                       \
        __declspec(property(get = get_y)) unsigned y;                                                       \
        __declspec(property(get = get_z)) unsigned z;                                                       \
        static inline __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_##reg##_x(); }              \
        static inline __device__ unsigned get_y() { return __nvvm_read_ptx_sreg_##reg##_y(); }              \
        static inline __device__ unsigned get_z() { return __nvvm_read_ptx_sreg_##reg##_z(); }              \
    };                                                                                                      \
    extern const __device__ type name;

WARPFILE_INDEX(ThreadIndex, threadIdx, tid)
WARPFILE_INDEX(BlockIndex, blockIdx, ctaid)
WARPFILE_INDEX(BlockShape, blockDim, ntid)
WARPFILE_INDEX(GridShape, gridDim, nctaid)

#undef WARPFILE_INDEX

// Aligned so that all members are loaded and stored at once.
struct __attribute__((aligned(8))) float2 {
    float x, y;
};
struct __attribute__((aligned(16))) float4 {
    float x, y, z, w;
};
struct __attribute__((aligned(16))) double4 {
    double x, y, z, w;
};

static inline __device__ int min(int a, int b) { return a < b ? a : b; }
static inline __device__ int max(int a, int b) { return a > b ? a : b; }

static inline __device__ float fabsf(float x) { return __builtin_fabsf(x); }
static inline __device__ float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
static inline __device__ float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
static inline __device__ float sinf(float x) { return __nvvm_sin_approx_f(x); }
static inline __device__ float cosf(float x) { return __nvvm_cos_approx_f(x); }
// e^x = 2^(x log2 e), ln x = log2 x ln 2.
static inline __device__ float expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
// e^x = 2^k e^r, where k is the integer next to x log2 e and r = x - k ln 2, with ln 2 in two parts; e^r is its Taylor
// polynomial, exact to 1e-16 for |r| < 0.35. For |x| < 700: no overflow is looked for. Adding 1.5 · 2^52 leaves k in the low word.
static inline __device__ double exp(double x) {
    double shifted = __builtin_fma(x, 1.4426950408889634, 6755399441055744.0);
    int k = __nvvm_d2i_lo(shifted);
    double r = __builtin_fma(shifted - 6755399441055744.0, -0x1.62e42fefa39efp-1, x);
    r = __builtin_fma(shifted - 6755399441055744.0, -0x1.abc9e3b39803fp-56, r);
    double sum = 1.0 / 6227020800.0;
    double term[] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0,
                     1.0 / 720.0,       1.0 / 120.0,      1.0 / 24.0,      1.0 / 6.0,      0.5,           1.0,
                     1.0};
#pragma unroll
    for (int n = 0; n < 13; n++) sum = __builtin_fma(sum, r, term[n]);
    return __nvvm_lohi_i2d(__nvvm_d2i_lo(sum), __nvvm_d2i_hi(sum) + (k << 20));
}
static inline __device__ float logf(float x) { return __nvvm_lg2_approx_f(x) * 0.6931471805599453f; }
static inline __device__ float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
static inline __device__ float floorf(float x) { return __nvvm_floor_f(x); }
static inline __device__ float fminf(float a, float b) { return __nvvm_fmin_f(a, b); }
static inline __device__ float fmaxf(float a, float b) { return __nvvm_fmax_f(a, b); }
static inline __device__ int atomicAdd(int *sum, int value) { return __nvvm_atom_add_gen_i(sum, value); }
static inline __device__ int atomicMax(int *most, int value) { return __nvvm_atom_max_gen_i(most, value); }

#endif
