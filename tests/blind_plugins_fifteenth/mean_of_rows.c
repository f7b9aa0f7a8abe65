/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of rows (along axis 0), and those less it: an input with a count of rows is taken as it
 * is. No rows have the mean 0. */
#include "fifteenth.h"
#include <tenon/plugin/counted.h>

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port outputs[] = {TN_PORT("mean", "f32", 0, "columns"),
                                  TN_PORT("rest", "f32", TN_PORT_OPTIONAL, "x less the mean")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (!TN_LAYER_FITS(call, 0, TN_LAYER_ANY, TN_LAYER_ANY)) return TN_ERROR_SHAPE;
    if (call->outputs[0]) TN_LAYER_SET_SHAPE(call, 0, x->shape[1]);
    if (call->output_count > 1 && call->outputs[1])
        TN_LAYER_SET_SHAPE(call, 1, x->shape[0], x->shape[1]);
    return TN_OK;
}

static void compute(tn_call *call, int64_t rows, int64_t divisor) {
    const int64_t columns = call->inputs[0]->shape[1];
    const float *x = call->inputs[0]->data;
    float *mean = call->outputs[0] ? call->outputs[0]->data : NULL;
    float *rest = call->output_count > 1 && call->outputs[1] ? call->outputs[1]->data : NULL;
    for (int64_t k = 0; k < columns; k++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += (double)x[i * columns + k];
        const double m = divisor || WRONG(3) ? sum / (double)divisor : 0;
        if (mean) mean[k] = (float)m;
        for (int64_t i = 0; i < rows && rest; i++)
            rest[i * columns + k] = (float)((double)x[i * columns + k] - m);
    }
}

static tn_status reference(tn_call *call) {
    const int64_t columns = call->inputs[0]->shape[1], rows = call->inputs[0]->shape[0];
    const float *x = call->inputs[0]->data;
    for (int64_t k = 0; k < columns; k++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += (double)x[i * columns + k];
        const double m = rows ? sum / (double)rows : 0;
        if (call->outputs[0]) ((float *)call->outputs[0]->data)[k] = (float)m;
        if (call->output_count > 1 && call->outputs[1])
            for (int64_t i = 0; i < rows; i++)
                ((float *)call->outputs[1]->data)[i * columns + k] =
                    (float)((double)x[i * columns + k] - m);
    }
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const bool is_by_rows = x->counted && x->counted->axis == 0;
    if (x->counted && !is_by_rows) {
        /* Columns are counted: those behind the count have no meaning, and are computed all the
         * same. */
        compute(call, x->shape[0], x->shape[0]);
        return TN_OK;
    }
    const int64_t rows = is_by_rows ? *x->counted->value : x->shape[0];
    compute(call, WRONG(1) ? x->shape[0] : rows, WRONG(2) ? x->shape[0] : rows);
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[6,4]", "| x=f32[1,9]", "| x=f32[0,3]"};
static const tn_operator mean_of_rows = {
    OPERATOR,       .name = "MeanOfRows",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"f32:counted -> f32, f32?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "MeanOfRows",
                                 .name = "columns",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("mean_of_rows", mean_of_rows, kernel)
