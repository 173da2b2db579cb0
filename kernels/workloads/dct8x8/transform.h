// The transforms of eight values and of a block's tiles, which dct8x8 and its variants have in common. A block is as wide as
// four tiles.

#define WIDTH 32

// cos(k pi / 16) / 2, by k; the zeroth row of the transform has the weight of k = 4.
#define C1 0.4903926402f
#define C2 0.4619397663f
#define C3 0.4157348062f
#define C4 0.3535533906f
#define C5 0.2777851165f
#define C6 0.1913417162f
#define C7 0.0975451610f

// The same in units of 2^-13.
#define F1 4017
#define F2 3784
#define F3 3406
#define F4 2896
#define F5 2276
#define F6 1567
#define F7 799
#define FRACTION 13

// Even coefficients come from sums of opposite values, odd ones from differences.
#define FORWARD(T, A1, A2, A3, A4, A5, A6, A7, OUT)                                                         \
    T s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];                               \
    T d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];                               \
    T e0 = s0 + s3, e1 = s1 + s2, f0 = s0 - s3, f1 = s1 - s2;                                               \
    v[0] = OUT(A4 * (e0 + e1));                                                                             \
    v[4] = OUT(A4 * (e0 - e1));                                                                             \
    v[2] = OUT(A2 * f0 + A6 * f1);                                                                          \
    v[6] = OUT(A6 * f0 - A2 * f1);                                                                          \
    v[1] = OUT(A1 * d0 + A3 * d1 + A5 * d2 + A7 * d3);                                                      \
    v[3] = OUT(A3 * d0 - A7 * d1 - A1 * d2 - A5 * d3);                                                      \
    v[5] = OUT(A5 * d0 - A1 * d1 + A7 * d2 + A3 * d3);                                                      \
    v[7] = OUT(A7 * d0 - A5 * d1 + A3 * d2 - A1 * d3);

#define INVERSE(T, A1, A2, A3, A4, A5, A6, A7, OUT)                                                         \
    T g0 = A4 * (v[0] + v[4]), g1 = A4 * (v[0] - v[4]);                                                     \
    T h0 = A2 * v[2] + A6 * v[6], h1 = A6 * v[2] - A2 * v[6];                                               \
    T e0 = g0 + h0, e1 = g1 + h1, e2 = g1 - h1, e3 = g0 - h0;                                               \
    T d0 = A1 * v[1] + A3 * v[3] + A5 * v[5] + A7 * v[7];                                                   \
    T d1 = A3 * v[1] - A7 * v[3] - A1 * v[5] - A5 * v[7];                                                   \
    T d2 = A5 * v[1] - A1 * v[3] + A7 * v[5] + A3 * v[7];                                                   \
    T d3 = A7 * v[1] - A5 * v[3] + A3 * v[5] - A1 * v[7];                                                   \
    v[0] = OUT(e0 + d0);                                                                                    \
    v[7] = OUT(e0 - d0);                                                                                    \
    v[1] = OUT(e1 + d1);                                                                                    \
    v[6] = OUT(e1 - d1);                                                                                    \
    v[2] = OUT(e2 + d2);                                                                                    \
    v[5] = OUT(e2 - d2);                                                                                    \
    v[3] = OUT(e3 + d3);                                                                                    \
    v[4] = OUT(e3 - d3);

#define AS_IS(x) (x)
#define ROUNDED(x) (((x) + (1 << (FRACTION - 1))) >> FRACTION)

static inline __device__ void forward_eight(float *v) { FORWARD(float, C1, C2, C3, C4, C5, C6, C7, AS_IS) }
static inline __device__ void inverse_eight(float *v) { INVERSE(float, C1, C2, C3, C4, C5, C6, C7, AS_IS) }
static inline __device__ void forward_eight(int *v) { FORWARD(int, F1, F2, F3, F4, F5, F6, F7, ROUNDED) }
static inline __device__ void inverse_eight(int *v) { INVERSE(int, F1, F2, F3, F4, F5, F6, F7, ROUNDED) }

// Both passes over the tiles of a block. V is what a value is while it is computed with, S what it is stored as.
template <typename V, typename S, int ROWS, int STRIDE, bool BACK>
static inline __device__ void transform(S (*tile)[STRIDE], const S *__restrict__ from, S *__restrict__ to, int width) {
    // Thread x of tile y of row z of tiles.
    int left = threadIdx.y * 8, top = threadIdx.z * 8, lane = threadIdx.x;
    int corner = (blockIdx.y * ROWS + top) * width + blockIdx.x * WIDTH + left;
    V v[8];
#pragma unroll
    for (int i = 0; i < 8; i++) tile[top + i][left + lane] = from[corner + i * width + lane];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = tile[top + lane][left + i];
    if (BACK) inverse_eight(v); else forward_eight(v);
#pragma unroll
    for (int i = 0; i < 8; i++) tile[top + lane][left + i] = (S)v[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = tile[top + i][left + lane];
    if (BACK) inverse_eight(v); else forward_eight(v);
#pragma unroll
    for (int i = 0; i < 8; i++) to[corner + i * width + lane] = (S)v[i];
}
