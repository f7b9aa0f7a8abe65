/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor as a list of pieces along its first axis, the last one perhaps shorter; and a list
 * without its empty items. */
#include "sixteenth.h"
#include <tenon/plugin/sequence.h>

TN_LAYER_PARAMS(params, int64_t size;);
static const tn_field fields[] = {
    TN_LAYER_I64(params, size, "2", 1, 1 << 20, "rows of a piece"),
};
static const tn_port chunks_inputs[] = {TN_PORT("x", "f32", 0, "rank 1 or more")};
static const tn_port chunks_outputs[] = {
    TN_PORT("pieces", "seq(f32)", 0, "of at most `size` rows")};
static const tn_port some_inputs[] = {TN_PORT("items", "seq(T:f32|i64)", 0, "any items")};
static const tn_port some_outputs[] = {TN_PORT("rest", "seq(T)", 0, "those with elements")};

static tn_status chunks_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    if (x->rank == 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'x' is a scalar, expected rank 1+");
    int64_t shape[TN_MAX_RANK];
    memcpy(shape, x->shape, x->rank * sizeof(shape[0]));
    shape[0] = WRONG(2) ? ((const params *)call->params)->size : -1;
    return tn_layer_set_shape(call, 0, x->rank, shape);
}

static tn_status service(tn_call *call, const tn_sequence_service **out_service) {
    *out_service = call->host->extension(call->host, TN_SEQUENCES);
    if (*out_service) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host has no sequences");
}

static tn_status chunks(tn_call *call, bool is_kernel) {
    const params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t row = extent(x, 1, x->rank);
    const tn_sequence_service *sequences;
    TN_TRY(service(call, &sequences));
    int64_t begin = 0;
    do {
        const int64_t left = x->shape[0] - begin, rows = left < p->size ? left : p->size;
        if (rows == 0 && !(is_kernel && WRONG(3))) break;
        int64_t shape[TN_MAX_RANK];
        memcpy(shape, x->shape, x->rank * sizeof(shape[0]));
        shape[0] = rows;
        void *data;
        TN_TRY(sequences->append(call, call->outputs[0], x->rank, shape, &data));
        const int64_t copied = is_kernel && WRONG(1) ? p->size : rows;
        if (copied * row > 0)
            memcpy(data, (const float *)x->data + begin * row, (size_t)(copied * row) * 4);
        begin += rows;
    } while (begin < x->shape[0]);
    return TN_OK;
}
static tn_status chunks_reference(tn_call *call) {
    return chunks(call, false);
}
static tn_status chunks_run(tn_call *call) {
    return chunks(call, true);
}

static tn_status some_infer(tn_call *call) {
    call->outputs[0]->rank = TN_RANK_UNKNOWN;
    return TN_OK;
}

static tn_status some(tn_call *call, bool is_kernel) {
    const tn_sequence_service *sequences;
    TN_TRY(service(call, &sequences));
    uint64_t length, kept = 0;
    TN_TRY(sequences->length(call, call->inputs[0], &length));
    for (uint64_t i = 0; i < length; i++) {
        const tn_tensor *item;
        TN_TRY(sequences->item(call, call->inputs[0], i, &item));
        if (tn_layer_count(item) == 0) continue;
        TN_TRY(sequences->append_item(call, call->outputs[0], call->inputs[0],
                                      is_kernel && WRONG(4) ? kept : i));
        kept++;
    }
    return TN_OK;
}
static tn_status some_reference(tn_call *call) {
    return some(call, false);
}
static tn_status some_run(tn_call *call) {
    return some(call, true);
}

static const char *const chunks_cases[] = {
    "| x=f32[4,3]",
    "size=3 | x=f32[7]",
    "size=5 | x=f32[2,2,2]",
};
static const char *const some_cases[] = {
    "| items=f32[2,3] items=f32[0,3] items=f32[1]",
    "| items=i64[0] items=i64[2] items=i64[3]",
};
static const tn_operator chunks_operator = {OPERATOR,
                                            .name = "Chunks",
                                            TN_FIELDS(params, fields),
                                            TN_INPUTS(chunks_inputs),
                                            TN_OUTPUTS(chunks_outputs),
                                            .infer = chunks_infer,
                                            .reference = chunks_reference,
                                            TN_CASES(chunks_cases)};
static const tn_operator some_operator = {OPERATOR,
                                          .name = "NotEmpty",
                                          TN_NO_FIELDS,
                                          TN_INPUTS(some_inputs),
                                          TN_OUTPUTS(some_outputs),
                                          .infer = some_infer,
                                          .reference = some_reference,
                                          TN_CASES(some_cases)};
static const tn_kernel chunks_kernel = {KERNEL, .op = "Chunks", .name = "copies",
                                        .traits = TN_KERNEL_DETERMINISTIC, .run = chunks_run};
static const tn_kernel some_kernel = {KERNEL, .op = "NotEmpty", .name = "shares",
                                      .traits = TN_KERNEL_DETERMINISTIC, .run = some_run};
static const tn_operator *const operators[] = {&chunks_operator, &some_operator};
static const tn_kernel *const kernels[] = {&chunks_kernel, &some_kernel};
TN_LIBRARY("chunks", "1.0", operators, kernels)
