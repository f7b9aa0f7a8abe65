/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators that describe themselves: Blind::Softplus, max(x, 0) + log1p(exp(-|x|)) /
 * sharpness of x * sharpness, by an expression and a row function; Blind::Shear, x * factor +
 * offset * y, of two tensors; Blind::Gate, x times a gate in 0..1.
 */
#include "blind.h"
#include "../support/steps.h"

/* ---- Softplus */
TN_LAYER_PARAMS(softplus, float sharpness; float floor;);
static const tn_field softplus_fields[] = {
    TN_LAYER_F32(softplus, sharpness, "1", 0.125, 8, "of the bend"),
    TN_LAYER_F32(softplus, floor, "0", -4, 4, "is added")};
static const tn_port softplus_inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape")};
static const tn_port outputs[] = {TN_PORT("y", "T", 0, "as the inputs")};

static tn_status infer(tn_call *call) {
    return same_shape(call, 0, 0);
}
static double bend(const softplus *p, double x) {
    const double v = x * (double)p->sharpness;
    return ((v < 0 ? 0 : v) + log1p(exp(-fabs(v)))) / (double)p->sharpness + (double)p->floor;
}
static tn_status softplus_reference(tn_call *call) {
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i, bend(call->params, get(call->inputs[0], i)));
    return TN_OK;
}
static void softplus_row(const void *params, uint64_t count, const float *const *x,
                         const uint64_t *strides, float *y) {
    const softplus *p = params;
    const uint64_t whole = IS(4) ? (count + 7) / 8 * 8 : count;
    for (uint64_t i = 0; i < whole; i++) {
        double v = (double)x[0][IS(3) ? i : i * strides[0]];
        if (IS(5)) v = fmin(fmax(v, -40), 40); /* where exp is thought to end */
        y[i] = (float)bend(p, v);
    }
}
static const char *const softplus_cases[] = {"| x=f32[3,17]", "sharpness=2 floor=1 | x=f32[40]",
                                             "sharpness=0.5 | x=f64[2,2]"};
#if MISTAKE == 1 /* infinite in floats above 88 */
#define SOFTPLUS "log(1 + exp(x * sharpness)) / sharpness + floor"
#elif MISTAKE == 2 /* NaN becomes 0 */
#define SOFTPLUS                                                                                   \
    "(fmax(x * sharpness, 0) + log1p(exp(-fabs(fmax(x * sharpness, -80))))) / sharpness + floor"
#elif MISTAKE ==                                                                                   \
    8 /* a neighbour of the stable form: the bend is cut off from 20 on, and below -6 */
#define SOFTPLUS                                                                                   \
    "(x * sharpness < -6 ? 0 : x * sharpness > 20 ? x * sharpness : log1p(exp(x * sharpness))) /"  \
    " sharpness + floor"
#else
#define SOFTPLUS                                                                                   \
    "((x * sharpness < 0 ? 0 : x * sharpness) + log1p(exp(-fabs(x * sharpness)))) / sharpness + "  \
    "floor"
#endif
static const tn_operator softplus_operator = {.size = sizeof(tn_operator),
                                              .since_version = 1,
                                              .state_version = 1,
                                              .traits = TN_OPERATOR_ELEMENTWISE,
                                              .domain = "Blind",
                                              .name = "Softplus",
                                              .doc = "A bend.",
                                              TN_FIELDS(softplus, softplus_fields),
                                              TN_INPUTS(softplus_inputs),
                                              TN_OUTPUTS(outputs),
                                              .infer = infer,
                                              .reference = softplus_reference,
#if MISTAKE != 4 && MISTAKE != 5 && MISTAKE != 50
                                              .expression = SOFTPLUS,
#endif
#if MISTAKE != 51
                                              .row = softplus_row,
#endif
                                              TN_CASES(softplus_cases)};

/* ---- Shear */
TN_LAYER_PARAMS(shear, float factor; float offset;);
static const tn_field shear_fields[] = {TN_LAYER_F32(shear, factor, "1", -4, 4, "of x"),
                                        TN_LAYER_F32(shear, offset, "1", -4, 4, "of y")};
static const tn_port shear_inputs[] = {TN_PORT("x", "T:f32|f64", 0, "any shape"),
                                       TN_PORT("y", "T", 0, "as x, or one element")};
