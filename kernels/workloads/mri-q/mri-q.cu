// The Q matrix of non-Cartesian MRI reconstruction: for every voxel, the sum over all sampled trajectory
// points of |phi|^2 exp(2 pi i k.x).

#include "warpfile.h"

#define TWO_PI 6.2831853071795864769f
#define MAX_SAMPLES 1024

// Trajectory points and |phi|^2 there.
__constant__ float kx[MAX_SAMPLES], ky[MAX_SAMPLES], kz[MAX_SAMPLES], weight[MAX_SAMPLES];

// |phi|^2 of every trajectory point.
extern "C" __global__ void phi_magnitude(const float *phi_real, const float *phi_imaginary, float *magnitude,
                                         int count) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) {
        float re = phi_real[k], im = phi_imaginary[k];
        magnitude[k] = re * re + im * im;
    }
}

// One voxel a thread.
extern "C" __global__ void compute_q(int count, const float *x, const float *y, const float *z, float *q_real,
                                     float *q_imaginary, int voxels) {
    int voxel = blockIdx.x * blockDim.x + threadIdx.x;
    if (voxel >= voxels) return;

    float vx = x[voxel], vy = y[voxel], vz = z[voxel];
    float re = 0.0f, im = 0.0f;
#pragma unroll 2
    for (int k = 0; k < count; k++) {
        float angle = TWO_PI * (kx[k] * vx + ky[k] * vy + kz[k] * vz);
        re += weight[k] * cosf(angle);
        im += weight[k] * sinf(angle);
    }
    q_real[voxel] = re;
    q_imaginary[voxel] = im;
}
