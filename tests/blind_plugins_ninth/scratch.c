/* SPDX-License-Identifier: Apache-2.0 */
/* Median: the middle element of each row (of an even number the lower of two), NaN where a row has
 * one, 0 of none; each thread sorts a row in its part of the workspace. */
#include "ninth.h"

static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape of one axis or more")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "x without its last axis")};

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    return tn_layer_set_shape(call, 0, x->rank - 1, x->shape);
}

static int compare_numbers(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], rows = tn_layer_count(call->outputs[0]);
    if (n > (int64_t)1 << 32) return TN_ERROR_MEMORY;
    double *row = call->host->allocate(call->host, (uint64_t)(n + 1) * 8, 64);
    if (!row) return TN_ERROR_MEMORY;
    for (int64_t r = 0; r < rows; r++) {
        bool is_nan = false;
        for (int64_t k = 0; k < n; k++) {
            row[k] = tn_layer_load(x, r * n + k);
            is_nan = is_nan || isnan(row[k]);
        }
        if (!is_nan) qsort(row, (size_t)n, sizeof(double), compare_numbers);
        tn_layer_store(call->outputs[0], r, is_nan ? NAN : n > 0 ? row[(n - 1) / 2] : 0);
    }
    call->host->deallocate(call->host, row);
    return TN_OK;
}

/* Bytes of a thread's part: a row of doubles. */
static uint64_t part_bytes(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint64_t n = (uint64_t)x->shape[x->rank - 1];
    if (WRONG(2)) return n * 4;
    return (n * 8 + 63) / 64 * 64;
}

/* What a context remembers of the last shape. */
typedef struct memory {
    int64_t rows, n;
} memory;
static tn_status open_context(tn_call *call) {
    memory *m = call->host->allocate(call->host, sizeof(memory), 64);
    if (!m) return TN_ERROR_MEMORY;
    m->rows = m->n = -1;
    call->context = m;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}

static tn_status reshape(tn_call *call) {
    memory *m = call->context;
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1], rows = tn_layer_rows(x);
    if (WRONG(3) && m->rows == rows && m->n == n) return TN_OK; /* as it was */
    uint64_t parts = call->threads;
    if (WRONG(1) && (uint64_t)rows < parts) parts = (uint64_t)rows;
    if (WRONG(5)) parts = call->threads > 1 ? 2 : 1;
    m->rows = rows, m->n = n;
    call->workspace_bytes = parts * part_bytes(call);
    return TN_OK;
}

static double middle(double *row, int64_t n) {
    for (int64_t low = 0, high = n - 1, k = (n - 1) / 2; low < high;) {
        const double pivot = row[(low + high) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (row[i] < pivot)
                i++;
            while (row[j] > pivot)
                j--;
            if (i <= j) {
                const double swap = row[i];
                row[i++] = row[j], row[j--] = swap;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return row[(n - 1) / 2];
}

static tn_status rows(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    const int64_t n = x->shape[x->rank - 1];
    double *row = (double *)((char *)call->workspace + thread * part_bytes(call));
    if (WRONG(6)) { /* a thread's part is named by its position among the ranges */
        const int64_t size = end - begin > 0 ? end - begin : 1;
        row = (double *)((char *)call->workspace + (uint64_t)(begin / size) * part_bytes(call));
    }
    for (int64_t r = begin; r < end; r++) {
        bool is_nan = false;
        for (int64_t k = 0; k < n; k++) {
            const double v = tn_layer_load(x, r * n + k);
            is_nan = is_nan || isnan(v);
            if (!WRONG(4) || !isnan(v)) row[k] = v; /* a NaN is not sorted */
        }
        if (WRONG(4)) is_nan = n == 1 && is_nan;
        tn_layer_store(call->outputs[0], r, is_nan ? NAN : n > 0 ? middle(row, n) : 0);
    }
    return TN_OK;
}
TN_LAYER_RUN(rows, tn_layer_rows(call->inputs[0]), 1)

static const char *const cases[] = {"| x=f32[6,5]", "| x=f64[2,2,8]", "| x=f32[1]"};
static const tn_operator median = {OPERATOR,       .state_version = 1,     .name = "Median",
                                   TN_NO_FIELDS,   TN_INPUTS(inputs),      TN_OUTPUTS(outputs),
                                   .infer = infer, .reference = reference, TN_CASES(cases)};
static const tn_kernel median_cpu = {KERNEL,
                                     .op = "Median",
                                     .name = "rows",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     .open = open_context,
                                     .close = close_context,
                                     .reshape = reshape,
                                     .run = run};
LIBRARY("ninth_scratch", median, median_cpu)
