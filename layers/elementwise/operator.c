/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built-in operators that are their expressions: tables of operators and kernels from the rows of
 * maps.h, pairs.h and variadic.h. The host fills in shape rules and references; what describes
 * nodes to the kernels before them is here.
 */
#include "kit/widened/widened.h"
#include "kit/elementwise/combine_kernel.h"
#include "kit/elementwise/map_kernel.h"
#include "kit/elementwise/unary.h"
#include "kit/fold/fold_types.h"
#include "kit/elementwise/variadic.h"
#include "kit/math/element.h"
#include "kit/operator/axis_broadcast.h"
#include <tenon/kit/infer.h>
#include "kit/operator/layer.h"
#include "kit/operator/operand.h"
#include "src/expression/elementwise.h"

#include <math.h>
#include <pthread.h>

/* ----------------------------------------------------------------------------------------------
 * operators of one input */

/* The parameters of those that have fields. */
typedef struct numbers {
    uint64_t present;
    float alpha, beta;
    uint32_t choice; /* added to the function */
} numbers;

#define NUMBER(member, name, fallback, doc)                                                        \
    {                                                                                              \
        name, doc, fallback, NULL, TN_FIELD_F32, TN_OPTIONAL, (uint32_t)offsetof(numbers, member), \
            (uint32_t)sizeof(float), 0, 0, 0, 0                                                    \
    }

static bool read_numbers(tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    const numbers *params = call->params;
    *inout_map += params->choice;
    *out_alpha = params->alpha;
    *out_beta = params->beta;
    return true;
}

/* An activation's are what the node describes itself as. */
static bool read_activation(tn_call *call, uint32_t *inout_map, float *out_alpha, float *out_beta) {
    tn_facet_activation activation;
    if (!tn_unary_activation(call, &activation)) return false;
    *inout_map = activation.function;
    *out_alpha = activation.alpha;
    *out_beta = activation.beta;
    return true;
}

/* `user` is the number of an activation. */
static tn_status map_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    const numbers none = {0}, *params = call->op->field_count > 0 ? call->params : &none;
    (void)input;
    return tn_unary_facet(call, name, (uint32_t)(uintptr_t)call->user + params->choice,
                          params->alpha, params->beta, out_facet);
}

#define STANDARD(x)                                                                                \
    "| " x "=f32[2,3,5,7]", "| " x "=f32[1]", "| " x "=f32[]", "| " x "=f32[3,0,2]",               \
        "| " x "=f64[17]", "| " x "=f16[4,33]", "| " x "=bf16[63]", "| " x "=f32[1,64,56,56]"

#define IS_ACTIVATION(map) ((uint32_t)(map) < (uint32_t)TN_MAP_EXP)
#define MAP_OPERATOR(prefix, of_domain, of_name, version, map, text, type, in, out, result, words, \
                     parameters, field_table, numbers_count, ...)                                  \
    static const tn_port prefix##_ports[] = {TN_PORT(in, type, 0, "any tensor"),                   \
                                             TN_PORT(out, "T", 0, result)};                        \
    static const char *const prefix##_cases[] = {__VA_ARGS__};                                     \
    static void prefix##_row(const void *params, uint64_t count, const float *const *inputs,       \
                             const uint64_t *strides, float *output) {                             \
        const numbers none = {0}, *of = (numbers_count) > 0 ? params : &none;                      \
        tn_rows_map((map) + of->choice, of->alpha, of->beta, count, inputs, strides, output);      \
    }                                                                                              \
    static const tn_operator prefix##_operator = {                                                 \
        TN_OPERATOR_BEGIN(of_domain, of_name, version, words),                                     \
        .traits = TN_OPERATOR_ELEMENTWISE,                                                         \
        .params_bytes = parameters,                                                                \
        .field_size = sizeof(tn_field),                                                            \
        .field_count = numbers_count,                                                              \
        .fields = field_table,                                                                     \
        .port_size = sizeof(tn_port),                                                              \
        .input_count = 1,                                                                          \
        .inputs = prefix##_ports,                                                                  \
        .output_count = 1,                                                                         \
        .outputs = prefix##_ports + 1,                                                             \
        .facet = IS_ACTIVATION(map) ? map_facet : NULL,                                            \
        .expression = text,                                                                        \
        .row = prefix##_row,                                                                       \
        .user = (void *)(uintptr_t)(map),                                                          \
        TN_CASES(prefix##_cases),                                                                  \
    }

