/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Third::Ledger: state' = decay * state + x, which may lie on the state itself, and how far x was
 * from the state before. Third::Fold: the axes from `axis` on as one, a view of its input.
 */
#include "third.h"

TN_LAYER_PARAMS(ledger, float decay;);
static const tn_field fields[] = {TN_LAYER_F32(ledger, decay, "0.5", 0, 1, "what stays")};
static const tn_port inputs[] = {TN_PORT("state", "f32", 0, "any shape"),
                                 TN_PORT("x", "f32", 0, "as the state")};
static const tn_port outputs[] = {{"next", "f32", "as the state", TN_PORT_ALIAS, 1, 0, 0},
                                  TN_PORT("news", "f32", TN_PORT_OPTIONAL, "x - state")};

static tn_status infer(tn_call *call) {
    if (!tn_layer_fits(call, 1, call->inputs[0]->rank, call->inputs[0]->shape))
        return TN_ERROR_SHAPE;
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) same_as(call, i, call->inputs[0]);
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const double decay = (double)((const ledger *)call->params)->decay;
    const tn_tensor *news = output_of(call, 1), *next = output_of(call, 0);
    const int64_t count = tn_layer_count(call->inputs[0]);
    for (int64_t i = 0; i < count; i++) {
        const double state = tn_layer_load(call->inputs[0], i),
                     x = tn_layer_load(call->inputs[1], i);
        if (next) tn_layer_store(next, i, decay * state + x);
        if (news) tn_layer_store(news, i, x - state);
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const float decay = ((const ledger *)call->params)->decay;
    const tn_tensor *news = output_of(call, 1), *next = output_of(call, 0);
    const float *state = call->inputs[0]->data, *x = call->inputs[1]->data;
    const int64_t count = tn_layer_count(call->inputs[0]);
#if MISTAKE == 1
    /* As if the output always lay on the state. */
    for (int64_t i = 0; news && i < count; i++)
        ((float *)news->data)[i] = x[i] - state[i];
    for (int64_t i = 0; next && i < count; i++)
        ((float *)next->data)[i] =
            (float)((double)decay * (double)((float *)next->data)[i] + (double)x[i]);
#elif MISTAKE == 2
    /* The news come after the state was overwritten, where the output lies on it. */
    for (int64_t i = 0; next && i < count; i++)
        ((float *)next->data)[i] = (float)((double)decay * (double)state[i] + (double)x[i]);
    for (int64_t i = 0; news && i < count; i++)
        ((float *)news->data)[i] = x[i] - state[i];
#elif MISTAKE == 3
    /* Writes the state itself, an input, and lets the output have a copy of it. */
    for (int64_t i = 0; i < count; i++) {
        const float before = state[i];
        ((float *)call->inputs[0]->data)[i] =
            (float)((double)decay * (double)before + (double)x[i]);
        if (news) ((float *)news->data)[i] = x[i] - before;
    }
    if (next && next->data != (void *)state) memcpy(next->data, state, (size_t)count * 4);
#else
    for (int64_t i = 0; i < count; i++) {
        const float before = state[i], in = x[i];
        if (next) ((float *)next->data)[i] = (float)((double)decay * (double)before + (double)in);
        if (news) ((float *)news->data)[i] = in - before;
    }
#endif
    return TN_OK;
}
static const char *const cases[] = {"| state=f32[3,5] x=f32[3,5] | next=f32[3,5] news=f32[3,5]",
                                    "decay=0.875 | state=f32[17] x=f32[17]",
                                    "decay=1 | state=f32[2,0] x=f32[2,0]"};
static const tn_operator ledger_op = {THIRD_OPERATOR("Ledger"), .state_version = 1,
                                      TN_FIELDS(ledger, fields), .doc = "State with decay."};
static const char *const combinations[] = {"f32, f32 -> f32, f32?"};
static const tn_kernel ledger_kernel = {THIRD_KERNEL("Ledger", "loop"),
                                        .traits = TN_KERNEL_DETERMINISTIC,
                                        TN_COMBINATIONS(combinations), .run = run};

/* ---- Fold */
TN_LAYER_PARAMS(fold, int64_t axis;);
static const tn_field fold_fields[] = {
    TN_LAYER_I64(fold, axis, "1", 0, TN_MAX_RANK, "the first axis that is folded")};
static const tn_port fold_inputs[] = {TN_PORT("x", "T:any", 0, "any shape")};
static const tn_port fold_outputs[] = {TN_PORT_VIEW_OF("y", "T", 0, "the first axes, the product")};

static tn_status fold_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    const uint32_t axis = (uint32_t)((const fold *)call->params)->axis;
    if (axis > x->rank || axis >= TN_MAX_RANK)
        return call->host->fail(call, TN_ERROR_RANGE, "x has no axis %u", axis);
#if MISTAKE == 4
    /* A transposition: the first two axes are swapped, which no view can do. */
    if (axis == 1 && x->rank == 2) return TN_LAYER_SET_SHAPE(call, 0, x->shape[1], x->shape[0]);
#endif
    int64_t product = 1;
    for (uint32_t i = axis; i < x->rank; i++)
        if (x->shape[i] == 0) product = 0;
    for (uint32_t i = axis; product && i < x->rank; i++)
        if (__builtin_mul_overflow(product, x->shape[i], &product))
            return call->host->fail(call, TN_ERROR_SHAPE, "the folded axis is too long");
#if MISTAKE == 5
    if (product == 0) product = 1; /* a view of more elements than there are */
#endif
    tn_layer_set_shape(call, 0, axis, x->shape);
    call->outputs[0]->rank = axis + 1;
    call->outputs[0]->shape[axis] = product;
    return TN_OK;
}
static tn_status fold_reference(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t width = width_of(x->type);
#if MISTAKE == 4
    if (((const fold *)call->params)->axis == 1 && x->rank == 2) {
        for (int64_t i = 0; i < tn_layer_count(x); i++)
            memcpy((char *)y->data + (i % x->shape[1] * x->shape[0] + i / x->shape[1]) * width,
                   (const char *)x->data + i * width, (size_t)width);
        return TN_OK;
    }
#endif
    memcpy(y->data, x->data, (size_t)(tn_layer_count(x) * width));
    return TN_OK;
}
static const char *const fold_cases[] = {"| x=f32[2,3,4]",  "axis=0 | x=i64[3,2]", "| x=f16[3,4]",
                                         "axis=0 | x=u8[]", "axis=2 | x=f64[2,3]", "| x=i8[2,0,3]"};
static const tn_operator fold_op = {.size = sizeof(tn_operator),
                                    .since_version = 1,
                                    .state_version = 1,
                                    .domain = "Third",
                                    .name = "Fold",
                                    .doc = "The last axes as one.",
                                    TN_FIELDS(fold, fold_fields),
                                    TN_INPUTS(fold_inputs),
                                    TN_OUTPUTS(fold_outputs),
                                    .infer = fold_infer,
                                    .reference = fold_reference,
                                    TN_CASES(fold_cases)};

static const tn_operator *const operators[] = {&ledger_op, &fold_op};
static const tn_kernel *const kernels[] = {&ledger_kernel};
TN_LIBRARY("third_ledger", "1.0", operators, kernels)
