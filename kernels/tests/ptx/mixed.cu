// Three kernels that use much of the language at once: structures by value, calls, local and shared memory,
// atomics, switches, 64-bit and double arithmetic, inline PTX, exchange between lanes.
//
// clang-14 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -ffp-contract=off -w \
//   -Xclang -target-feature -Xclang +ptx72 -O0 -S mixed.cu -o mixed-O0.ptx      (and -O3)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))

typedef float float4 __attribute__((ext_vector_type(4)));

struct Table {
  int items[10];
  double scale;
  char letters[5];
};

__constant__ float coefficients[5] = {1, 2, 3, 4, 5};
__device__ int counter = 3;
__device__ float *last;

__device__ __noinline__ float weighted(float x, int n, char letter, Table table) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x * table.items[i % 10] + letter;
  return sum;
}

__device__ __noinline__ Table multiples(int n) {
  Table table;
  for (int i = 0; i < 10; i++) table.items[i] = n * i;
  table.scale = n;
  for (int i = 0; i < 5; i++) table.letters[i] = n + i;
  return table;
}

__device__ __noinline__ bool is_odd(int n) { return n & 1; }

__device__ __noinline__ float4 doubled(float4 v) { return v * 2.0f; }

extern "C" __global__ void by_value(float *out, Table table, float4 v, bool flag, short offset) {
  int t = __nvvm_read_ptx_sreg_tid_x() + __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
  Table own = multiples(t);
  float r = weighted(out[t], t & 7, (char)t, table) + own.items[t % 10] + own.scale + own.letters[t % 5];
  if (is_odd(t) && flag) r += doubled(v).y;
  out[t] = r + offset;
}

extern "C" __global__ void arithmetic(int *a, unsigned long long *l, double *d, float *f, unsigned char *c) {
  __shared__ int shared[64];
  int t = __nvvm_read_ptx_sreg_tid_x();
  int mine = a[t];
  unsigned long long wide = l[t], next = l[t + 64];
  shared[t] = mine;
  __nvvm_bar_sync(0);
  __nvvm_atom_add_gen_i(&shared[0], 1);
  __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
  __atomic_fetch_max(&a[200], t, __ATOMIC_RELAXED);
  int expected = 3;
  __atomic_compare_exchange_n(&a[201], &expected, 9, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  __nvvm_bar_sync(0);
  d[t] = __builtin_sqrt(d[t]) + __builtin_fabs(d[t]) * __builtin_floor(d[t]) + (double)wide +
         __builtin_trunc(d[t]) + __builtin_ceil(d[t]) + __builtin_rint(d[t]);
  f[t] = __builtin_copysignf(f[t], (float)d[t]) + __builtin_fminf(f[t], 3.0f) + coefficients[t % 5] +
         __nvvm_sin_approx_f(f[t]) + __nvvm_ex2_approx_f(f[t]) + __nvvm_rsqrt_approx_f(f[t] + 1.0f);
  c[t] = (unsigned char)f[t] + __builtin_popcount(mine) + __builtin_clz(mine | 1) + __builtin_bitreverse32(mine);
  l[t] = (wide << (t & 63)) / (next | 1) % 77 + (long long)mine * counter + __builtin_popcountll(wide) +
         ((unsigned __int128)wide * next >> 64);
  switch (t) {
  case 0: mine = 5; break;
  case 1: mine = 9; break;
  case 2: mine = 15; break;
  case 3: mine = 57; break;
  case 4: mine = 1; break;
  case 7: mine = 5456; break;
  case 9: mine = 52; break;
  default: mine = 0;
  }
  int one_or_two;
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; selp.s32 %0, 1, 2, p; }" : "=r"(one_or_two) : "r"(t));
  asm volatile("membar.gl;");
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  mine += one_or_two + lane + __builtin_rotateleft32(one_or_two, t) + shared[63 - t];
  short half = mine;
  a[t] = mine;
  a[t + 64] = (half * 3) / 7 + (half >> 2) + (half < 5) + __builtin_bswap32(mine);
  last = f;
}

template <typename T> __device__ T warp_maximum(T x) {
  for (int distance = 16; distance > 0; distance >>= 1) {
    T other = __nvvm_shfl_sync_bfly_i32(-1, x, distance, 31);
    x = x > other ? x : other;
  }
  return x;
}

extern "C" __global__ void exchange(int *a) {
  int t = __nvvm_read_ptx_sreg_tid_x();
  int mine = a[t];
  int sum = warp_maximum(mine) + __nvvm_vote_ballot_sync(-1, mine > 3) + __nvvm_vote_any_sync(-1, mine > 49);
  __nvvm_bar_warp_sync(-1);
  for (int i = 0; i < mine; i++) {
    if (i * i > 1000) break;
    if (i & 1) continue;
    sum += __nvvm_ldg_i(a + 512 + i);
  }
  __nvvm_membar_sys();
  a[t] = sum;
}
