// Texture and surface objects, through the instructions that the headers of CUDA wrap.
//
// clang++-16 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -O2 -S images.cu -o images.ptx

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

typedef unsigned long long object;

static __device__ unsigned tid() { return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x(); }

// tex2D<float4>
__global__ void plane(object texture, const float *x, const float *y, float *texels) {
  unsigned i = tid();
  float *to = texels + 4 * i;
  asm volatile("tex.2d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(texture), "f"(x[i]), "f"(y[i]));
}

// tex1D<float4>
__global__ void line(object texture, const float *x, float *texels) {
  unsigned i = tid();
  float *to = texels + 4 * i;
  asm volatile("tex.1d.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5}];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(texture), "f"(x[i]));
}

// tex1Dfetch<int4>
__global__ void fetch(object texture, int first, int *texels) {
  unsigned i = tid();
  int *to = texels + 4 * i;
  asm volatile("tex.1d.v4.s32.s32 {%0, %1, %2, %3}, [%4, {%5}];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "l"(texture), "r"(first + (int)i));
}

// surf2Dread and surf2Dwrite: each element becomes the difference of those beside it.
__global__ void differences(object from, object to, int width) {
  int x = tid() % width, y = tid() / width, left, right;
  asm volatile("suld.b.2d.b32.clamp %0, [%1, {%2, %3}];" : "=r"(left) : "l"(from), "r"(4 * (x - 1)), "r"(y));
  asm volatile("suld.b.2d.b32.zero %0, [%1, {%2, %3}];" : "=r"(right) : "l"(from), "r"(4 * (x + 1)), "r"(y));
  asm volatile("sust.b.2d.b32.trap [%0, {%1, %2}], {%3};" : : "l"(to), "r"(4 * x), "r"(y), "r"(right - left) : "memory");
}
