/* SPDX-License-Identifier: Apache-2.0 */
/* Pick: slices of x along an axis by their numbers, which may count from the end. */
#include "ninth.h"

TN_LAYER_PARAMS(pick_params, int64_t axis;);
static const tn_field fields[] = {TN_LAYER_I64(pick_params, axis, "0", -8, 7, "may be negative")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|i32", 0, "any shape of one axis or more"),
                                 TN_PORT("indices", "i64", 0, "any shape; below the extent")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "the indices' axes in place of the axis")};

static int64_t find_axis(const tn_call *call) {
    const int64_t axis = ((const pick_params *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}

static tn_status infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *indices = call->inputs[1];
    tn_tensor *y = call->outputs[0];
    const int64_t axis = find_axis(call);
    if (axis < 0 || axis >= x->rank || x->rank + indices->rank > TN_MAX_RANK + 1)
        return call->host->fail(call, TN_ERROR_SHAPE, "there is no such axis, or too many");
    y->rank = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (i != axis)
            y->shape[y->rank++] = x->shape[i];
        else
            for (uint32_t k = 0; k < indices->rank; k++)
                y->shape[y->rank++] = indices->shape[k];
    }
    return TN_OK;
}

/* The index that is meant, or -1. */
static int64_t meant(int64_t index, int64_t extent) {
    if (index < 0) index += extent;
    return index >= 0 && index < extent ? index : -1;
}

static tn_status refuse(tn_call *call, int64_t index, int64_t extent) {
    return call->host->fail(call, TN_ERROR_RANGE, "index %lld is beyond the extent, %lld",
                            (long long)index, (long long)extent);
}

static tn_status reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = find_axis(call), extent = x->shape[axis];
    const int64_t outer = product(x->shape, 0, axis), inner = product(x->shape, axis + 1, x->rank);
    const int64_t count = tn_layer_count(call->inputs[1]), *indices = call->inputs[1]->data;
    for (int64_t k = 0; k < count; k++)
        if (meant(indices[k], extent) < 0) return refuse(call, indices[k], extent);
    for (int64_t i = 0; i < outer * count; i++)
        memcpy((char *)call->outputs[0]->data + i * inner * 4,
               (const char *)x->data +
                   (i / count * extent + meant(indices[i % count], extent)) * inner * 4,
               (size_t)inner * 4);
    return TN_OK;
}

/* What prepare makes of constant indices: none of them negative. */
typedef struct table {
    int64_t count, extent;
    int64_t indices[];
} table;
static tn_status prepare(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *indices = call->inputs[1];
    call->state = NULL;
    if (MISTAKE != 3 && MISTAKE != 50) return TN_OK;
    if (!indices->data) return TN_OK;
    const int64_t count = tn_layer_count(indices), extent = x->shape[find_axis(call)];
    table *t = call->host->allocate(call->host, sizeof(table) + (uint64_t)count * 8, 64);
    if (!t) return TN_ERROR_MEMORY;
    t->count = count, t->extent = extent;
    for (int64_t k = 0; k < count; k++) {
        const int64_t index = ((const int64_t *)indices->data)[k];
        t->indices[k] = WRONG(3) && index < 0 ? index + extent : index;
    }
    call->state = t;
    return TN_OK;
}
static void release(tn_call *call) {
    call->host->deallocate(call->host, call->state);
}

static tn_status open_context(tn_call *call) {
    bool *is_checked = call->host->allocate(call->host, 64, 64);
    if (!is_checked) return TN_ERROR_MEMORY;
    *is_checked = false;
    call->context = is_checked;
    return TN_OK;
}
static void close_context(tn_call *call) {
    call->host->deallocate(call->host, call->context);
}

static tn_status run(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *list = call->inputs[1];
    const int64_t axis = find_axis(call), extent = x->shape[axis];
    const int64_t outer = product(x->shape, 0, axis), inner = product(x->shape, axis + 1, x->rank);
    const table *t = call->state;
    const int64_t *indices = t ? t->indices : list->data;
    bool *is_checked = call->context;
    int64_t count = tn_layer_count(list);
    if (WRONG(1) && list->rank <= 1) count = list->rank == 1 ? list->shape[0] : 0;
    if (!WRONG(2) || !*is_checked) {
        for (int64_t k = 0; k < count; k++) {
            const bool is_low = WRONG(5) && indices[k] == -extent;
            const int64_t index = WRONG(4) && indices[k] >= extent ? extent - 1 : indices[k];
            if (meant(index, extent) < 0 || is_low) return refuse(call, indices[k], extent);
        }
        *is_checked = true;
    }
    for (int64_t i = 0; i < outer; i++)
        for (int64_t k = 0; k < count; k++) {
            int64_t index = indices[k] < 0 ? indices[k] + extent : indices[k];
            if (WRONG(4) && index >= extent) index = extent - 1;
            const uint32_t *from = (const uint32_t *)x->data + (i * extent + index) * inner;
            uint32_t *to = (uint32_t *)call->outputs[0]->data + (i * count + k) * inner;
            const int64_t whole = WRONG(6) && inner > 1 ? inner / 2 * 2 : inner;
            for (int64_t j = 0; j < whole; j++)
                to[j] = from[j];
        }
    return TN_OK;
}

static const char *const cases[] = {"| x=f32[5,4] indices=i64[3]{0,-1,2}",
                                    "axis=1 | x=f32[2,6,2] indices=i64[2,2]{5,-6,0,3}",
                                    "axis=-1 | x=i32[3,4] indices=i64[1]{-2}"};
static const tn_operator pick = {OPERATOR,
                                 .state_version = 1,
                                 .name = "Pick",
                                 .traits = TN_OPERATOR_SELECTS,
                                 TN_FIELDS(pick_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 TN_CASES(cases)};
static const tn_kernel pick_cpu = {KERNEL,
                                   .op = "Pick",
                                   .name = "slices",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   .prepare = prepare,
                                   .release = release,
                                   .open = open_context,
                                   .close = close_context,
                                   .run = run};
LIBRARY("ninth_gather", pick, pick_cpu)
