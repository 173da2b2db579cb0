// White blood cells in an image: of each pixel how well a circle around it is one of a cell's edge, by the gradient across it
// (the squared mean over the variance, of the best of several radii), then the best of the pixels within a disc.

#include "warpfile.h"

#define POINTS 150
#define CIRCLES 7
// Pixels around those that are looked at.
#define MARGIN 22
#define ELEMENT_RADIUS 12
#define ELEMENT (2 * ELEMENT_RADIUS + 1)

// Of each point of a circle; where it lies for each of the circles.
__constant__ float sines[POINTS], cosines[POINTS];
__constant__ int across[CIRCLES * POINTS], down[CIRCLES * POINTS];
// Ones within a disc.
__constant__ unsigned char element[ELEMENT * ELEMENT];

// A block a column of pixels, a thread a pixel; the image's columns lie one after the other.
extern "C" __global__ void __launch_bounds__(256)
    gicov(const float *__restrict__ gradient_x, const float *__restrict__ gradient_y, float *__restrict__ scores,
          int circles) {
    int rows = blockDim.x, height = rows + 2 * MARGIN;
    int centre = (blockIdx.x + MARGIN) * height + threadIdx.x + MARGIN;
    float best = 0.0f;
    for (int circle = 0; circle < circles; circle++) {
        float mean = 0.0f, squares = 0.0f;
        for (int n = 0; n < POINTS; n++) {
            int point = circle * POINTS + n;
            int at = centre + across[point] * height + down[point];
            float outward = gradient_x[at] * cosines[n] + gradient_y[at] * sines[n];
            float delta = outward - mean;
            mean += __fdividef(delta, (float)(n + 1));
            squares += delta * (outward - mean);
        }
        // Where the image is even it is not a number, which is no better.
        float score = __fdividef(mean * mean, squares * (1.0f / (POINTS - 1)));
        if (score > best) best = score;
    }
    scores[blockIdx.x * rows + threadIdx.x] = best;
}

// A thread a pixel.
extern "C" __global__ void __launch_bounds__(176)
    dilate(const float *__restrict__ scores, float *__restrict__ dilated, int columns, int rows, int radius) {
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    int column = pixel / rows, row = pixel - column * rows;
    if (column >= columns) return;
    float best = 0.0f;
    for (int i = -radius; i <= radius; i++) {
        int y = row + i;
        if (y < 0 || y >= rows) continue;
        for (int j = -radius; j <= radius; j++) {
            int x = column + j;
            if (x < 0 || x >= columns || element[(i + ELEMENT_RADIUS) * ELEMENT + j + ELEMENT_RADIUS] == 0) continue;
            best = fmaxf(best, scores[x * rows + y]);
        }
    }
    dilated[pixel] = best;
}
