/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Parts: head, middle and tail of a tensor along `axis`, as long as `sizes` says. Whoever
 * needs only one of them asks for no other.
 */
#include "third.h"

TN_LAYER_PARAMS(parts, tn_i64s sizes; int64_t axis;);
static const tn_field fields[] = {
    TN_FIELD_LIST(parts, sizes, TN_FIELD_I64S, TN_REQUIRED, NULL, 3, 3, 0, 1e6, "of the parts"),
    TN_LAYER_I64(parts, axis, "-1", -TN_MAX_RANK, TN_MAX_RANK - 1, "below 0: from the last")};
static const tn_port inputs[] = {TN_PORT("x", "T:any", 0, "at least one axis")};
static const tn_port outputs[] = {TN_PORT("head", "T", TN_PORT_OPTIONAL, "the first part"),
                                  TN_PORT("middle", "T", TN_PORT_OPTIONAL, "the second part"),
                                  TN_PORT("tail", "T", TN_PORT_OPTIONAL, "the third part")};

static int64_t axis_of(const tn_call *call) {
    const int64_t axis = ((const parts *)call->params)->axis;
    return axis < 0 ? axis + call->inputs[0]->rank : axis;
}
static tn_status infer(tn_call *call) {
    const parts *p = call->params;
    const tn_tensor *x = call->inputs[0];
    const int64_t axis = axis_of(call);
    if (axis < 0 || axis >= x->rank)
        return call->host->fail(call, TN_ERROR_RANGE, "x has no axis %lld", (long long)p->axis);
    const int64_t sum = p->sizes.items[0] + p->sizes.items[1] + p->sizes.items[2];
#if MISTAKE == 3
    /* Larger sizes than the axis are let through. */
    if (sum < x->shape[axis])
#else
    if (sum != x->shape[axis])
#endif
        return call->host->fail(call, TN_ERROR_SHAPE, "the sizes make %lld, the axis has %lld",
                                (long long)sum, (long long)x->shape[axis]);
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        same_as(call, i, x);
        call->outputs[i]->shape[axis] = p->sizes.items[i];
    }
    return TN_OK;
}
/* One part: byte by byte, or at once. */
static void copy_part(const tn_call *call, uint32_t part, int64_t before, bool fast) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[part];
    const uint32_t axis = (uint32_t)axis_of(call);
    const int64_t inner = extents_of(x, axis + 1, x->rank) * width_of(x->type);
    const int64_t outer = extents_of(x, 0, axis);
    const int64_t bytes = ((const parts *)call->params)->sizes.items[part] * inner;
    for (int64_t o = 0; o < outer; o++) {
        const char *from = (const char *)x->data + (o * x->shape[axis] + before) * inner;
        char *to = (char *)y->data + o * bytes;
        if (fast) memcpy(to, from, (size_t)bytes);
        for (int64_t b = 0; !fast && b < bytes; b++)
            to[b] = from[b];
    }
}
static tn_status reference(tn_call *call) {
    int64_t before = 0;
    for (uint32_t i = 0; i < 3; i++) {
        if (output_of(call, i)) copy_part(call, i, before, false);
        before += ((const parts *)call->params)->sizes.items[i];
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    int64_t before = 0;
    for (uint32_t i = 0; i < 3; i++) {
#if MISTAKE == 1
        if (!output_of(call, i)) continue; /* goes on without counting the part that nobody wants */
        copy_part(call, i, before, true);
#elif MISTAKE == 2
        copy_part(call, i, before, true); /* also where nobody wants it */
#else
        if (output_of(call, i)) copy_part(call, i, before, true);
#endif
        before += ((const parts *)call->params)->sizes.items[i];
    }
    return TN_OK;
}

static const char *const cases[] = {"sizes=[2,3,1] | x=f32[4,6]",
                                    "sizes=[1,0,4] axis=0 | x=i64[5,2,3]",
                                    "sizes=[3,2,2] axis=1 | x=f16[2,7,3]",
                                    "sizes=[0,0,0] | x=u8[3,0]", "sizes=[1,1,1] | x=bool[3]"};
static const tn_operator op = {THIRD_OPERATOR("Parts"), .state_version = 1,

                               TN_FIELDS(parts, fields), .doc = "Three parts of a tensor."};
static const tn_kernel kernel = {THIRD_KERNEL("Parts", "slices"), .traits = TN_KERNEL_DETERMINISTIC,
                                 .run = run};
THIRD_LIBRARY("parts", op, &kernel)
