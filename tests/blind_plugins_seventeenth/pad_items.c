/* SPDX-License-Identifier: Apache-2.0 */
/* A list of vectors to rows of one tensor, as long as the longest, filled up with a number that may
 * be absent, and how long each vector is. */
#include "seventeenth.h"
#include <tenon/plugin/sequence.h>

static const tn_port inputs[] = {TN_PORT("items", "seq(f32)", 0, "vectors"),
                                 TN_PORT("fill", "opt(f32)", 0, "one number; absent: 0")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "items, elements"),
                                  TN_PORT("lengths", "i64", TN_PORT_OPTIONAL, "items")};

static tn_status service(tn_call *call, const tn_sequence_service **out_service) {
    *out_service = call->host->extension(call->host, TN_SEQUENCES);
    if (*out_service) return TN_OK;
    return call->host->fail(call, TN_ERROR_UNSUPPORTED, "the host has no sequences");
}

/* Item `index` of the list, which is a vector. */
static tn_status vector_at(tn_call *call, uint64_t index, const tn_tensor **out_item) {
    const tn_sequence_service *sequences;
    TN_TRY(service(call, &sequences));
    TN_TRY(sequences->item(call, call->inputs[0], index, out_item));
    if ((*out_item)->rank == 1) return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "item %llu has rank %u, expected 1",
                            (unsigned long long)index, (*out_item)->rank);
}

static tn_status infer(tn_call *call) {
    const tn_sequence_service *sequences;
    int64_t shape[2] = {-1, -1};
    if (call->inputs[0]->data) {
        uint64_t count;
        TN_TRY(service(call, &sequences));
        TN_TRY(sequences->length(call, call->inputs[0], &count));
        shape[0] = (int64_t)count;
        shape[1] = 0;
        for (uint64_t i = 0; i < (WRONG(1) && count > 1 ? 1 : count); i++) {
            const tn_tensor *item;
            TN_TRY(vector_at(call, i, &item));
            if (item->shape[0] > shape[1]) shape[1] = item->shape[0];
        }
    }
    TN_TRY(set_shape(call, 1, 1, shape));
    return set_shape(call, 0, 2, shape);
}

static tn_status fill_of(tn_call *call, float *out_fill, bool is_kernel) {
    const tn_sequence_service *sequences;
    uint64_t count;
    const tn_tensor *item;
    TN_TRY(service(call, &sequences));
    TN_TRY(sequences->length(call, call->inputs[1], &count));
    *out_fill = 0;
    if (count == 0 && !(is_kernel && WRONG(3))) return TN_OK;
    TN_TRY(sequences->item(call, call->inputs[1], 0, &item));
    if (tn_layer_count(item) != 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "input 'fill' has %lld elements, expected 1",
                                (long long)tn_layer_count(item));
    *out_fill = *(const float *)item->data;
    return TN_OK;
}

static tn_status pad(tn_call *call, bool is_kernel) {
    const tn_sequence_service *sequences;
    uint64_t count;
    float fill;
    const tn_tensor *y = output(call, 0), *lengths = output(call, 1);
    TN_TRY(service(call, &sequences));
    TN_TRY(fill_of(call, &fill, is_kernel));
    TN_TRY(sequences->length(call, call->inputs[0], &count));
    for (uint64_t i = 0; i < count; i++) {
        const tn_tensor *item;
        TN_TRY(vector_at(call, i, &item));
        const int64_t length = item->shape[0];
        float *row = y ? (float *)y->data + (int64_t)i * y->shape[1] : NULL;
        if (row && length > 0) memcpy(row, item->data, (size_t)length * sizeof(float));
        for (int64_t k = length; row && k < y->shape[1] && !(is_kernel && WRONG(2)); k++)
            row[k] = fill;
        if (lengths) ((int64_t *)lengths->data)[i] = length;
    }
    return TN_OK;
}

static tn_status reference(tn_call *call) {
    return pad(call, false);
}
static tn_status run(tn_call *call) {
    return pad(call, true);
}

static const char *const cases[] = {
    "| items=f32[5] items=f32[2] items=f32[0] fill=f32[]{-1}",
    "| items=f32[3] fill=f32[1]",
    "| items=f32[4] items=f32[4] fill=f32[]",
};
static const tn_operator pad_items = {
    OPERATOR,       .name = "PadItems",     TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const tn_kernel kernel = {
    KERNEL,    .op = "PadItems", .device = "cpu", .name = "rows", .traits = TN_KERNEL_DETERMINISTIC,
    .run = run};
LIBRARY("pad_items", pad_items, kernel)
