/* SPDX-License-Identifier: Apache-2.0 */
/* The overlap of each box with each: intersection over union, 0 where the union is empty. Corners
 * may come in any order. */
#include "sixteenth.h"

enum { CORNERS, CENTER };
TN_LAYER_PARAMS(params, uint32_t format;);
static const tn_field fields[] = {
    TN_FIELD_CHOICE(params, format, TN_FIELD_ENUM, TN_OPTIONAL, "corners", "corners|center",
                    "x0 y0 x1 y1, or the center and the extents"),
};
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "boxes, 4"),
                                 TN_PORT("b", "f32", 0, "boxes, 4")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "boxes of a, boxes of b")};

static tn_status infer(tn_call *call) {
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, 4) || !TN_LAYER_FITS(call, 1, TN_LAYER_ANY, 4))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, call->inputs[0]->shape[0], call->inputs[1]->shape[0]);
}

/* Where a box begins and ends along an axis. */
static void side(const float *box, uint32_t format, int axis, double *low, double *high) {
    double first = (double)box[axis], second = (double)box[axis + 2];
    if (format == CENTER) {
        const double center = first, half = second / 2;
        first = center - half;
        second = center + half;
    }
    *low = first < second ? first : second;
    *high = first < second ? second : first;
}

static double overlap(const float *a, const float *b, uint32_t format, bool is_kernel) {
    double common = 1, area_a = 1, area_b = 1;
    for (int axis = 0; axis < 2; axis++) {
        double a_low, a_high, b_low, b_high;
        side(a, format, axis, &a_low, &a_high);
        side(b, format, axis, &b_low, &b_high);
        const double length = (a_high < b_high ? a_high : b_high) - (a_low > b_low ? a_low : b_low);
        common *= length < 0 && !(is_kernel && WRONG(2)) ? 0 : length;
        area_a *= a_high - a_low;
        area_b *= b_high - b_low;
    }
    const double whole = area_a + area_b - common;
    if (whole == 0 && !(is_kernel && WRONG(1))) return 0;
    return common / whole;
}

static double element(const tn_call *call, int64_t i) {
    const int64_t n = call->inputs[1]->shape[0];
    return overlap((const float *)call->inputs[0]->data + i / n * 4,
                   (const float *)call->inputs[1]->data + i % n * 4,
                   ((const params *)call->params)->format, false);
}
TN_LAYER_REFERENCE(element)

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const int64_t n = call->inputs[1]->shape[0], apart = WRONG(3) ? call->inputs[0]->shape[0] : n;
    const params *p = call->kernel_params;
    float *y = call->outputs[0]->data;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < n; k++)
            y[i * apart + k] =
                (float)overlap((const float *)call->inputs[0]->data + 4 * i,
                               (const float *)call->inputs[1]->data + 4 * k, p->format, true);
    return TN_OK;
}
TN_LAYER_RUN(rows, call->inputs[0]->shape[0], 4)

static const tn_field kernel_fields[] = {
    TN_FIELD_CHOICE(params, format, TN_FIELD_ENUM, TN_OPTIONAL, "corners",
                    WRONG(4) ? "center|corners" : "corners|center", "as the operator's"),
};
static const char *const cases[] = {
    "| a=f32[2,4]{0,0,2,2,1,1,1,1} b=f32[3,4]{1,1,3,3,1,1,1,1,5,6,4,5}",
    "format=center | a=f32[1,4]{0,0,2,2} b=f32[2,4]{1,1,2,2,-3,-3,1,1}",
    "| a=f32[5,4] b=f32[7,4]",
};
TN_LAYER_LIBRARY("box_overlap", "Sixteenth", "BoxOverlap", "Intersection over union.", params,
                 "f32, f32 -> f32", .run = run, TN_FIELDS(params, kernel_fields))
