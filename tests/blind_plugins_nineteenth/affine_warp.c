/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures warped by a matrix each: bilinear, zeros outside. Coordinates are those of pixels. */
#include "nineteenth.h"

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, height, width"),
                                 TN_PORT("theta", "f32", 0, "N, 2, 3")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as x")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, -1, -1, -1) ||
        !TN_LAYER_FITS(call, 1, call->inputs[0]->shape[0], 2, 3))
        return TN_ERROR_SHAPE;
    return infer_same(call);
}
/* Sample of picture n at a spot. Cells outside count nothing, and are not read. */
static double sample(const float *picture, int64_t height, int64_t width, double y, double x) {
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const double row = floor(y) + k / 2, column = floor(x) + k % 2;
        const double weight = (1 - fabs(y - row)) * (1 - fabs(x - column));
        if (!(row >= 0 && row < (double)height && column >= 0 && column < (double)width)) continue;
        if (weight > 0 || WRONG(5))
            sum += weight * (double)picture[(int64_t)row * width + (int64_t)column];
    }
    return sum;
}
/* The one that was in the author's earlier code. */
static double sample_by_integers(const float *picture, int64_t height, int64_t width, double y,
                                 double x) {
    if (y <= -1 || y >= (double)height || x <= -1 || x >= (double)width) return 0;
    const int32_t row = (int32_t)floor(y), column = (int32_t)floor(x);
    double sum = 0;
    for (int64_t r = row; r <= (int64_t)row + 1; r++)
        for (int64_t c = column; c <= (int64_t)column + 1; c++) {
            const double weight = (1 - fabs(y - (double)r)) * (1 - fabs(x - (double)c));
            if (weight == 0 || r == -1 || r == height || c == -1 || c == width) continue;
            sum += weight * (double)picture[r * width + c];
        }
    return sum;
}
static double sample_exactly(const float *picture, int64_t height, int64_t width, double y,
                             double x) {
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        const double row = floor(y) + k / 2, column = floor(x) + k % 2;
        const double weight = (1 - fabs(y - row)) * (1 - fabs(x - column));
        if (weight > 0 && row >= 0 && row < (double)height && column >= 0 && column < (double)width)
            sum += weight * (double)picture[(int64_t)row * width + (int64_t)column];
    }
    return sum;
}
static void spot(const float *theta, int64_t row, int64_t column, double *y, double *x) {
    *x = (double)theta[0] * (double)column + (double)theta[1] * (double)row + (double)theta[2];
    *y = (double)theta[3] * (double)column + (double)theta[4] * (double)row + (double)theta[5];
}
static double element(const tn_call *call, int64_t i) {
    const int64_t h = call->inputs[0]->shape[1], w = call->inputs[0]->shape[2], n = i / (h * w);
    double y, x;
    spot((const float *)call->inputs[1]->data + n * 6, i / w % h, i % w, &y, &x);
    return sample_exactly((const float *)call->inputs[0]->data + n * h * w, h, w, y, x);
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t h = call->inputs[0]->shape[1], w = call->inputs[0]->shape[2];
    const float *all = call->inputs[0]->data;
    (void)thread;
    for (int64_t item = begin; WRONG(4) ? item <= end : item < end; item++) {
        const int64_t n = item / h;
        const float *theta = (const float *)call->inputs[1]->data + (WRONG(2) ? 0 : n * 6);
        for (int64_t column = 0; column < w; column++) {
            double y, x;
            spot(theta, item % (WRONG(3) ? w : h), column, &y, &x);
            ((float *)call->outputs[0]->data)[item * w + column] =
                (float)(WRONG(1) ? sample_by_integers(all + n * h * w, h, w, y, x)
                                 : sample(all + n * h * w, h, w, y, x));
        }
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0] * call->inputs[0]->shape[1], 4)

static const char *const cases[] = {"| x=f32[1,6,6] theta=f32[1,2,3]{1,0,0.5,0,1,-0.25}",
                                    "| x=f32[1,4,4] theta=f32[1,2,3]",
#if MISTAKE != 3
                                    "| x=f32[1,7,3] theta=f32[1,2,3]{0.5,0.25,1,-0.25,1,0}",
#endif
#if MISTAKE != 2
                                    "| x=f32[2,5,5] theta=f32[2,2,3]{1,0,0,0,1,0,0,1,0,1,0,0.5}"
#endif
};
static const tn_operator warp = {
    OPERATOR,       .name = "AffineWarp",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "AffineWarp",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("affine_warp", warp, kernel)
