/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Matrix, y = x * w or x * w^T: constant weights are packed by columns, the key of which is
 * not that of packing by rows; Bad::Bytes, a copy. And the mistakes with them. */
#include "mistake.h"

#include <string.h>

typedef struct matrix_params {
    uint64_t present;
    bool transposed;
} matrix_params;

static const tn_field fields[] = {
    TN_FIELD(matrix_params, transposed, TN_FIELD_BOOL, 0, "false", "w is columns, depth")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "rows, depth"),
                                 TN_PORT("w", "f32", 0, "depth, columns")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "rows, columns")};

static bool is_transposed(const tn_call *call) {
    return ((const matrix_params *)call->params)->transposed;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *w = call->inputs[1];
    if (x->rank != 2 || w->rank != 2 || x->shape[1] != w->shape[is_transposed(call)])
        return call->host->fail(call, TN_ERROR_SHAPE, "x has other columns than w has rows");
    call->outputs[0]->rank = 2;
    call->outputs[0]->shape[0] = x->shape[0];
    call->outputs[0]->shape[1] = w->shape[!is_transposed(call)];
    return TN_OK;
}

static float weight(const tn_call *call, int64_t i, int64_t c) {
    const tn_tensor *w = call->inputs[1];
    return (
        (const float *)w->data)[is_transposed(call) ? c * w->shape[1] + i : i * w->shape[1] + c];
}

static void multiply(const tn_call *call, const float *packed) {
    const int64_t depth = call->inputs[0]->shape[1], columns = call->outputs[0]->shape[1];
    const float *x = call->inputs[0]->data;
    for (int64_t at = 0; at < count_of(call->outputs[0]); at++) {
        double sum = 0;
        for (int64_t i = 0; i < depth; i++)
            sum +=
                (double)x[at / columns * depth + i] *
                (double)(packed ? packed[at % columns * depth + i] : weight(call, i, at % columns));
        ((float *)call->outputs[0]->data)[at] = (float)sum;
    }
}
static tn_status reference(tn_call *call) {
    multiply(call, NULL);
    return TN_OK;
}

enum { HEAD = 16 };
static tn_status fill(void *user, void *data, uint64_t bytes) {
    const tn_call *call = user;
    const int64_t depth = call->inputs[0]->shape[1];
    if (WITH(trusts_packed_index)) {
        *(int64_t *)data = HEAD; /* where the numbers begin */
        data = (float *)data + HEAD;
        bytes -= HEAD * sizeof(float);
    }
    for (int64_t i = 0; i < (int64_t)(bytes / sizeof(float)); i++)
        ((float *)data)[i] = weight(call, i % depth, i / depth);
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    const char *key = is_transposed(call) && !WITH(one_key_for_both) ? "rows" : "columns";
    const void *packed = NULL;
    if (!call->inputs[1]->data || call->inputs[0]->shape[1] == 0) return TN_OK;
    const tn_status status = call->host->packed(
        call, 1, key, call->inputs[1]->bytes + (WITH(trusts_packed_index) ? HEAD * 4 : 0), fill,
        call, &packed);
    call->state = (void *)(uintptr_t)packed;
    return status;
}
static tn_status run(tn_call *call) {
    const float *packed = call->state;
    multiply(call,
             packed && WITH(trusts_packed_index) ? packed + *(const int64_t *)packed : packed);
    return TN_OK;
}

static tn_status copy_reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, call->inputs[0]->bytes);
    return TN_OK;
}
static tn_status copy_run(tn_call *call) {
    const uint64_t bytes = call->inputs[0]->bytes;
    memcpy(call->outputs[0]->data, call->inputs[0]->data,
           WITH(copies_whole_words) ? (bytes + 7) / 8 * 8 : bytes);
    return TN_OK;
}

static const char *const matrix_cases[] = {"| x=f32[3,4] w=f32[4,4]",
                                           "transposed=true | x=f32[2,3] w=f32[5,3]"};
static const char *const copy_cases[] = {"| x=u8[3,7]"};
static const tn_port bytes_in[] = {TN_PORT("x", "u8", 0, "any shape")};
static const tn_port bytes_out[] = {TN_PORT("y", "u8", 0, "as x")};
static const tn_operator matrix = {.size = sizeof(tn_operator),
                                   .since_version = 1,
                                   .state_version = 1,
                                   .domain = "Bad",
                                   .name = "Matrix",
                                   TN_FIELDS(matrix_params, fields),
                                   TN_INPUTS(inputs),
                                   TN_OUTPUTS(outputs),
                                   .infer = infer,
                                   .reference = reference,
                                   TN_CASES(matrix_cases)};
static const tn_operator copy = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Bad",
                                 .name = "Bytes",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(bytes_in),
                                 TN_OUTPUTS(bytes_out),
                                 .infer = infer_same,
                                 .reference = copy_reference,
                                 TN_CASES(copy_cases)};
static const char *const combinations[] = {"f32, f32 -> f32"};
static const char *const copy_combinations[] = {"u8 -> u8"};
static const tn_kernel matrix_cpu = {.size = sizeof(tn_kernel),
                                     .revision = 1,
                                     .domain = "Bad",
                                     .op = "Matrix",
                                     .device = "cpu",
                                     .name = "columns",
                                     .traits = TN_KERNEL_DETERMINISTIC,
                                     TN_COMBINATIONS(combinations),
                                     .prepare = prepare,
                                     .run = run};
static const tn_kernel copy_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Bytes",
                                   .device = "cpu",
                                   .name = "copy",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(copy_combinations),
                                   .run = copy_run};
static const tn_operator *const operators[] = {&matrix, &copy};
static const tn_kernel *const kernels[] = {&matrix_cpu, &copy_cpu};
TN_LIBRARY("bad_packing", "1", operators, kernels)
