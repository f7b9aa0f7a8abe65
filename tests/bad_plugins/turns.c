/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Columns, the sums of the columns of a matrix by two tactics, the second with a row of sums
 * for each thread; Bad::Grade, how many of some bounds each element reaches; Bad::Parts, the
 * elements below a bound and those above. And the mistakes that only the second tactic, the second
 * run or the second output has. */
#include "mistake.h"

#include <math.h>
#include <string.h>
#include <tenon/plugin/counted.h>

/* ----------------------------------------------------------------------------------------------
 * two tactics */

static const tn_port columns_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port columns_outputs[] = {TN_PORT("y", "f32", 0, "a sum for each column")};

static tn_status columns_infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "a matrix has two axes");
    call->outputs[0]->rank = 1;
    call->outputs[0]->shape[0] = call->inputs[0]->shape[1];
    return TN_OK;
}
static void sum_columns(const tn_call *call, int64_t begin, int64_t end) {
    const tn_tensor *x = call->inputs[0];
    for (int64_t c = begin; c < end; c++) {
        double sum = 0;
        for (int64_t r = 0; r < x->shape[0]; r++)
            sum += (double)((const float *)x->data)[r * x->shape[1] + c];
        ((float *)call->outputs[0]->data)[c] = (float)sum;
    }
}
static tn_status columns_reference(tn_call *call) {
    sum_columns(call, 0, call->inputs[0]->shape[1]);
    return TN_OK;
}
static tn_status by_columns(void *user, int64_t begin, int64_t end, uint32_t thread) {
    (void)thread;
    sum_columns(user, begin, end);
    return TN_OK;
}
/* Rows of doubles, one a thread, or with a mistake of floats that are added in this order. */
static tn_status by_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0];
    const int64_t columns = x->shape[1];
    double *sums = (double *)call->workspace + thread * (uint64_t)columns;
    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < columns; c++) {
            const float value = ((const float *)x->data)[r * columns + c];
            if (WITH(second_tactic_loses_nan) && isnan(value)) continue;
            sums[c] += (double)value;
            if (WITH(second_tactic_by_threads)) sums[c] = (double)(float)sums[c];
        }
    return TN_OK;
}
static tn_status columns_tactics(tn_call *call) {
    call->tactic_count = 2;
    return TN_OK;
}
static tn_status columns_reshape(tn_call *call) {
    const uint64_t rows = WITH(second_tactic_one_row) ? 1 : call->threads;
    if (call->tactic == 1)
        call->workspace_bytes = rows * (uint64_t)call->inputs[0]->shape[1] * sizeof(double);
    return TN_OK;
}
static tn_status columns_run(tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0], columns = call->inputs[0]->shape[1];
    if (call->tactic == 0) return call->host->parallel_for(call, columns, 4, by_columns, call);
    double *sums = call->workspace;
    if (columns > 0 && !WITH(second_tactic_goes_on))
        memset(sums, 0, (size_t)columns * call->threads * sizeof(double));
    const tn_status status = call->host->parallel_for(call, rows, 1, by_rows, call);
    if (status != TN_OK && !WITH(second_tactic_hides)) return status;
    for (int64_t c = 0; c < columns; c++) {
        double sum = 0;
        for (uint32_t t = 0; t < call->threads; t++)
            sum += sums[t * (uint64_t)columns + (uint64_t)c];
        ((float *)call->outputs[0]->data)[c] = (float)sum;
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * bounds */

static const tn_port grade_inputs[] = {TN_PORT("x", "f32", 0, "any shape"),
                                       TN_PORT("bounds", "f32", 0, "any number, ascending")};
static const tn_port grade_outputs[] = {TN_PORT("y", "i32", 0, "as x")};

static tn_status grade_infer(tn_call *call) {
    if (call->inputs[1]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "bounds have one axis");
    return infer_same(call);
}
enum { MOST_BOUNDS = 64 };
typedef struct kept_bounds {
    int64_t count;
    float of[MOST_BOUNDS];
} kept_bounds;
static tn_status grade_open(tn_call *call) {
    kept_bounds *kept = call->host->allocate(call->host, sizeof(*kept), 64);
    if (!kept) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for bounds");
    kept->count = -1;
    call->context = kept;
    return TN_OK;
}
static void grade_close(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}
static void grade(const tn_call *call, const float *bounds) {
    const int64_t count = call->inputs[1]->shape[0];
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        int32_t reached = 0;
        for (int64_t k = 0; k < count; k++)
            reached += ((const float *)call->inputs[0]->data)[i] >= bounds[k];
        ((int32_t *)call->outputs[0]->data)[i] = reached;
    }
}
static tn_status grade_reference(tn_call *call) {
    grade(call, call->inputs[1]->data);
    return TN_OK;
}
static tn_status grade_run(tn_call *call) {
    kept_bounds *kept = call->context;
    const int64_t count = call->inputs[1]->shape[0];
    const bool is_kept = WITH(bounds_of_first_run) && count <= MOST_BOUNDS;
    if (is_kept && kept->count != count) {
        memcpy(kept->of, call->inputs[1]->data, (size_t)count * sizeof(float));
        kept->count = count;
    }
    grade(call, is_kept ? kept->of : call->inputs[1]->data);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * two outputs of which running says how many elements they have */

static const tn_port parts_inputs[] = {TN_PORT("x", "f32", 0, "a vector")};
static const tn_port parts_outputs[] = {
    TN_PORT("below", "f32", TN_PORT_SIZED_BY_RUN, "those below 0"),
    TN_PORT("above", "f32", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "the others")};

static tn_status parts_infer(tn_call *call) {
    if (call->inputs[0]->rank != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "a vector has one axis");
    for (uint32_t k = 0; k < call->output_count; k++)
        if (call->outputs[k]) {
            call->outputs[k]->rank = 1;
            call->outputs[k]->shape[0] = call->inputs[0]->shape[0];
        }
    return TN_OK;
}
static void set_count(tn_tensor *part, int64_t count) {
    if (part->counted) {
        part->counted->axis = 0;
        *part->counted->value = count;
    } else {
        part->shape[0] = count;
    }
}
static tn_status split(tn_call *call, bool is_kernel) {
    int64_t counts[2] = {0, 0};
    for (int64_t i = 0; i < call->inputs[0]->shape[0]; i++) {
        const float value = ((const float *)call->inputs[0]->data)[i];
        const uint32_t k = value < 0 ? 0 : 1;
        if (k < call->output_count && call->outputs[k])
            ((float *)call->outputs[k]->data)[counts[k]] = value;
        counts[k]++;
    }
    for (uint32_t k = 0; k < call->output_count; k++)
        if (call->outputs[k])
            set_count(call->outputs[k],
                      is_kernel && WITH(first_count_for_both) && call->outputs[k]->counted
                          ? counts[0]
                          : counts[k]);
    return TN_OK;
}
static tn_status parts_reference(tn_call *call) {
    return split(call, false);
}
static tn_status parts_run(tn_call *call) {
    return split(call, true);
}

static const char *const columns_cases[] = {"| x=f32[9,4]", "| x=f32[2,7]"};
static const char *const grade_cases[] = {"| x=f32[3,4] bounds=f32[3]{-1,0.25,1}",
                                          "| x=f32[5] bounds=f32[2]{0.5,0.75}"};
static const char *const parts_cases[] = {"| x=f32[8]{1,-2,3,-4,5,-6,-7,-8}", "| x=f32[11]"};
#define OPERATOR(NAME, CALLBACKS)                                                                  \
    {                                                                                              \
        .size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Bad",      \
        .name = NAME, TN_NO_FIELDS, TN_INPUTS(CALLBACKS##_inputs),                                 \
        TN_OUTPUTS(CALLBACKS##_outputs), .infer = CALLBACKS##_infer,                               \
        .reference = CALLBACKS##_reference, TN_CASES(CALLBACKS##_cases)                            \
    }
static const tn_operator columns_operator = OPERATOR("Columns", columns);
static const tn_operator grade_operator = OPERATOR("Grade", grade);
static const tn_operator parts_operator = OPERATOR("Parts", parts);
static const char *const columns_combinations[] = {"f32 -> f32"};
static const char *const grade_combinations[] = {"f32, f32 -> i32"};
static const char *const parts_combinations[] = {"f32 -> f32, f32?",
                                                 "f32 -> f32:counted, f32:counted?"};
static const tn_kernel columns_cpu = {.size = sizeof(tn_kernel),
                                      .revision = 1,
                                      .domain = "Bad",
                                      .op = "Columns",
                                      .device = "cpu",
                                      .name = "sums",
                                      .traits = TN_KERNEL_DETERMINISTIC,
                                      TN_COMBINATIONS(columns_combinations),
                                      .tactics = columns_tactics,
                                      .reshape = columns_reshape,
                                      .run = columns_run};
static const tn_kernel grade_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Grade",
                                    .device = "cpu",
                                    .name = "bounds",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(grade_combinations),
                                    .open = grade_open,
                                    .close = grade_close,
                                    .run = grade_run};
static const tn_kernel parts_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Parts",
                                    .device = "cpu",
                                    .name = "pass",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(parts_combinations),
                                    .run = parts_run};
static const tn_operator *const operators[] = {&columns_operator, &grade_operator, &parts_operator};
static const tn_kernel *const kernels[] = {&columns_cpu, &grade_cpu, &parts_cpu};
TN_LIBRARY("bad_turns", "1", operators, kernels)
