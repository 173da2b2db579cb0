// Tiles that are copied to shared memory while the one before is summed up.
//
// clang++-16 -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -Xclang -target-feature -Xclang +ptx75 -nocudainc -nocudalib -O2 -S stages.cu -o stages.ptx

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define THREADS 64

static __device__ void copy(void *to, const void *from) {
  __nvvm_cp_async_ca_shared_global_16((void __attribute__((address_space(3))) *)to,
                                      (const void __attribute__((address_space(1))) *)from);
}

// Each thread adds four elements of its neighbour in every tile.
__global__ void stages(const int *tiles, int *sums, int count) {
  __shared__ __attribute__((aligned(16))) int buffer[2][4 * THREADS];
  int i = __nvvm_read_ptx_sreg_tid_x(), sum = 0;
  copy(&buffer[0][4 * i], &tiles[4 * i]);
  __nvvm_cp_async_commit_group();
  for (int tile = 0; tile < count; tile++) {
    if (tile + 1 < count)
      copy(&buffer[(tile + 1) % 2][4 * i], &tiles[4 * (THREADS * (tile + 1) + i)]);
    __nvvm_cp_async_commit_group();
    __nvvm_cp_async_wait_group(1);
    __syncthreads();
    for (int k = 0; k < 4; k++)
      sum += buffer[tile % 2][4 * ((i + 1) % THREADS) + k] * (k + 1);
    __syncthreads();
  }
  __nvvm_cp_async_wait_all();
  sums[i] = sum;
}
