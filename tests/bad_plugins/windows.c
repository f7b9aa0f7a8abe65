/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Part and Bad::Join, rows of a matrix and two matrices one below the other, which describe
 * their tensors as windows, and Bad::Twice, whose kernel accepts rows that lie apart; and the
 * mistakes that are made with both. */
#include "mistake.h"

#include <tenon/plugin/view.h>

#include <string.h>

/* --- Part --- */
typedef struct part_params {
    uint64_t present;
    int64_t first, count;
} part_params;
static const tn_field part_fields[] = {
    TN_FIELD_RANGE(part_params, first, TN_FIELD_I64, 0, "0", 0, 1e6, "the first row"),
    TN_FIELD_RANGE(part_params, count, TN_FIELD_I64, 0, "1", 0, 1e6, "how many")};
static const tn_port part_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port part_outputs[] = {TN_PORT("y", "f32", 0, "some of the rows")};

static tn_status part_infer(tn_call *call) {
    const part_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->rank != 2 || p->first + p->count > x->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "the rows are not in the matrix");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = p->count;
    call->outputs[0]->shape[1] = x->shape[1];
    return TN_OK;
}
static tn_status part_run(tn_call *call) {
    const part_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    if (y->bytes > 0)
        memcpy(y->data, (const float *)x->data + p->first * x->shape[1], (size_t)y->bytes);
    return TN_OK;
}
static tn_status part_facet(tn_call *call, uint32_t input, const char *name, tn_facet *facet) {
    const part_params *p = call->params;
    if (input != 0 || strcmp(name, TN_FACET_VIEW) != 0) return TN_ERROR_UNSUPPORTED;
    tn_view *view = facet->what;
    view->kind = WITH(window_of_the_output) ? TN_VIEW_OF_OUTPUT : TN_VIEW_OF_INPUT;
    view->offsets[WITH(window_along_columns) ? 1 : 0] = WITH(window_from_the_start) ? 0 : p->first;
    return TN_OK;
}
static const char *const part_cases[] = {"first=2 count=3 | x=f32[7,4]", "count=5 | x=f32[5,3]"};
static const tn_operator part_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Part",
                                          TN_FIELDS(part_params, part_fields),
                                          TN_INPUTS(part_inputs),
                                          TN_OUTPUTS(part_outputs),
                                          .infer = part_infer,
                                          .reference = part_run,
                                          .facet = part_facet,
                                          TN_CASES(part_cases)};

/* --- Join --- */
static const tn_port join_inputs[] = {TN_PORT("a", "f32", 0, "rows, columns"),
                                      TN_PORT("b", "f32", 0, "rows of as many columns")};
static const tn_port join_outputs[] = {TN_PORT("y", "f32", 0, "the rows of both")};

static tn_status join_infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    if (a->rank != 2 || b->rank != 2 || a->shape[1] != b->shape[1])
        return call->host->fail(call, TN_ERROR_SHAPE, "the rows differ in length");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = a->shape[0] + b->shape[0];
    call->outputs[0]->shape[1] = a->shape[1];
    return TN_OK;
}
static tn_status join_run(tn_call *call) {
    const tn_tensor *a = call->inputs[0], *b = call->inputs[1];
    char *y = call->outputs[0]->data;
    if (a->bytes > 0) memcpy(y, a->data, (size_t)a->bytes);
    if (b->bytes > 0) memcpy(y + a->bytes, b->data, (size_t)b->bytes);
    return TN_OK;
}
static tn_status join_facet(tn_call *call, uint32_t input, const char *name, tn_facet *facet) {
    if (strcmp(name, TN_FACET_VIEW) != 0) return TN_ERROR_UNSUPPORTED;
    tn_view *view = facet->what;
    view->kind = TN_VIEW_OF_OUTPUT;
    if (input == 1 && !WITH(windows_overlap)) view->offsets[0] = call->inputs[0]->shape[0];
    if (WITH(window_past_the_end) && input == 1) view->offsets[0]++;
    return TN_OK;
}
static const char *const join_cases[] = {"| a=f32[3,4] b=f32[2,4]", "| a=f32[1,3] b=f32[4,3]"};
static const tn_operator join_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Bad",
                                          .name = "Join",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(join_inputs),
                                          TN_OUTPUTS(join_outputs),
                                          .infer = join_infer,
                                          .reference = join_run,
                                          .facet = join_facet,
                                          TN_CASES(join_cases)};

/* --- Twice: y = 2 x of matrices, by a kernel that accepts rows that lie apart --- */
static const tn_port twice_inputs[] = {TN_PORT("x", "f32", 0, "rows, columns")};
static const tn_port twice_outputs[] = {TN_PORT("y", "f32", 0, "twice as much")};

static tn_status twice_infer(tn_call *call) {
    if (call->inputs[0]->rank != 2)
        return call->host->fail(call, TN_ERROR_SHAPE, "a matrix has two axes");
    return infer_same(call);
}
static tn_status twice_run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t columns = x->shape[1];
    const int64_t from_step = WITH(rows_read_as_packed) ? columns : x->strides[0],
                  to_step = WITH(rows_at_the_input_s_distance) ? from_step : y->strides[0];
    for (int64_t row = 0; row < x->shape[0]; row++) {
        const float *from = (const float *)x->data + row * from_step;
        float *to = (float *)y->data + row * to_step;
        for (int64_t i = 0; i < columns; i++)
            to[i] = 2 * from[i];
        if (WITH(rows_rounded_up) && columns > 0 && row + 1 < x->shape[0] && to_step > columns)
            to[columns] = 0;
    }
    return TN_OK;
}
static tn_status twice_reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        ((float *)call->outputs[0]->data)[i] = 2 * ((const float *)call->inputs[0]->data)[i];
    return TN_OK;
}
static const char *const twice_cases[] = {"| x=f32[3,5]", "| x=f32[1,16]"};
static const tn_operator twice_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Bad",
                                           .name = "Twice",
                                           TN_NO_FIELDS,
                                           TN_INPUTS(twice_inputs),
                                           TN_OUTPUTS(twice_outputs),
                                           .infer = twice_infer,
                                           .reference = twice_reference,
                                           TN_CASES(twice_cases)};
static const char *const twice_combinations[] = {"f32:strided -> f32:strided"};
static const tn_kernel twice_cpu = {.size = sizeof(tn_kernel),
                                    .revision = 1,
                                    .domain = "Bad",
                                    .op = "Twice",
                                    .device = "cpu",
                                    .name = "rows",
                                    .traits = TN_KERNEL_DETERMINISTIC,
                                    TN_COMBINATIONS(twice_combinations),
                                    .run = twice_run};

#define WINDOW_KERNEL(variable, operator_name, function)                                           \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = operator_name,                                        \
                                       .device = "cpu",                                            \
                                       .name = "copies",                                           \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       .run = function}
WINDOW_KERNEL(part_cpu, "Part", part_run);
WINDOW_KERNEL(join_cpu, "Join", join_run);

static const tn_operator *const operators[] = {&part_operator, &join_operator, &twice_operator};
static const tn_kernel *const kernels[] = {&part_cpu, &join_cpu, &twice_cpu};
TN_LIBRARY("bad_windows", "1", operators, kernels)
