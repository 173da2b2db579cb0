// printf and assert of device code.
//
// clang++-16 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -O2 -S print.cu -o print.ptx
// clang-14 the same with --cuda-gpu-arch=sm_70 and -m32: print.m32.ptx

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char *, const char *, unsigned, const char *,
                                                                  unsigned long);
#define assert(condition) \
  ((condition) ? (void)0 : __assertfail(#condition, "print.cu", __LINE__, __PRETTY_FUNCTION__, sizeof(char)))

static __device__ unsigned tid() { return __nvvm_read_ptx_sreg_tid_x(); }

// What each thread returns from printf is kept.
__global__ void report(const float *values, int *returned, const char *name) {
  unsigned i = tid();
  double value = values[i];
  returned[i] = 0;
  if (i % 3 == 0)
    returned[i] = printf("%2u: %s has %8.3f%%, %+.2e or %g; %c%#06x %lld %p\n", i, name, value, value, value,
                         'a' + (int)i % 26, 255 * i, -1LL - i, values);
  else if (i == 32)
    printf("first of the second warp\n");
}

__global__ void check(const int *values, int limit) {
  unsigned i = tid();
  printf("thread %d of block %d\n", i, __nvvm_read_ptx_sreg_ctaid_x());
  assert(values[i] < limit);
}
