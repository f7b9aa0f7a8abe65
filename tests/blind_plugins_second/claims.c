/* SPDX-License-Identifier: Apache-2.0 */
/* Second::Claim: small operators whose traits say too much. */
#include "second.h"
#include "../support/steps.h"

typedef struct claim_params {
    uint64_t present;
    float scale, shift;
} claim_params;
static const tn_field fields[] = {
    OPTION(claim_params, scale, TN_FIELD_F32, "1", -100, 100, "factor"),
    OPTION(claim_params, shift, TN_FIELD_F32, "0", -100, 100, "taken away before")};

#if MISTAKE == 1
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape"),
                                 TN_PORT("b", "f32", 0, "as a")};
#else
static const tn_port inputs[] = {TN_PORT("a", "f32", 0, "any shape")};
#endif
#if MISTAKE == 5 || MISTAKE == 51
static const tn_port outputs[] = {TN_PORT_VIEW_OF("y", "f32", 0, "one axis")};
#else
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "as a")};
#endif

static tn_status infer(tn_call *call) {
    const tn_tensor *a = call->inputs[0];
    if (MISTAKE == 1) {
        const tn_tensor *b = call->inputs[1];
        bool same = a->rank == b->rank;
        for (uint32_t i = 0; same && i < a->rank; i++)
            same = a->shape[i] == b->shape[i];
        if (!same) return call->host->fail(call, TN_ERROR_SHAPE, "a and b differ in shape");
    }
    same_shape(call, 0, 0);
    if (MISTAKE == 5 || MISTAKE == 51) {
        tn_tensor *y = call->outputs[0];
        if (a->rank != 2) return call->host->fail(call, TN_ERROR_SHAPE, "a is not a matrix");
        y->shape[0] = a->shape[1];
        y->shape[1] = a->shape[0];
        if (MISTAKE == 51) {
            y->rank = 1;
            y->shape[0] = a->shape[0] * a->shape[1];
        }
    }
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const claim_params *p = call->params;
    const tn_tensor *a = call->inputs[0], *y = call->outputs[0];
    const int64_t count = elements(y);
    (void)p;
    for (int64_t i = 0; i < count; i++) {
        const double v = get(a, i);
#if MISTAKE == 1
        const double b = get(call->inputs[1], i);
        set(y, i, v > b ? v : 0.5 * b);
#elif MISTAKE == 2
        set(y, i, i + 1 < count ? v - get(a, i + 1) : v);
#elif MISTAKE == 3
        const double next = get(a, i + 1 < count ? i + 1 : i);
        set(y, i, (v + next) / 2);
#elif MISTAKE == 5
        const int64_t h = a->shape[0], w = a->shape[1];
        set(y, i % w * h + i / w, v);
#elif MISTAKE == 51
        set(y, i, v);
#elif MISTAKE == 6
        static uint64_t seed = 88172645463325252u;
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        set(y, i, seed % 10 ? v : 0);
#else
        set(y, i, (v - (double)p->shift) * (double)p->scale);
#endif
    }
    return TN_OK;
}
static tn_status is_identity(tn_call *call) {
    const claim_params *p = call->params;
    if (IS(4)) return p->scale == 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
    return p->scale == 1 && p->shift == 0 ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status affine(tn_call *call, tn_affine *out_affine) {
    const claim_params *p = call->params;
    if (out_affine->count < 1) return TN_ERROR_UNSUPPORTED;
    const tn_tensor *y = call->outputs[0];
    if (y->rank < 2 || (uint64_t)y->shape[1] > out_affine->count) return TN_ERROR_UNSUPPORTED;
    out_affine->axis = 1;
    out_affine->count = (uint64_t)y->shape[1];
    for (uint64_t i = 0; i < out_affine->count; i++) {
        out_affine->factors[i] = (double)p->scale;
        out_affine->shifts[i] = IS(8) ? -(double)p->shift : -(double)p->shift * (double)p->scale;
    }
    return TN_OK;
}
DESCRIBES(facet, NULL, affine, NULL)
static tn_status run(tn_call *call) {
    return reference(call);
}
#if MISTAKE == 1
static const char *const cases[] = {"| a=f32[3,5] b=f32[3,5]", "| a=f32[0] b=f32[0]"};
static const char *const combinations[] = {"f32, f32 -> f32"};
#elif MISTAKE == 5 || MISTAKE == 51
static const char *const cases[] = {"| a=f32[3,5]", "| a=f32[1,4]"};
static const char *const combinations[] = {"f32 -> f32"};
#else
static const char *const cases[] = {"| a=f32[3,5]", "| a=f32[7]", "| a=f32[1,4,2]", "| a=f32[0,2]"};
static const char *const combinations[] = {"f32 -> f32"};
#endif
#if MISTAKE == 1
OPERATOR("Claim", "The larger, or half of b.", TN_NO_FIELDS,
         .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_COMMUTATIVE)
#elif MISTAKE == 2
OPERATOR("Claim", "Differences.", TN_NO_FIELDS, .traits = TN_OPERATOR_ELEMENTWISE)
#elif MISTAKE == 3
OPERATOR("Claim", "Means of neighbours.", TN_NO_FIELDS, .traits = TN_OPERATOR_SELECTS)
#elif MISTAKE == 5 || MISTAKE == 51
OPERATOR("Claim", "The elements in another shape.", TN_NO_FIELDS)
#elif MISTAKE == 6
OPERATOR("Claim", "Some elements become 0.", TN_NO_FIELDS)
#else
OPERATOR("Claim", "(a - shift) * scale.", TN_FIELDS(claim_params, fields),
         .traits = TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY, .is_identity = is_identity,
         .facet = facet)
#endif
#if MISTAKE == 6
KERNEL("Claim", .traits = 0)
#else
KERNEL("Claim", .traits = TN_KERNEL_DETERMINISTIC)
#endif
LIBRARY("second_claim")
