// The Q matrix of non-Cartesian MRI reconstruction: for every voxel, the sum over all sampled trajectory
// points of |phi|^2 exp(2 pi i k.x).

#include "warpfile.h"

#define TWO_PI 6.2831853071795864769f
#define MAX_SAMPLES 1024

// A trajectory point and |phi|^2 there.
struct __attribute__((aligned(16))) Sample {
    float x, y, z, weight;
};

__constant__ Sample samples[MAX_SAMPLES];

// Weights of the trajectory points; the host copies the result to `samples`.
extern "C" __global__ void weigh(const float *kx, const float *ky, const float *kz, const float *phi_real,
                                 const float *phi_imaginary, Sample *weighed, int count) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) {
        float re = phi_real[k], im = phi_imaginary[k];
        Sample sample = {kx[k], ky[k], kz[k], re * re + im * im};
        weighed[k] = sample;
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
        Sample sample = samples[k];
        float angle = TWO_PI * (sample.x * vx + sample.y * vy + sample.z * vz);
        re += sample.weight * cosf(angle);
        im += sample.weight * sinf(angle);
    }
    q_real[voxel] = re;
    q_imaginary[voxel] = im;
}