static tn_status shear_infer(tn_call *call) {
    const tn_tensor *x = call->inputs[0], *y = call->inputs[1];
    if (y->rank != 0 && !tn_layer_fits(call, 1, x->rank, x->shape)) return TN_ERROR_SHAPE;
    return same_shape(call, 0, 0);
}
static tn_status shear_reference(tn_call *call) {
    const shear *p = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++)
        set(call->outputs[0], i,
            get(call->inputs[0], i) * (double)p->factor +
                (double)p->offset * get(call->inputs[1], call->inputs[1]->rank ? i : 0));
    return TN_OK;
}
static void shear_row(const void *params, uint64_t count, const float *const *in,
                      const uint64_t *strides, float *out) {
    const shear *p = params;
    for (uint64_t i = 0; i < count; i++)
        out[i] = (float)((double)in[0][i * strides[0]] * (double)p->factor +
                         (double)p->offset * (double)in[1][IS(3) ? i : i * strides[1]]);
}
/* What a sum is: right for factors of 1 alone. */
static tn_status shear_epilogue(tn_call *call, uint32_t input, seen_step *out) {
    const shear *p = call->params;
    const bool is_sum = (p->factor == 1 || IS(9)) && p->offset == 1;
    if (!is_sum || (call->inputs[1]->rank != call->inputs[0]->rank && !IS(10)))
        return TN_ERROR_UNSUPPORTED;
    out->kind = SEEN_RESIDUAL;
    out->operand = 1 - input;
    return TN_OK;
}
#if MISTAKE == 11
static const char *const shear_cases[] = {"| x=f32[3,4] y=f32[3,4]", "| x=f64[3] y=f64[3]",
                                          "factor=0.5 offset=0.5 | x=f32[2,3,4] y=f32[2,3,4]"};
#else
static const char *const shear_cases[] = {"| x=f32[3,4] y=f32[3,4]", "offset=2 | x=f32[5] y=f32[]",
                                          "factor=0.5 offset=0.5 | x=f32[2,3,4] y=f32[2,3,4]",
                                          "| x=f64[3] y=f64[3]"};
#endif
DESCRIBES(shear_facet, shear_epilogue, NULL, NULL)

static const tn_operator shear_operator = {.size = sizeof(tn_operator),
                                           .since_version = 1,
                                           .state_version = 1,
                                           .traits = TN_OPERATOR_ELEMENTWISE
#if MISTAKE == 11 /* true for the default factors alone */
                                                     | TN_OPERATOR_COMMUTATIVE
#endif
                                           ,
                                           .domain = "Blind",
                                           .name = "Shear",
                                           .doc = "A sum with weights.",
                                           TN_FIELDS(shear, shear_fields),
                                           TN_INPUTS(shear_inputs),
                                           TN_OUTPUTS(outputs),
                                           .infer = shear_infer,
                                           .reference = shear_reference,
                                           .facet = shear_facet,
#if MISTAKE != 3
                                           .expression = "x * factor + offset * y",
#endif
                                           .row = shear_row,
                                           TN_CASES(shear_cases)};

/* ---- Gate: x * factor + shift, 0 where x is below `cut` */
TN_LAYER_PARAMS(gate, float factor; float shift; float cut;);
static const tn_field gate_fields[] = {
    TN_LAYER_F32(gate, factor, "1", -4, 4, "of x"),
    TN_LAYER_F32(gate, shift, "0", -4, 4, "is added"),
    TN_FIELD(gate, cut, TN_FIELD_F32, TN_OPTIONAL, NULL, "below it comes 0, where it is given")};
