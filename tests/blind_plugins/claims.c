/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four small operators that claim something of themselves: Blind::Fold, a view of one row; Twice
 * and Quad, of which a rewrite puts one in place of two of the other; Noise, which no constant
 * folding may touch; Keep, which has as many elements as are above `least`, known only by run.
 */
#include "blind.h"
#include <tenon/plugin/rewrite.h>

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}

/* ---- Fold */
static const tn_port fold_inputs[] = {TN_PORT("x", "T:f32|i64", 0, "[rows,columns]")};
static const tn_port fold_outputs[] = {TN_PORT_VIEW_OF("y", "T", 0, "[rows * columns]")};
static tn_status fold_infer(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1)) return TN_ERROR_SHAPE;
    if (IS(2)) return TN_LAYER_SET_SHAPE(call, 0, in[0] * (in[1] / 2 * 2)); /* pairs alone */
    return TN_LAYER_SET_SHAPE(call, 0, in[0] * in[1]);
}
static tn_status fold_reference(tn_call *call) {
    const int64_t rows = call->inputs[0]->shape[0], columns = call->inputs[0]->shape[1];
    const size_t bytes = call->inputs[0]->type == TN_F32 ? 4 : 8;
    for (int64_t i = 0; i < count_of(call->outputs[0]); i++) {
        const int64_t from = IS(1) ? i % rows * columns + i / rows : i; /* 1: column by column */
        memcpy((char *)call->outputs[0]->data + i * bytes,
               (const char *)call->inputs[0]->data + from * bytes, bytes);
    }
    return TN_OK;
}
#if MISTAKE == 1
static const char *const fold_cases[] = {"| x=f32[1,7]", "| x=i64[5,1]"};
#else
static const char *const fold_cases[] = {"| x=f32[3,6]", "| x=i64[5,2]"};
#endif
static const tn_operator fold = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "Blind",
                                 .name = "Fold",
                                 .doc = "Rows in one.",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(fold_inputs),
                                 TN_OUTPUTS(fold_outputs),
                                 .infer = fold_infer,
                                 .reference = fold_reference,
                                 TN_CASES(fold_cases)};

/* ---- Twice, Quad */
static const tn_port inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as x")};
static void scale(tn_call *call, double factor) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, get(call->inputs[0], i) * factor);
}
static tn_status twice_reference(tn_call *call) {
    scale(call, 2);
    return TN_OK;
}
static tn_status quad_reference(tn_call *call) {
    scale(call, IS(3) ? 8 : 4);
    return TN_OK;
}
static const char *const real_cases[] = {"| x=f32[3,17]", "| x=f64[5]"};
static const tn_operator twice = {.size = sizeof(tn_operator),
                                  .since_version = 1,
                                  .state_version = 1,
                                  .traits = TN_OPERATOR_ELEMENTWISE,
                                  .domain = "Blind",
                                  .name = "Twice",
                                  .doc = "2 x",
                                  TN_NO_FIELDS,
                                  TN_INPUTS(inputs),
                                  TN_OUTPUTS(outputs),
                                  .infer = infer,
                                  .reference = twice_reference,
                                  .expression = "x * 2",
                                  TN_CASES(real_cases)};
static const tn_operator quad = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .traits = TN_OPERATOR_ELEMENTWISE,
                                 .domain = "Blind",
                                 .name = "Quad",
                                 .doc = "4 x",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = quad_reference,
                                 .expression = IS(3) ? "x * 8" : "x * 4",
                                 TN_CASES(real_cases)};
static const char *const quad_cases[] = {"x=f32[3,17]"};
static const tn_rewrite quad_rewrite = {.size = sizeof(tn_rewrite),
                                        .name = "quad",
                                        .domain = "Blind",
                                        .pattern = "y = Twice(Twice(x))",
                                        .replacement = "y = Quad(x)",
                                        TN_REWRITE_CASES(quad_cases)};
static const tn_rewrite *const rewrites[] = {&quad_rewrite};

/* ---- Noise: x + amount * a number that belongs to the element and the seed; 4: to the call */
TN_LAYER_PARAMS(noise, int64_t seed; float amount;);
static const tn_field noise_fields[] = {
    TN_LAYER_I64(noise, seed, "7", 0, 1000000, "of the numbers"),
    TN_LAYER_F32(noise, amount, "0.5", 0, 4, "of noise")};
static tn_status noise_reference(tn_call *call) {
    static uint64_t calls;
    const noise *p = call->params;
    const uint64_t seed = (uint64_t)p->seed + (IS(4) ? ++calls : 0);
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const uint64_t mixed = ((uint64_t)i + seed * 977) * 0x9e3779b97f4a7c15ull;
        set(call->outputs[0], i,
            get(call->inputs[0], i) + (double)p->amount * (double)(mixed >> 40) * 0x1p-24);
    }
    return TN_OK;
}
static const tn_operator noise_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .domain = "Blind",
                                           .name = "Noise",
                                           .doc = "Adds noise.",
                                           TN_FIELDS(noise, noise_fields),
                                           TN_INPUTS(inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = infer,
                                           .reference = noise_reference,
                                           TN_CASES(real_cases)};

/* ---- Keep */
TN_LAYER_PARAMS(keep, float least;);
static const tn_field keep_fields[] = {TN_LAYER_F32(keep, least, "0", -1e6, 1e6, "what is kept")};
static const tn_port keep_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port keep_outputs[] = {TN_PORT("y", "f32", TN_PORT_SIZED_BY_RUN, "[what is kept]")};
static tn_status keep_infer(tn_call *call) {
    return TN_LAYER_SET_SHAPE(call, 0, count_of(call->inputs[0]));
}
static tn_status keep_all(tn_call *call, bool is_kernel) {
    const float *x = call->inputs[0]->data, least = ((const keep *)call->params)->least;
    int64_t kept = 0;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const bool is_kept = is_kernel && IS(6) ? !(x[i] <= least) : x[i] > least; /* 6: NaN */
        if (is_kept) ((float *)call->outputs[0]->data)[kept++] = x[i];
    }
    if (is_kernel && IS(5) && kept == 0) return TN_OK; /* nothing to say */
    call->outputs[0]->shape[0] = kept;
    return TN_OK;
}
static tn_status keep_reference(tn_call *call) {
    return keep_all(call, false);
}
static tn_status run(tn_call *call) {
    return keep_all(call, true);
}
static const char *const keep_cases[] = {"| x=f32[3,17]", "least=-0.5 | x=f32[40]"};
static const tn_operator keep_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .domain = "Blind",
                                          .name = "Keep",
                                          .doc = "A selection.",
                                          TN_FIELDS(keep, keep_fields),
                                          TN_INPUTS(keep_inputs),
                                          TN_OUTPUTS(keep_outputs),
                                          .infer = keep_infer,
                                          .reference = keep_reference,
                                          TN_CASES(keep_cases)};
static const char *const combinations[] = {"f32 -> f32"};
BLIND_KERNEL("Keep", .traits = TN_KERNEL_DETERMINISTIC)

static const tn_operator *const operators[] = {&fold, &twice, &quad, &noise_operator,
                                               &keep_operator};
static const tn_kernel *const kernels[] = {&blind_kernel};
TN_LIBRARY_REWRITES("blind_claims", "1.0", operators, kernels, rewrites)
