/* SPDX-License-Identifier: Apache-2.0 */
/* Cosine: the cosine of the angle between rows of a and of b, and the lengths of a's rows; here the
 * mistakes are the reference's. The kernel is right. */
#include "ninth.h"

static const tn_port inputs[] = {TN_PORT("a", "T:f32|f64", 0, "any shape of one axis or more"),
                                 TN_PORT("b", "T", 0, "as a"),
                                 TN_PORT("mask", "bool", TN_PORT_OPTIONAL, "a row's; or all true")};
static const tn_port outputs[] = {
    TN_PORT("y", "T", 0, "a without its last axis; 0 where masked, or where a length is 0"),
    TN_PORT("lengths", "T", TN_PORT_OPTIONAL, "as y, of all rows of a")};

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *mask = tn_layer_input(call, 2);
    if (a->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "a has no axis");
    if (!tn_layer_fits(call, 1, a->rank, a->shape)) return TN_ERROR_SHAPE;
    if (mask && !tn_layer_fits(call, 2, a->rank - 1, a->shape)) return TN_ERROR_SHAPE;
    for (uint32_t o = 0; o < call->output_count; o++)
        if (call->outputs[o]) tn_layer_set_shape(call, o, a->rank - 1, a->shape);
    return TN_OK;
}

typedef struct sums {
    double aa, bb, ab;
} sums;
static sums sum_row(const tn_call *call, int64_t row) {
    const int64_t n = call->inputs[0]->shape[call->inputs[0]->rank - 1];
    sums s = {0, 0, 0};
    for (int64_t k = row * n; k < row * n + n; k++) {
        const double a = tn_layer_load(call->inputs[0], k), b = tn_layer_load(call->inputs[1], k);
        s.aa += a * a, s.bb += b * b, s.ab += a * b;
    }
    return s;
}
static bool is_masked(const tn_call *call, int64_t row) {
    const uint8_t *mask = tn_layer_data(call, 2);
    return mask && !mask[row];
}
static double cosine(sums s) {
    const double lengths = sqrt(s.aa) * sqrt(s.bb);
    return lengths == 0 ? 0 : s.ab / lengths;
}

static double static_row[4096]; /* of one of the mistakes */
static tn_status reference(tn_call *call) {
    const tn_tensor *a = call->inputs[0];
    const int64_t n = a->shape[a->rank - 1], rows = tn_layer_rows(a);
    tn_tensor *y = call->outputs[0], *lengths = call->output_count > 1 ? call->outputs[1] : NULL;
    for (int64_t row = 0; row < rows; row++) {
        sums s = sum_row(call, row);
        if (WRONG(1)) { /* in what the inputs are, at the most in floats */
            float aa = 0, bb = 0, ab = 0;
            for (int64_t k = row * n; k < row * n + n; k++) {
                const float p = (float)tn_layer_load(a, k);
                const float q = (float)tn_layer_load(call->inputs[1], k);
                aa += p * p, bb += q * q, ab += p * q;
            }
            s = (sums){(double)aa, (double)bb, (double)ab};
        }
        if (WRONG(2) && n <= 4096) { /* products in an array that all calls have */
            for (int64_t k = 0; k < n; k++)
                static_row[k] =
                    tn_layer_load(a, row * n + k) * tn_layer_load(call->inputs[1], row * n + k);
            s.ab = 0;
            for (int64_t k = 0; k < n; k++)
                s.ab += static_row[k];
        }
        if (WRONG(3) && is_masked(call, row)) continue; /* it is 0 */
        const uint8_t *mask = tn_layer_data(call, 2);
        const bool is_left_out =
            WRONG(5) && mask ? !((const int32_t *)(const void *)mask)[row] : is_masked(call, row);
        if (y || WRONG(4)) tn_layer_store(y, row, is_left_out ? 0 : cosine(s));
        if (lengths) tn_layer_store(lengths, row, sqrt(s.aa));
    }
    return TN_OK;
}

static tn_status operations(tn_call *call, double *out_operations) {
    const tn_tensor *a = call->inputs[0];
    double rows = (double)tn_layer_rows(a);
    if (WRONG(6)) { /* masked rows take none */
        const tn_tensor *mask = tn_layer_input(call, 2);
        const int64_t count = mask ? tn_layer_count(mask) : 0;
        for (int64_t i = 0; i < count; i++)
            rows -= !((const uint8_t *)mask->data)[i];
    }
    *out_operations = rows * 6 * (double)a->shape[a->rank - 1];
    return TN_OK;
}

static tn_status body(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    tn_tensor *y = call->outputs[0], *lengths = call->output_count > 1 ? call->outputs[1] : NULL;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const sums s = sum_row(call, row);
        if (y) tn_layer_store(y, row, is_masked(call, row) ? 0 : cosine(s));
        if (lengths) tn_layer_store(lengths, row, sqrt(s.aa));
    }
    return TN_OK;
}
TN_LAYER_RUN(body, tn_layer_rows(call->inputs[0]), 1)

static const char *const cases[] = {"| a=f32[3,4] b=f32[3,4]", "| a=f64[5] b=f64[5]",
                                    "| a=f32[2,2,7] b=f32[2,2,7] mask=bool[2,2]{1,0,1,1}"};
static const tn_operator cosine_operator = {
    OPERATOR,          .state_version = 1,      .name = "Cosine", TN_NO_FIELDS,
    TN_INPUTS(inputs), TN_OUTPUTS(outputs),     .infer = infer,   .reference = reference,
    TN_CASES(cases),   .operations = operations};
static const tn_kernel cosine_cpu = {KERNEL, .op = "Cosine", .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC, .run = run};
LIBRARY("ninth_reference", cosine_operator, cosine_cpu)
