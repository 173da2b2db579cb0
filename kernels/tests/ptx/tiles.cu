// Products of tiles on the matrix units, as CUTLASS writes them.
//
// clang++-16 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx75 -nocudainc -nocudalib -O2 -S tiles.cu -o tiles.ptx

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

typedef unsigned short half;

static __device__ int lane() { return __nvvm_read_ptx_sreg_tid_x(); }

static __device__ unsigned address(const void *shared) {
  return (unsigned)(unsigned long)(const void __attribute__((address_space(3))) *)shared;
}

static __device__ void load4(unsigned *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

static __device__ void load2_transposed(unsigned *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address(row)) : "memory");
}

// c = a b: a is 16 x k, b is k x 8, both in rows; k is a multiple of 16.
__global__ void halves(const half *a, const half *b, float *c, int k) {
  __shared__ __attribute__((aligned(16))) half tile_a[16][16], tile_b[16][8];
  int i = lane();
  float sum[4] = {0, 0, 0, 0};
  for (int at = 0; at < k; at += 16) {
    __syncthreads();
    for (int n = i; n < 256; n += 32)
      tile_a[n / 16][n % 16] = a[n / 16 * k + at + n % 16];
    for (int n = i; n < 128; n += 32)
      tile_b[n / 8][n % 8] = b[(at + n / 8) * 8 + n % 8];
    __syncthreads();
    unsigned x[4], y[2];
    load4(x, &tile_a[i % 16][i / 16 * 8]);
    load2_transposed(y, &tile_b[i % 16][0]);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  }
  for (int n = 0; n < 4; n++)
    c[(i / 4 + n / 2 * 8) * 8 + i % 4 * 2 + n % 2] = sum[n];
}

// The same of bytes: b is in columns.
__global__ void bytes(const unsigned *a, const unsigned *b, int *c, int k) {
  int i = lane(), sum[4] = {0, 0, 0, 0};
  for (int at = 0; at < k; at += 32) {
    const unsigned *x = a + i / 4 * (k / 4) + at / 4 + i % 4, *y = b + i / 4 * (k / 4) + at / 4 + i % 4;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
                 : "r"(x[0]), "r"(x[2 * k]), "r"(x[4]), "r"(x[2 * k + 4]), "r"(y[0]), "r"(y[4]));
  }
  for (int n = 0; n < 4; n++)
    c[(i / 4 + n / 2 * 8) * 8 + i % 4 * 2 + n % 2] = sum[n];
}
