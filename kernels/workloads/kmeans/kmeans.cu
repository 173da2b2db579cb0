// k-means clustering: every point joins the cluster with the nearest centre, then every centre moves to the mean
// of its points. Features are stored feature by feature, so that neighbouring threads read neighbouring words.

#include "warpfile.h"

#define MOST_CENTRES 1024
#define THREADS 64

// Centre by centre.
__constant__ float centres[MOST_CENTRES];

// From point by point to feature by feature, one point a thread.
extern "C" __global__ void transpose(const float *by_point, float *by_feature, int points, int features) {
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < points)
        for (int f = 0; f < features; f++) by_feature[f * points + point] = by_point[point * features + f];
}

// One point a thread.
extern "C" __global__ void assign(const float *by_feature, int *membership, int points, int features,
                                  int clusters) {
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points) return;

    int nearest = 0;
    float least = 3.4e38f;
    for (int cluster = 0; cluster < clusters; cluster++) {
        float distance = 0.0f;
#pragma unroll 1
        for (int f = 0; f < features; f++) {
            float difference = by_feature[f * points + point] - centres[cluster * features + f];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            nearest = cluster;
        }
    }
    membership[point] = nearest;
}

// One feature of one centre a block. A cluster without points keeps its centre.
extern "C" __global__ void update(const float *by_feature, const int *membership, float *moved, int points,
                                  int features) {
    __shared__ float sum[THREADS];
    __shared__ int count[THREADS];

    int cluster = blockIdx.x, feature = blockIdx.y, t = threadIdx.x;
    float own_sum = 0.0f;
    int own_count = 0;
#pragma unroll 1
    for (int point = t; point < points; point += THREADS) {
        if (membership[point] == cluster) {
            own_sum += by_feature[feature * points + point];
            own_count++;
        }
    }
    sum[t] = own_sum;
    count[t] = own_count;
    __syncthreads();

    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            sum[t] += sum[t + half];
            count[t] += count[t + half];
        }
        __syncthreads();
    }
    if (t == 0 && count[0] > 0) moved[cluster * features + feature] = sum[0] / (float)count[0];
}
