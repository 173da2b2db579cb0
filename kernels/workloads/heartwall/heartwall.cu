// Follows points through a film by template matching: a block is a point. What it looked like is searched for
// around the place where it was, by normalised cross-correlation; where it is found, the memory of it is refreshed.
//
// One kernel of many phases: strided loops over rectangles with row and column by division, conditions at the edges
// of the picture and of the window, sums by few threads or one, barriers between all of them.

#include "warpfile.h"

#define MOST_TEMPLATE 9
#ifndef MOST_REACH
#define MOST_REACH 6
#endif
#define MOST_WINDOW (MOST_TEMPLATE + 2 * MOST_REACH)
#define MOST_PLACES (2 * MOST_REACH + 1)

// The camera moves over a still picture, one pixel down and two to the right a frame; it sees `side` pixels each
// way. `side_of_template` is odd. The first frame only takes the templates.
extern "C" __global__ void track(const unsigned char *picture, int stride, int side, int number, int *templates,
                                 int *row, int *column, float *quality, int side_of_template, int reach,
                                 float good_enough) {
    __shared__ int cell[MOST_TEMPLATE * MOST_TEMPLATE];
    // Sums over all pixels above and to the left, exclusive; a row and a column of zeros first.
    __shared__ int sum[MOST_WINDOW + 1][MOST_WINDOW + 1], square[MOST_WINDOW + 1][MOST_WINDOW + 1];
    __shared__ int window[MOST_WINDOW * MOST_WINDOW];
    __shared__ float matches[MOST_PLACES * MOST_PLACES];
    __shared__ float best_of_row[MOST_PLACES];
    __shared__ int column_of_best[MOST_PLACES];
    __shared__ int part_of_sum[MOST_TEMPLATE], part_of_square[MOST_TEMPLATE];
    __shared__ int template_sum, template_square, found_row, found_column;
    __shared__ float found;

    int t = threadIdx.x, threads = blockDim.x;
    const unsigned char *frame = picture + number * (stride + 2);
    int cells = side_of_template * side_of_template;
    int *own_template = templates + blockIdx.x * cells;
    int centre_row = row[blockIdx.x], centre_column = column[blockIdx.x];
    int half = side_of_template / 2;

    if (number == 0) {
        for (int i = t; i < cells; i += threads) {
            int r = centre_row - half + i / side_of_template;
            int c = centre_column - half + i % side_of_template;
            if (r < 0 || r >= side || c < 0 || c >= side)
                own_template[i] = 0;
            else
                own_template[i] = frame[r * stride + c];
        }
        return;
    }

    for (int i = t; i < cells; i += threads) cell[i] = own_template[i];

    // The window, black beyond the edges of the picture.
    int width = side_of_template + 2 * reach;
    for (int i = t; i < width * width; i += threads) {
        int r = centre_row - half - reach + i / width;
        int c = centre_column - half - reach + i % width;
        if (r < 0 || r >= side || c < 0 || c >= side)
            window[i] = 0;
        else
            window[i] = frame[r * stride + c];
    }
    __syncthreads();

    // Sums down the columns, then along the rows.
    if (t <= width) {
        int total = 0, total_of_squares = 0;
        sum[0][t] = 0;
        square[0][t] = 0;
        for (int r = 0; r < width; r++) {
            if (t > 0) {
                int pixel = window[r * width + t - 1];
                total += pixel;
                total_of_squares += pixel * pixel;
            }
            sum[r + 1][t] = total;
            square[r + 1][t] = total_of_squares;
        }
    }
    if (t < side_of_template) {
        int total = 0, total_of_squares = 0;
        for (int c = 0; c < side_of_template; c++) {
            int pixel = cell[t * side_of_template + c];
            total += pixel;
            total_of_squares += pixel * pixel;
        }
        part_of_sum[t] = total;
        part_of_square[t] = total_of_squares;
    }
    __syncthreads();

    if (t <= width) {
        for (int c = 1; c <= width; c++) {
            sum[t][c] += sum[t][c - 1];
            square[t][c] += square[t][c - 1];
        }
    } else if (t == threads - 1) {
        template_sum = 0;
        template_square = 0;
        for (int r = 0; r < side_of_template; r++) {
            template_sum += part_of_sum[r];
            template_square += part_of_square[r];
        }
    }
    __syncthreads_and_reload();

    // The correlation at every place.
    int places = 2 * reach + 1;
    for (int place = t; place < places * places; place += threads) {
        int top = place / places, left = place % places;
        int cross = 0;
        for (int r = 0; r < side_of_template; r++)
            for (int c = 0; c < side_of_template; c++)
                cross += cell[r * side_of_template + c] * window[(top + r) * width + left + c];

        int bottom = top + side_of_template, right = left + side_of_template;
        int here = sum[bottom][right] - sum[top][right] - sum[bottom][left] + sum[top][left];
        int squares = square[bottom][right] - square[top][right] - square[bottom][left] + square[top][left];
        float variance = (float)(cells * squares - here * here);
        float template_variance = (float)(cells * template_square - template_sum * template_sum);
        float covariance = (float)(cells * cross - here * template_sum);
        if (variance > 0.0f && template_variance > 0.0f)
            matches[place] = covariance / (sqrtf(variance) * sqrtf(template_variance));
        else
            matches[place] = 0.0f;
    }
    __syncthreads();

    // The best of every row, then of all.
    if (t < places) {
        float best = -2.0f;
        int at = 0;
        for (int c = 0; c < places; c++) {
            float match = matches[t * places + c];
            if (match > best) {
                best = match;
                at = c;
            }
        }
        best_of_row[t] = best;
        column_of_best[t] = at;
    }
    __syncthreads();

    if (t == 0) {
        float best = -2.0f;
        int at = 0;
        for (int r = 0; r < places; r++) {
            if (best_of_row[r] > best) {
                best = best_of_row[r];
                at = r;
            }
        }
        found = best;
        found_row = at;
        found_column = column_of_best[at];
        row[blockIdx.x] = centre_row - reach + found_row;
        column[blockIdx.x] = centre_column - reach + found_column;
        quality[blockIdx.x] = best;
    }
    __syncthreads_and_reload();

    // What is found refreshes the template; a bad match does not.
    if (found >= good_enough) {
        for (int i = t; i < cells; i += threads) {
            int r = found_row + i / side_of_template;
            int c = found_column + i % side_of_template;
            own_template[i] = (3 * cell[i] + window[r * width + c]) / 4;
        }
    }
}