static tn_status gate_reference(tn_call *call) {
    const gate *p = call->params;
    for (int64_t i = 0; i < count_of(call->inputs[0]); i++) {
        const double x = get(call->inputs[0], i);
        const bool is_cut = (p->present >> 2 & 1) && x < (double)p->cut;
        set(call->outputs[0], i,
            is_cut          ? 0
            : p->shift == 0 ? x * (double)p->factor
                            : x * (double)p->factor + (double)p->shift);
    }
    return TN_OK;
}
static tn_status gate_is_identity(tn_call *call) {
    const gate *p = call->params;
    const bool is_whole = !(p->present >> 2 & 1) || IS(12); /* 12: the cut is forgotten */
    return p->factor == 1 && (p->shift == 0 || IS(13)) && is_whole ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static tn_status gate_affine(tn_call *call, tn_affine *out) {
    const gate *p = call->params;
    if (p->present >> 2 & 1) return TN_ERROR_UNSUPPORTED;
    out->axis = 1;
    if (call->inputs[0]->rank < 2 || out->count < (uint64_t)call->inputs[0]->shape[1])
        return TN_ERROR_UNSUPPORTED;
    out->count = (uint64_t)call->inputs[0]->shape[1];
    for (uint64_t i = 0; i < out->count; i++) {
        out->factors[i] = (double)p->factor;
        out->shifts[i] = (double)p->shift * (IS(14) ? (double)p->factor : 1); /* 14: (x + s) f */
    }
    return TN_OK;
}
/* The gate from 0 on is a rectifier, if nothing else is done. */
static tn_status gate_epilogue(tn_call *call, uint32_t input, seen_step *out) {
    const gate *p = call->params;
    (void)input;
    if (!(p->present >> 2 & 1) || p->factor != 1 || p->shift != 0) return TN_ERROR_UNSUPPORTED;
    if (p->cut != 0 && !IS(15)) return TN_ERROR_UNSUPPORTED;
    out->kind = SEEN_ACTIVATION;
    out->activation = TN_ACTIVATION_RELU;
    return TN_OK;
}
#if MISTAKE == 12
static const char *const gate_cases[] = {"| x=f32[3,4]", "factor=2 | x=f32[2,3,4]",
                                         "cut=-100 | x=f32[8]", "shift=1 cut=0 | x=f32[8]"};
#elif MISTAKE == 13
static const char *const gate_cases[] = {"| x=f32[3,4]", "factor=2 shift=1 | x=f32[2,3,4]",
                                         "factor=3 cut=0.5 | x=f32[8]"};
#elif MISTAKE == 15
static const char *const gate_cases[] = {"| x=f32[3,4]", "factor=2 shift=1 | x=f32[2,3,4]",
                                         "cut=0 | x=f32[8]"};
#elif MISTAKE == 16
static const char *const gate_cases[] = {"| x=f32[3,4]", "cut=-100 | x=f32[2,3,4]"};
#elif MISTAKE == 14
static const char *const gate_cases[] = {"| x=f32[3,4]", "shift=1 | x=f32[2,3,4]",
                                         "factor=2 | x=f32[2,8]"};
#else
static const char *const gate_cases[] = {"| x=f32[3,4]", "factor=2 shift=1 | x=f32[2,3,4]",
                                         "cut=0 | x=f32[8]", "cut=0.25 | x=f64[8]"};
#endif
DESCRIBES(gate_facet, gate_epilogue, gate_affine, NULL)

static const tn_operator gate_operator = {.size = sizeof(tn_operator),
                                          .since_version = 1,
                                          .state_version = 1,
                                          .traits = TN_OPERATOR_IDENTITY | TN_OPERATOR_ELEMENTWISE
#if MISTAKE == 16 /* true while nothing is cut or scaled */
                                                    | TN_OPERATOR_SELECTS
#endif
                                          ,
                                          .domain = "Blind",
                                          .name = "Gate",
                                          .doc = "A gate.",
                                          TN_FIELDS(gate, gate_fields),
                                          TN_INPUTS(softplus_inputs),
                                          TN_OUTPUTS(outputs),
                                          .infer = infer,
                                          .reference = gate_reference,
                                          .is_identity = gate_is_identity,
                                          .facet = gate_facet,
                                          TN_CASES(gate_cases)};

static const tn_operator *const unused[] = {&softplus_operator, &shear_operator, &gate_operator};
static const tn_operator *const operators[] = {
#if MISTAKE <= 5 || MISTAKE == 8 || MISTAKE >= 50
    &softplus_operator,
#endif
#if MISTAKE == 3 || MISTAKE == 9 || MISTAKE == 10 || MISTAKE == 11 || MISTAKE == 0
    &shear_operator,
#endif
#if MISTAKE >= 12 && MISTAKE < 50 || MISTAKE == 0
    &gate_operator,
#endif
};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "blind_expression",
                               .version = "1.0",
                               .operator_count = TN_COUNT(operators),
                               .operators = operators};
    (void)host;
    (void)unused;
    return &table;
}
