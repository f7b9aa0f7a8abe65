/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Mirror: the last axis, lengthened on both sides by its reflection. */
#include "second.h"

typedef struct mirror_params {
    uint64_t present;
    int64_t before, after;
} mirror_params;
static const tn_field fields[] = {
    OPTION(mirror_params, before, TN_FIELD_I64, "1", 0, 4096, "elements before the first"),
    OPTION(mirror_params, after, TN_FIELD_I64, "1", 0, 4096, "elements after the last")};
static const tn_port inputs[] = {TN_PORT("x", "T:f32|i32|u32", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "x with a longer last axis")};

static tn_status infer(tn_call *call) {
    const mirror_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    if (x->rank < 1) return call->host->fail(call, TN_ERROR_SHAPE, "x has no axis");
    const int64_t n = x->shape[x->rank - 1];
    if (n == 0 && p->before + p->after > 0)
        return call->host->fail(call, TN_ERROR_SHAPE, "the last axis of x is empty");
    same_shape(call, 0, 0);
    call->outputs[0]->shape[x->rank - 1] = n + p->before + p->after;
    return TN_OK;
}

static int64_t position(int64_t i, int64_t n, bool is_kernel) {
    if (is_kernel && IS(1)) {
        if (i < 0) i = -i;
        if (i >= n) i = 2 * (n - 1) - i;
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
    if (n == 1 && !(is_kernel && IS(2))) return 0;
    const int64_t period = 2 * (n - 1);
    i = ((i % period) + period) % period;
    return i < n ? i : period - i;
}

static tn_status compute(tn_call *call, bool is_kernel) {
    const mirror_params *p = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t n = x->shape[x->rank - 1], m = y->shape[y->rank - 1];
    const int64_t rows = product(y, 0, y->rank - 1);
    const uint32_t *from = x->data;
    uint32_t *to = y->data;
    for (int64_t r = 0; r < rows; r++) {
        int64_t j = 0;
        uint32_t line[1024];
        if (is_kernel && IS(3)) {
            int64_t k = m < 1024 ? m : 1024;
            for (; j < k; j++)
                line[j] = from[r * n + position(j - p->before, n, true)];
            memcpy(to + r * m, line, (size_t)k * 4);
            continue;
        }
        for (; j < m; j++)
            to[r * m + j] = from[r * n + position(j - p->before, n, is_kernel)];
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    return compute(call, false);
}
static tn_status run(tn_call *call) {
    return compute(call, true);
}
static const char *const cases[] = {"| x=f32[2,3,7]", "before=3 after=0 | x=i32[5]",
                                    "before=2 after=4 | x=u32[3,6]",
                                    "before=0 after=0 | x=f32[2,0]"};
static const char *const combinations[] = {"f32|i32|u32 -> f32|i32|u32"};
OPERATOR("Mirror", "Reflection padding of any length.", TN_FIELDS(mirror_params, fields))
KERNEL("Mirror", .traits = TN_KERNEL_DETERMINISTIC)
LIBRARY("second_mirror")