#define MAP(prefix, domain, name, version, map, text, type, in, out, result, words, ...)           \
    MAP_OPERATOR(prefix, domain, name, version, map, text, type, in, out, result, words, 0, NULL,  \
                 0, __VA_ARGS__);
#define CURVE(prefix, domain, name, version, map, text, type, in, out, result, words, count,       \
              first, first_default, first_doc, second, second_default, second_doc, ...)            \
    static const tn_field prefix##_fields[] = {NUMBER(alpha, first, first_default, first_doc),     \
                                               NUMBER(beta, second, second_default, second_doc)};  \
    MAP_OPERATOR(prefix, domain, name, version, map, text, type, in, out, result, words,           \
                 (count) > 0 ? sizeof(numbers) : 0, prefix##_fields, count, __VA_ARGS__);
#define CHOICE(prefix, domain, name, version, map, text, type, in, out, result, words, field,      \
               fallback, choices, about, ...)                                                      \
    static const tn_field prefix##_fields[] = {{field, about, fallback, choices, TN_FIELD_ENUM,    \
                                                TN_OPTIONAL, (uint32_t)offsetof(numbers, choice),  \
                                                (uint32_t)sizeof(uint32_t), 0, 0, 0, 0}};          \
    MAP_OPERATOR(prefix, domain, name, version, map, text, type, in, out, result, words,           \
                 sizeof(numbers), prefix##_fields, 1, __VA_ARGS__);
#define CLIP      CURVE
#define CLIP_TEXT "input < min ? (min > max ? max : min) : input > max ? max : input"
#include "elementwise/maps.h"
#undef MAP
#undef CURVE
#undef CHOICE
#undef CLIP

/* ----------------------------------------------------------------------------------------------
 * operators of two inputs */

#include "elementwise/shapes.h"

static tn_status sum_facet(tn_call *call, uint32_t input, const char *name, tn_facet *out_facet) {
    if (call->input_count != 2) return TN_ERROR_UNSUPPORTED; /* of two tensors Sum is Add */
    return tn_operand_facet_plain(call, input, name, TN_FACET_BIAS, TN_FACET_RESIDUAL, out_facet);
}
static tn_status sum_axis_facet(tn_call *call, uint32_t input, const char *name,
                                tn_facet *out_facet) {
    return tn_operand_facet_axis(call, input, name, TN_FACET_BIAS, TN_FACET_RESIDUAL, out_facet);
}
static tn_status product_facet(tn_call *call, uint32_t input, const char *name,
                               tn_facet *out_facet) {
    return tn_operand_facet_plain(call, input, name, TN_FACET_SCALE, NULL, out_facet);
}
static tn_status product_axis_facet(tn_call *call, uint32_t input, const char *name,
                                    tn_facet *out_facet) {
    return tn_operand_facet_axis(call, input, name, TN_FACET_SCALE, NULL, out_facet);
}

typedef struct mod_params {
    uint64_t present;
    bool fmod;
} mod_params;
static const tn_field mod_fields[] = {
    TN_FIELD(mod_params, fmod, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether the result has the sign of A instead of B's"),
};

typedef struct bit_shift_params {
    uint64_t present;
    uint32_t direction;
} bit_shift_params;
static const tn_field bit_shift_fields[] = {
    TN_FIELD_CHOICE(bit_shift_params, direction, TN_FIELD_ENUM, TN_REQUIRED, NULL, "LEFT|RIGHT",
                    "LEFT: towards the higher bits; RIGHT: towards the lower ones"),
};
#define SHIFT_TEXT "direction == 0 ? shift_left(X, Y) : shift_right(X, Y)"
#define SHIFT_CASES                                                                                \
    "direction=LEFT | X=u8[2,3]{1,2,3,128,255,7} Y=u8[3]{1,7,8}",                                  \
        "direction=RIGHT | X=u32[3]{16,4294967295,1} Y=u32[]{2}",                                  \
        "direction=RIGHT | X=u16[3]{16,4,1} Y=u16[3]{1,2,3} | Z=u16[3]{8,1,0}",                    \
        "direction=LEFT | X=u64[3]{16,4,1} Y=u64[3]{1,63,64} | Z=u64[3]{32,0,0}",                  \
        "direction=LEFT | X=u8[0,3] Y=u8[3]{1,2,3}"
#define BITWISE_CASES                                                                              \
    "| A=i32[2,3,5] B=i32[3,1]", "| A=u8[7] B=u8[7]", "| A=i64[2,1] B=i64[3]", "| A=i8[] B=i8[]",  \
        "| A=u64[2]{18446744073709551615,7} B=u64[]{9223372036854775809}", "| A=u16[0,3] B=u16[3]"

#define ARITHMETIC_CASES                                                                           \
    "| A=f32[2,3,5,7] B=f32[2,3,5,7]", "| A=f32[2,3,5,7] B=f32[3,1,1]",                            \
        "| A=f32[4,1,7] B=f32[1,5,1]", "| A=f32[] B=f32[3]", "| A=f32[1] B=f32[]",                 \
        "| A=f32[0,3] B=f32[1,3]", "| A=f16[3,33] B=f16[33]", "| A=f32[64,384] B=f32[384]",        \
        "| A=f32[1,64,56,56] B=f32[1,64,56,56]"
#define LEGACY_CASES                                                                               \
    "| A=f32[2,3,4] B=f32[2,3,4]", "broadcast=1 | A=f32[2,3,4,5] B=f32[5]",                        \
        "broadcast=1 axis=1 | A=f32[2,3,4,5] B=f32[3,4]",                                          \
        "broadcast=1 axis=0 | A=f64[4,3] B=f64[4]", "broadcast=1 | A=f32[7] B=f32[]"
#define LOGIC_CASES                                                                                \
    "| A=bool[4]{0,0,1,1} B=bool[4]{0,1,0,1}", "| A=bool[2,1]{0,1} B=bool[2]{1,0}",                \
        "| A=bool[]{1} B=bool[]{1}", "| A=bool[0,3] B=bool[3]", "| A=bool[7,1,33] B=bool[5,1]"
#define LEGACY_LOGIC_CASES                                                                         \
    "| A=bool[4]{0,0,1,1} B=bool[4]{0,1,0,1}",                                                     \
        "broadcast=1 axis=0 | A=bool[2,2]{0,1,1,0} B=bool[2]{1,0}"
#define COMPARISON_CASES                                                                           \
    "| A=f32[2,3]{1,2,3,4,5,6} B=f32[3]{4,2,3}",                                                   \
        "| A=i64[3,1]{-1,0,9223372036854775807} B=i64[2]{9223372036854775807,0}",                  \
        "| A=u64[2]{18446744073709551615,2} B=u64[]{2}", "| A=f16[3]{1,2,3} B=f16[1]{2}",          \
        "| A=u8[3]{0,7,255} B=u8[3]{255,7,0}", "| A=i8[0,3] B=i8[3]", "| A=f32[7,1,33] B=f32[5,1]"
#define LEGACY_COMPARISON_CASES                                                                    \
    "| A=f32[3]{1,-2,3} B=f32[3]{1,2,3}", "broadcast=1 axis=0 | A=f64[2,2]{1,2,3,4} B=f64[2]{1,4}"

#define PAIR_TABLES(prefix, type_a, type_b, type_c, a, b, c, about_a, about_b, about_c, ...)       \
    static const tn_port prefix##_inputs[] = {TN_PORT(a, type_a, 0, about_a),                      \
                                              TN_PORT(b, type_b, 0, about_b)};                     \
    static const tn_port prefix##_outputs[] = {TN_PORT(c, type_c, 0, about_c)};                    \
    static const char *const prefix##_cases[] = {__VA_ARGS__};
#define COMBINE(prefix, name, version, combine, first, of_traits, of_facet, of_infer, text, ta,    \
                tb, tc, a, b, c, about_a, about_b, about_c, words, ...)                            \
    PAIR_TABLES(prefix, ta, tb, tc, a, b, c, about_a, about_b, about_c, __VA_ARGS__)               \
    static void prefix##_row(const void *params, uint64_t count, const float *const *inputs,       \
                             const uint64_t *strides, float *output) {                             \
        (void)params;                                                                              \
        tn_rows_combine(combine, count, inputs, strides, output);                                  \
    }                                                                                              \
    static const tn_operator prefix##_operator = {TN_OPERATOR_BEGIN("", name, version, words),     \
                                                  .traits = of_traits,                             \
                                                  TN_NO_FIELDS,                                    \
                                                  TN_INPUTS(prefix##_inputs),                      \
                                                  TN_OUTPUTS(prefix##_outputs),                    \
                                                  .infer = of_infer,                               \
                                                  .facet = of_facet,                               \
                                                  .expression = text,                              \
                                                  .row = prefix##_row,                             \
                                                  TN_CASES(prefix##_cases)};
#define PAIR(prefix, name, version, of_traits, field_table, text, ta, tb, tc, a, b, c, about_a,    \
             about_b, about_c, words, ...)                                                         \
    PAIR_TABLES(prefix, ta, tb, tc, a, b, c, about_a, about_b, about_c, __VA_ARGS__)               \
    static const tn_operator prefix##_operator = {TN_OPERATOR_BEGIN("", name, version, words),     \
                                                  .traits = of_traits,                             \
                                                  field_table,                                     \
                                                  TN_INPUTS(prefix##_inputs),                      \
                                                  TN_OUTPUTS(prefix##_outputs),                    \
                                                  .expression = text,                              \
                                                  TN_CASES(prefix##_cases)};
#define LEGACY(prefix, of_name, version, of, of_facet, words, ...)                                 \
    static const char *const prefix##_cases[] = {__VA_ARGS__};                                     \
    static const tn_operator prefix##_operator = {                                                 \
        TN_OPERATOR_BEGIN("", of_name, version, words),                                            \
        TN_FIELDS(tn_axis_broadcast_params, tn_axis_broadcast_fields),                             \
        TN_INPUTS(of##_inputs),                                                                    \
        TN_OUTPUTS(of##_outputs),                                                                  \
        .infer = tn_axis_broadcast_infer,                                                          \
        .reference = legacy_reference,                                                             \
        .facet = of_facet,                                                                         \
        .user = (void *)(uintptr_t)&of##_operator,                                                 \
        TN_CASES(prefix##_cases)};
#include "elementwise/strings.h"
#include "elementwise/pairs.h"
#undef COMBINE
#undef PAIR
#undef LEGACY

#include "elementwise/clip.h"
#include "elementwise/singles.h"
#include "elementwise/swi_glu.h"

static const char *const p_relu_6_cases[] = {
    "| X=f32[2,3,5,7] slope=f32[3]", "| X=f32[2,3] slope=f32[1]", "| X=f64[2,4,3] slope=f64[4]",
    "| X=f16[7] slope=f16[]",
    "| X=f32[2,2]{-1,2,-3,-4} slope=f32[2]{0.5,0.25} | Y=f32[2,2]{-0.5,2,-1.5,-1}"};
static const tn_operator p_relu_6 = {
    TN_OPERATOR_BEGIN("", "PRelu", 6, "Rectified linear unit with a slope for each channel."),
    TN_NO_FIELDS,
    TN_INPUTS(p_relu_inputs),
    TN_OUTPUTS(p_relu_outputs),
    .infer = slope_infer,
    .reference = slope_reference,
    .user = (void *)(uintptr_t)&p_relu_operator,
    TN_CASES(p_relu_6_cases)};

/* ----------------------------------------------------------------------------------------------
 * operators of any number of inputs */

#define VARIADIC(prefix, of_name, combine, mean, of_traits, type, of_facet, text, result, words,   \
                 ...)                                                                              \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return tn_elementwise_fold(call, text, mean);                                              \
    }                                                                                              \
    static const tn_port prefix##_inputs[] = {                                                     \
        {"data_0", type, "tensors that broadcast with each other", TN_PORT_VARIADIC, 0, 1, 0}};    \
    static const tn_port prefix##_outputs[] = {TN_PORT(#prefix, "T", 0, result)};                  \
    static const char *const prefix##_cases[] = {                                                  \
        "| data_0=f32[2,3,5,7]",                                                                   \
        "| data_0=f32[2,3,5,7] data_0=f32[2,3,5,7]",                                               \
        "| data_0=f32[2,3,5,7] data_0=f32[3,1,1] data_0=f32[7]",                                   \
        "| data_0=f32[3] data_0=f32[] data_0=f32[2,1] data_0=f32[2,3] data_0=f32[1] "              \
        "data_0=f32[3]",                                                                           \
        "| data_0=f32[0,3] data_0=f32[1,3]",                                                       \
        "| data_0=f16[3,33] data_0=f16[33]",                                                       \
        "| data_0=f64[2,1,3] data_0=f64[4,1] data_0=f64[]",                                        \
        __VA_ARGS__};                                                                              \
    static const tn_operator prefix##_operator = {TN_OPERATOR_BEGIN("", of_name, 6, words),        \
                                                  .traits = of_traits,                             \
                                                  TN_NO_FIELDS,                                    \
                                                  TN_INPUTS(prefix##_inputs),                      \
                                                  TN_OUTPUTS(prefix##_outputs),                    \
                                                  .infer = tn_elementwise_infer,                   \
                                                  .reference = prefix##_reference,                 \
                                                  .facet = of_facet,                               \
                                                  TN_CASES(prefix##_cases)};                       \
    TN_VARIADIC_KERNELS(prefix, of_name, combine, mean);                                           \
    TN_FOLD_TYPES_KERNELS(prefix##_types, of_name, combine, combine, mean, false);
#define MEAN VARIADIC
#include "elementwise/variadic.h"
#undef VARIADIC

/* ----------------------------------------------------------------------------------------------
 * all of them */

#define MAP(prefix, ...)      &prefix##_operator,
#define CURVE(prefix, ...)    &prefix##_operator,
#define CHOICE(prefix, ...)   &prefix##_operator,
#define CLIP(prefix, ...)     &prefix##_operator,
#define COMBINE(prefix, ...)  &prefix##_operator,
#define PAIR(prefix, ...)     &prefix##_operator,
#define LEGACY(prefix, ...)   &prefix##_operator,
#define VARIADIC(prefix, ...) &prefix##_operator,
static const tn_operator *const elementwise_operators[] = {
#include "elementwise/maps.h"
#include "elementwise/pairs.h"
#include "elementwise/variadic.h"
    &bitwise_not_operator, &clip_11,          &equal_operator, &is_inf_10_operator,
    &is_inf_20_operator,   &is_nan_operator,  &not_operator,   &p_relu_6,
    &shrink_operator,      &swi_glu_operator, &where_operator};
#undef MAP
#undef CURVE
#undef CHOICE
#undef CLIP
#undef COMBINE
#undef PAIR
#undef LEGACY
#undef VARIADIC

/* What differs in the kernels of maps and pairs. */
#define READ_OF(map)                                 (IS_ACTIVATION(map) ? read_activation : read_numbers)
#define MAP(prefix, domain, name, version, map, ...) {domain, name, map, NULL},
#define CURVE(prefix, domain, name, version, map, text, type, in, out, result, words, count, ...)  \
    {domain, name, map, (count) == 0 ? NULL : READ_OF(map)},
#define CHOICE(prefix, domain, name, version, map, ...) {domain, name, map, READ_OF(map)},
#define CLIP                                            CURVE
static const tn_map_kernel_row map_rows[] = {
#include "elementwise/maps.h"
};
#undef MAP
#undef CURVE
#undef CHOICE
#define COMBINE(prefix, name, version, combine, first, ...) {name, combine, first},
#define PAIR(...)
#define LEGACY(...)
static const tn_combine_kernel_row combine_rows[] = {
#include "elementwise/pairs.h"
};

enum { MAPS = TN_COUNT(map_rows), COMBINES = TN_COUNT(combine_rows) };
static tn_map_kernel_user map_users[MAPS][TN_MAP_KERNEL_LEVELS];
static tn_combine_kernel_user combine_users[COMBINES][TN_COMBINE_KERNEL_LEVELS];
static tn_kernel made_kernels[MAPS * TN_MAP_KERNEL_COUNT + COMBINES * TN_COMBINE_KERNEL_COUNT];

static void make_once(void) {
    tn_kernel *kernels = made_kernels;
    for (int i = 0; i < MAPS; i++, kernels += TN_MAP_KERNEL_COUNT)
        tn_map_kernels_make(&map_rows[i], map_users[i], kernels);
    for (int i = 0; i < COMBINES; i++, kernels += TN_COMBINE_KERNEL_COUNT)
        tn_combine_kernels_make(&combine_rows[i], combine_users[i], kernels);
}

static const tn_kernel *make_kernels(uint64_t *out_count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_once);
    *out_count = TN_COUNT(made_kernels);
    return made_kernels;
}

#define VARIADIC(prefix, ...) TN_LEVEL_LIST(prefix), TN_LEVEL_LIST(prefix##_types),
static const char *const halves[] = {"f16, f16?, f16? -> f16", "bf16, bf16?, bf16? -> bf16"};
/* Clip's for floats, of which those for 16 bits are made. */
#define MAP(prefix, ...) ROW_##prefix,
#define CURVE            MAP
#define CHOICE           MAP
enum {
#include "elementwise/maps.h"
};
#define MADE_LEVELS(row)                                                                           \
    .levels = tn_levels, .users = {&made_kernels[(row)*TN_MAP_KERNEL_COUNT + 2],                   \
                                   &made_kernels[(row)*TN_MAP_KERNEL_COUNT + 1],                   \
                                   &made_kernels[(row)*TN_MAP_KERNEL_COUNT]}
TN_WIDENED_KERNELS_OF(clip_widened, MADE_LEVELS, ROW_clip, "Clip", TN_KERNEL_ANY_SHAPE, halves);

static const tn_kernel *const elementwise_kernels[] = {
#include "elementwise/variadic.h"
    TN_LEVEL_LIST(clip_types),
    TN_LEVEL_LIST(clip_widened),
};

#include "elementwise/rewrites.h"

extern const tn_layer tn_layer_elementwise;
const tn_layer tn_layer_elementwise = {TN_COUNT(elementwise_operators),
                                       elementwise_operators,
                                       TN_COUNT(elementwise_kernels),
                                       elementwise_kernels,
                                       TN_COUNT(elementwise_rewrites),
                                       elementwise_rewrites,
                                       make_kernels};
