/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Pieces, a tensor as a list of two rows each, the last one perhaps of one, and Bad::Copies, a
 * list's items again; and the mistakes that are made there. */
#include "mistake.h"

#include <tenon/plugin/sequence.h>

#include <string.h>

static const tn_sequence_service *lists(const tn_call *call) {
    return call->host->extension(call->host, TN_SEQUENCES);
}

static tn_status append(tn_call *call, const tn_tensor *like, const float *from, int64_t rows,
                        uint64_t most_bytes) {
    int64_t shape[TN_MAX_RANK];
    uint64_t bytes = (uint64_t)rows * sizeof(float);
    void *data;
    memcpy(shape, like->shape, like->rank * sizeof(*shape));
    if (like->rank > 0) shape[0] = rows;
    for (uint32_t i = 1; i < like->rank; i++)
        bytes *= (uint64_t)like->shape[i];
    const tn_status status = lists(call)->append(call, call->outputs[0], like->rank, shape, &data);
    if (bytes > most_bytes) bytes = most_bytes;
    if (status == TN_OK && bytes > 0) memcpy(data, from, bytes);
    return status;
}

/* --- Pieces --- */
static tn_status pieces_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0) return call->host->fail(call, TN_ERROR_SHAPE, "a scalar has no rows");
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}
static tn_status pieces(tn_call *call, bool is_kernel) {
    const tn_tensor *x = call->inputs[0];
    const int64_t rows = x->shape[0], row = rows > 0 ? count_of(x) / rows : 0;
    tn_status status = TN_OK;
    if (is_kernel && WITH(one_empty_piece) && rows == 0) return append(call, x, x->data, 0, 0);
    for (int64_t i = 0; i < rows && status == TN_OK; i += 2)
        status = append(call, x, (const float *)x->data + i * row, rows - i < 2 ? rows - i : 2,
                        UINT64_MAX);
    return status;
}
static tn_status pieces_reference(tn_call *call) {
    return pieces(call, false);
}
static tn_status pieces_run(tn_call *call) {
    return pieces(call, true);
}

/* --- Copies --- */
static tn_status copies_infer(tn_call *call) {
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}
static tn_status copies(tn_call *call, bool is_kernel) {
    uint64_t count = 0;
    tn_status status = lists(call)->length(call, call->inputs[0], &count);
    if (is_kernel && WITH(list_of_16) && count > 16) count = 16;
    for (uint64_t i = 0; i < count && status == TN_OK; i++) {
        const tn_tensor *item = NULL;
        status = lists(call)->item(call, call->inputs[0], i, &item);
        if (status != TN_OK) break;
        if (is_kernel && WITH(skips_empty_items) && count_of(item) == 0) continue;
        status = append(call, item, item->data, item->rank > 0 ? item->shape[0] : 1,
                        is_kernel && WITH(items_of_256_bytes) ? 256 : UINT64_MAX);
    }
    return status;
}
static tn_status copies_reference(tn_call *call) {
    return copies(call, false);
}
static tn_status copies_run(tn_call *call) {
    return copies(call, true);
}

static const tn_port pieces_inputs[] = {TN_PORT("x", "f32", 0, "rows")};
static const tn_port copies_inputs[] = {TN_PORT("x", "seq(f32)", 0, "items")};
static const tn_port outputs[] = {TN_PORT("y", "seq(f32)", 0, "items")};
static const char *const pieces_cases[] = {"| x=f32[4,3]", "| x=f32[3]"};
static const char *const copies_cases[] = {"| x=f32[2,3] x=f32[1]"};
#define LIST_OPERATOR(variable, text, given, lines, rule, function)                                \
    static const tn_operator variable = {.size = sizeof(tn_operator),                              \
                                         .since_version = 1,                                       \
                                         .state_version = 1,                                       \
                                         .domain = "Bad",                                          \
                                         .name = text,                                             \
                                         TN_NO_FIELDS,                                             \
                                         TN_INPUTS(given),                                         \
                                         TN_OUTPUTS(outputs),                                      \
                                         .infer = rule,                                            \
                                         .reference = function,                                    \
                                         TN_CASES(lines)}
LIST_OPERATOR(pieces_operator, "Pieces", pieces_inputs, pieces_cases, pieces_infer,
              pieces_reference);
LIST_OPERATOR(copies_operator, "Copies", copies_inputs, copies_cases, copies_infer,
              copies_reference);
#define LIST_KERNEL(variable, text, function)                                                      \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = text,                                                 \
                                       .device = "cpu",                                            \
                                       .name = "lists",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       .run = function}
LIST_KERNEL(pieces_cpu, "Pieces", pieces_run);
LIST_KERNEL(copies_cpu, "Copies", copies_run);

static const tn_operator *const operators[] = {&pieces_operator, &copies_operator};
static const tn_kernel *const kernels[] = {&pieces_cpu, &copies_cpu};
TN_LIBRARY("bad_pieces", "1", operators, kernels)
