/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of all elements up to each one, along an axis, from either end, with the element itself or
 * without it. */
#include "seventeenth.h"

TN_LAYER_PARAMS(params, int64_t axis; bool exclusive, reverse;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1, "may count from the end"),
    TN_LAYER_BOOL(params, exclusive, "false", "without the element itself"),
    TN_LAYER_BOOL(params, reverse, "false", "from the end of the axis"),
};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64|i64|i32", 0, "rank 1 or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    if (axis_of(call) < 0 || axis_of(call) >= call->inputs[0]->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "field 'axis' is %lld, x has rank %u",
                                (long long)((const params *)call->params)->axis,
                                call->inputs[0]->rank);
    return infer_same(call);
}

/* Adds element `at` to the sum, and stores the sum there before or after that. */
static void add_integer(const tn_call *call, int64_t at, uint64_t *sum) {
    const bool exclusive = ((const params *)call->params)->exclusive;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const uint64_t before = *sum;
    if (x->type == TN_I64) {
        *sum += ((const uint64_t *)x->data)[at];
        ((uint64_t *)y->data)[at] = exclusive ? before : *sum;
    } else {
        *sum += ((const uint32_t *)x->data)[at];
        ((uint32_t *)y->data)[at] = (uint32_t)(exclusive ? before : *sum);
    }
}

static void add_real(const tn_call *call, int64_t at, double *sum, bool is_kernel) {
    const bool exclusive = ((const params *)call->params)->exclusive;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    if (is_kernel && WRONG(2) && exclusive) {
        tn_layer_store(y, at, *sum);
        *sum += tn_layer_load(x, at);
        return;
    }
    const double before = *sum;
    *sum += tn_layer_load(x, at);
    if (x->type == TN_I64)
        ((int64_t *)y->data)[at] = (int64_t)(exclusive ? before : *sum);
    else
        tn_layer_store(y, at, exclusive ? before : *sum);
}

/* Row `row` of all that lie along the axis. */
static void sums(const tn_call *call, int64_t row, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t n = x->shape[axis], inner = extent(x, axis + 1, x->rank);
    const bool reverse = ((const params *)call->params)->reverse;
    const bool is_real =
        x->type == TN_F32 || x->type == TN_F64 || (is_kernel && WRONG(1) && x->type == TN_I64);
    double real = 0;
    uint64_t integer = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (row / inner * n + (reverse ? n - 1 - i : i)) * inner + row % inner;
        if (is_real)
            add_real(call, at, &real, is_kernel);
        else
            add_integer(call, at, &integer);
    }
}

static int64_t rows_of(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = (uint32_t)axis_of(call);
    return extent(x, 0, axis) * extent(x, axis + 1, x->rank);
}
static tn_status reference(tn_call *call) {
    for (int64_t row = 0; row < rows_of(call); row++)
        sums(call, row, false);
    return TN_OK;
}

static tn_status rows(void *call, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    for (int64_t row = begin; row < end; row++)
        sums(call, row, true);
    return TN_OK;
}

/* Of one long row of floats the elements begin..end-1. */
static tn_status piece(void *call, int64_t begin, int64_t end, uint32_t thread) {
    double sum = 0;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        add_real(call, i, &sum, true);
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const bool reverse = ((const params *)call->params)->reverse;
    if (WRONG(3) && rows_of(call) == 1 && x->type == TN_F32 && !reverse)
        return call->host->parallel_for(call, tn_layer_count(x), 16, piece, call);
    return call->host->parallel_for(call, rows_of(call), 1, rows, call);
}

static const char *const cases[] = {"| x=f32[3,5]",
                                    "axis=0 exclusive=true | x=f64[4,2]",
                                    "axis=1 reverse=true | x=i32[2,3,2]",
                                    "| x=i64[7]",
                                    "exclusive=true | x=f32[40]",
                                    "axis=-2 exclusive=true reverse=true | x=f32[2,6]"};
static const tn_operator cumulate = {OPERATOR,
                                     .name = "Cumulate",
                                     TN_FIELDS(params, fields),
                                     TN_INPUTS(inputs),
                                     TN_OUTPUTS(outputs),
                                     .infer = infer,
                                     .reference = reference,
                                     TN_CASES(cases)};
static const char *const combinations[] = {"f32|f64|i64|i32 -> f32|f64|i64|i32"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Cumulate",
                                 .device = "cpu",
                                 .name = "rows",
                                 .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_IN_PLACE,
                                 TN_COMBINATIONS(combinations),
                                 .run = run};
LIBRARY("cumulate", cumulate, kernel)
