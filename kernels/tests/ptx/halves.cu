// Half precision as a program uses it: through the instructions that the headers of CUDA wrap.
//
// clang++-16 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx75 -nocudainc -nocudalib -O2 -S halves.cu -o halves.ptx

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

typedef unsigned short half;

static __device__ unsigned tid() { return __nvvm_read_ptx_sreg_tid_x(); }

// c = a * scale + b.
__global__ void saxpy(const half *a, const half *b, half *c, half scale) {
  unsigned i = tid();
  half value;
  asm("{fma.rn.f16 %0,%1,%2,%3;}" : "=h"(value) : "h"(a[i]), "h"(scale), "h"(b[i]));
  c[i] = value;
}

// A dot product of pairs, accumulated in half precision and in single precision.
__global__ void dot(const unsigned *a, const unsigned *b, unsigned *pairs, float *sums, int n) {
  unsigned i = tid(), sum = 0;
  float exact = 0;
  for (int k = 0; k < n; k++) {
    unsigned x = a[i * n + k], y = b[i * n + k];
    asm("{fma.rn.f16x2 %0,%1,%2,%3;}" : "=r"(sum) : "r"(x), "r"(y), "r"(sum));
    float p, q;
    asm("{.reg .b16 low,high; mov.b32 {low,high}, %2; cvt.f32.f16 %0, low; cvt.f32.f16 %1, high;}" : "=f"(p), "=f"(q) : "r"(x));
    exact += p * q;
  }
  pairs[i] = sum;
  sums[i] = exact;
}

// bf16 and back: rounded, and a rectified product.
__global__ void brain(const float *a, const float *b, unsigned *packed, unsigned *rectified) {
  unsigned i = tid(), x;
  asm("cvt.rn.bf16x2.f32 %0,%1,%2;" : "=r"(x) : "f"(a[i]), "f"(b[i]));
  unsigned one = 0x3f803f80, zero = 0, y;
  asm("fma.rn.relu.bf16x2 %0,%1,%2,%3;" : "=r"(y) : "r"(x), "r"(one), "r"(zero));
  packed[i] = x;
  rectified[i] = y;
}
