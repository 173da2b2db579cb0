// Forward sums: what backprop and its variant have in common. PITCH is the distance of two rows of products, in words.

#define HIDDEN 16
#define ROW (HIDDEN + 1)

// partial[block][unit] = sum over the block's inputs of input * weight; products are left in `weighted`.
extern "C" __global__ void layer_forward(const float *input, const float *weights, float *weighted,
                                         float *partial) {
    __shared__ float node[HIDDEN];
    __shared__ float product[HIDDEN][PITCH];

    int tx = threadIdx.x, ty = threadIdx.y, by = blockIdx.y;
    int index = (HIDDEN * by + ty + 1) * ROW + tx + 1;

    if (tx == 0) node[ty] = input[HIDDEN * by + ty + 1];
    __syncthreads();
    product[ty][tx] = weights[index];
    __syncthreads();
    product[ty][tx] *= node[ty];
    __syncthreads();

    for (int pair = 2; pair <= HIDDEN; pair *= 2) {
        if (ty % pair == 0) product[ty][tx] += product[ty + pair / 2][tx];
        __syncthreads();
    }

    weighted[index] = product[ty][tx];
    if (ty == 0) partial[by * HIDDEN + tx] = product[0][tx];
}
