/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions along axes, a row each: ReduceSum and its like. Their axes are a field first and an
 * input later (kit/reduce/reduce.h). Those that have kernels are in kernels.h.
 */
#include "kit/operator/layer.h"
#include "kit/reduce/reduce.h"
#include "kit/reduce/reduce_kernel.h"
#include "kit/reduce/reduce_types.h"

#include <tenon/kit/known_steps.h>
#include <tenon/plugin/plane_mean.h>

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * references: what a lane becomes */

static double load(const tn_reduce_lane *lane) {
    return tn_element_f64(lane->x, lane->at);
}

static int64_t load_whole(const tn_reduce_lane *lane) {
    return tn_element_i64(lane->x, lane->at);
}

/* Of a result that is no integer what is behind the point is dropped. */
static int64_t truncate(const tn_reduce_lane *lane, double value) {
    return tn_element_round_i64(trunc(value), lane->x->type);
}

static double reduce_sum_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += load(lane);
    return sum;
}

static int64_t reduce_sum_whole(tn_reduce_lane *lane) {
    uint64_t sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += (uint64_t)load_whole(lane);
    return (int64_t)sum;
}

static double reduce_mean_real(tn_reduce_lane *lane) {
    return reduce_sum_real(lane) / (double)lane->count; /* NaN for no elements */
}

/* Rounded towards zero; zero for no elements. */
static int64_t reduce_mean_whole(tn_reduce_lane *lane) {
    const int64_t sum = reduce_sum_whole(lane);
    if (lane->count == 0) return 0;
    if (lane->x->type == TN_U64) return (int64_t)((uint64_t)sum / (uint64_t)lane->count);
    return sum / lane->count;
}

static double reduce_l1_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += fabs(load(lane));
    return sum;
}

static int64_t reduce_l1_whole(tn_reduce_lane *lane) {
    uint64_t sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const int64_t value = load_whole(lane);
        sum += value < 0 && lane->x->type != TN_U64 ? 0 - (uint64_t)value : (uint64_t)value;
    }
    return (int64_t)sum;
}

static double reduce_sum_square_real(tn_reduce_lane *lane) {
    double sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double value = load(lane);
        sum += value * value;
    }
    return sum;
}

static int64_t reduce_sum_square_whole(tn_reduce_lane *lane) {
    uint64_t sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += (uint64_t)load_whole(lane) * (uint64_t)load_whole(lane);
    return (int64_t)sum;
}

static double reduce_l2_real(tn_reduce_lane *lane) {
    return sqrt(reduce_sum_square_real(lane));
}

static int64_t reduce_l2_whole(tn_reduce_lane *lane) {
    return truncate(lane, reduce_l2_real(lane));
}

static double reduce_log_sum_real(tn_reduce_lane *lane) {
    return log(reduce_sum_real(lane));
}

static int64_t reduce_log_sum_whole(tn_reduce_lane *lane) {
    return truncate(lane, reduce_log_sum_real(lane));
}

/* The largest element is taken out first, so that nothing overflows; NaN stays NaN. */
static double reduce_log_sum_exp_real(tn_reduce_lane *lane) {
    double largest = -(double)INFINITY, sum = 0;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double x = load(lane);
        if (isnan(x)) return x;
        largest = fmax(largest, x);
    }
    if (isinf(largest)) return largest;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        sum += exp(load(lane) - largest);
    return largest + log(sum);
}

static int64_t reduce_log_sum_exp_whole(tn_reduce_lane *lane) {
    return truncate(lane, reduce_log_sum_exp_real(lane));
}

static double reduce_prod_real(tn_reduce_lane *lane) {
    double product = 1;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        product *= load(lane);
    return product;
}

static int64_t reduce_prod_whole(tn_reduce_lane *lane) {
    uint64_t product = 1;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
        product *= (uint64_t)load_whole(lane);
    return (int64_t)product;
}

/* NaN where there is one; of no elements the infinity that every element replaces. */
static double find_extreme(tn_reduce_lane *lane, bool is_largest) {
    double found = is_largest ? -(double)INFINITY : (double)INFINITY;
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const double value = load(lane);
        if (isnan(value)) return value;
        if (is_largest ? value > found : value < found) found = value;
    }
    return found;
}

/* The lowest or highest number of a type; of u64 the int64 of the same bits. */
static int64_t limit_of(tn_type type, bool is_lowest) {
    const uint32_t bits = 8 * (uint32_t)tn_element_bytes(type);
    const bool is_signed = type >= TN_I64 && type <= TN_I8;
    const int64_t highest =
        type == TN_BOOL ? 1 : (int64_t)(UINT64_MAX >> (is_signed ? 65 - bits : 64 - bits));
    if (!is_lowest) return highest;
    return is_signed ? -highest - 1 : 0;
}

static int64_t find_extreme_whole(tn_reduce_lane *lane, bool is_largest) {
    const bool is_natural = lane->x->type == TN_U64;
    int64_t found = limit_of(lane->x->type, is_largest);
    for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane)) {
        const int64_t value = load_whole(lane);
        const bool is_above = is_natural ? (uint64_t)value > (uint64_t)found : value > found;
        if (value != found && is_above == is_largest) found = value;
    }
    return found;
}

static double reduce_max_real(tn_reduce_lane *lane) {
    return find_extreme(lane, true);
}
static int64_t reduce_max_whole(tn_reduce_lane *lane) {
    return find_extreme_whole(lane, true);
}
static double reduce_min_real(tn_reduce_lane *lane) {
    return find_extreme(lane, false);
}
static int64_t reduce_min_whole(tn_reduce_lane *lane) {
    return find_extreme_whole(lane, false);
}

/* ----------------------------------------------------------------------------------------------
 * cases: with the axes as a field, and as an input */

#define AS_FIELD(x)                                                                                \
    "| data=" x, "axes=[1] | data=" x, "axes=[0,-1] keepdims=0 | data=" x,                         \
        "axes=[0] keepdims=0 | data=i32[2,3]{1,2,3,4,5,6}",                                        \
        "axes=[0] | data=f64[3,2]{1,2,3,4,5,6}", "axes=[-1] | data=f16[2,2]{1,2,3,4}"
#define BLOCKS_OF_AXES                                                                             \
    "axes=[1,2] | data=f32[3,5,7,37]", "axes=[1] keepdims=0 | data=f32[2,3,149]",                  \
        "axes=[-2,-1] | data=f32[2,8,14,14]"
#define SUMS_AS_FIELD                                                                              \
    BLOCKS_OF_AXES, "| data=f32[2,3,4]", "axes=[1] | data=f32[2,3,4]",                             \
        "axes=[0,-1] keepdims=0 | data=f32[2,3,4]"
#define AS_INPUT(x)                                                                                \
    "| data=" x, "noop_with_empty_axes=1 | data=" x, "| data=" x " axes=i64[1]{1}",                \
        "keepdims=0 | data=" x " axes=i64[2]{0,-1}",                                               \
        "keepdims=0 | data=i32[2,3]{1,2,3,4,5,6} axes=i64[1]{0}",                                  \
        "| data=bf16[4]{1,2,3,4} axes=i64[1]{0}"
#define LARGER_AS_INPUT                                                                            \
    "| data=f32[2,3,5,7] axes=i64[2]{1,3}", "| data=f32[64,512] axes=i64[1]{-1}",                  \
        "keepdims=0 | data=f32[3,17,4,5] axes=i64[3]{0,2,3}"
#define SOME     "f32[2,3]"
#define POSITIVE "f32[2,3]{1,2,3,4,5,6}"

static const char *const as_field[] = {AS_FIELD(SOME), "| data=f32[]{0.5}"};
#define OF_TYPES                                                                                   \
    "| data=f64[3,700] axes=i64[1]{1}", "| data=f64[5,3,261] axes=i64[1]{1}",                      \
        "keepdims=0 | data=i32[2,9,300] axes=i64[2]{1,2}", "| data=u64[5,3] axes=i64[1]{0}"
static const char *const as_input[] = {AS_INPUT(SOME), "| data=i64[2]{7,9}", LARGER_AS_INPUT,
                                       OF_TYPES, "| data=f32[2,0,4] axes=i64[1]{1}"};
static const char *const lanes_as_field[] = {AS_FIELD(SOME), BLOCKS_OF_AXES, "| data=f32[]{0.5}"};
static const char *const positive_as_field[] = {AS_FIELD(POSITIVE), "| data=f32[]{0.5}"};
static const char *const positive_as_input[] = {AS_INPUT(POSITIVE), "| data=i64[2]{7,9}"};
static const char *const not_empty_as_input[] = {
    AS_INPUT(SOME),
    "| data=i64[2]{7,9}",
    LARGER_AS_INPUT,
    "| data=f32[2,900] axes=i64[1]{1}",
    "| data=f64[3,300,5] axes=i64[1]{1}",
    "| data=f32[4,3]{nan,1,2,-inf,-inf,-inf,inf,0,1,3,3,3} axes=i64[1]{1}",
    "| data=f32[3,4]{nan,-inf,inf,3,1,-inf,0,3,2,-inf,1,3} axes=i64[1]{0}",
    "| data=f32[3,2]{nan,nan,inf,nan,-inf,nan} axes=i64[1]{1}",
    "| data=f16[2,3]{nan,inf,-inf,nan,nan,nan} axes=i64[1]{0}",
    "| data=f64[3,2]{nan,nan,inf,nan,-inf,nan} axes=i64[1]{1}",
    "| data=f64[2,3]{nan,inf,-inf,nan,nan,nan} axes=i64[1]{0}"};
static const char *const extremes_as_input[] = {AS_INPUT(SOME),
                                                "| data=u64[2]{18446744073709551615,7}",
                                                LARGER_AS_INPUT,
                                                OF_TYPES,
                                                "| data=f64[2,3]{nan,1,2,3,nan,4} axes=i64[1]{1}",
                                                "| data=bool[2,2]{0,1,0,0} axes=i64[1]{1}",
                                                "| data=i8[0,2] axes=i64[1]{0}",
                                                "| data=f32[2,0,4] axes=i64[1]{1}"};
static const char *const sums_as_field[] = {
    SUMS_AS_FIELD,
    "axes=[1] | data=f32[2,0,4]",
    "| data=f32[]",
    "axes=[2] keepdims=0 | data=i32[3,5,7]",
    "axes=[0] | data=f16[33,3]",
    "axes=[1] | data=f32[4,4096]",
    "axes=[1] | data=f32[2,3000,24]",
};
static const char *const means_as_field[] = {
    SUMS_AS_FIELD,
    "| data=f32[]",
    "axes=[2] keepdims=0 | data=i32[3,5,7]",
    "axes=[-1] | data=f16[3,33]",
    "axes=[2,3] | data=f32[1,1280,7,7]",
};
static const char *const sums_as_input[] = {
    "| data=f32[2,3,4]",
    "noop_with_empty_axes=1 | data=f32[2,3,4]",
    "| data=f32[2,3,4] axes=i64[1]{1}",
    "keepdims=0 | data=f32[2,3,4] axes=i64[2]{0,-1}",
    "keepdims=0 | data=i32[3,5,7] axes=i64[1]{2}",
    "| data=f16[33,3] axes=i64[1]{0}",
    "| data=f32[]",
    "| data=f32[64,512] axes=i64[1]{-1}",
    OF_TYPES,
    "| data=i64[2,2]{9223372036854775807,1,-9223372036854775807,-9} axes=i64[1]{1}",
};

/* ----------------------------------------------------------------------------------------------
 * tables */

/* Of all axes behind the second, which stay with an extent of 1. */
static tn_status reduce_mean_facet(tn_call *call, uint32_t input, const char *name,
                                   tn_facet *out_facet) {
    const tn_reduce_params *params = call->params;
    const tn_tensor *x = call->inputs[0];
    const bool are_known = call->input_count < 2 || !call->inputs[1] || call->inputs[1]->data;
    uint32_t mask = 0;
    if (input != 0 || !tn_known_is(name, TN_FACET_PLANE_MEAN) || !params->keepdims || !are_known ||
        x->rank < 3 || !tn_element_is_real(x->type))
        return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_reduce_axes(call, &mask));
    return mask == (1u << x->rank) - 4 ? tn_known_plane_mean(name, out_facet)
                                       : TN_ERROR_UNSUPPORTED;
}

#define REDUCTION_VERSION(prefix, name, version, words, fields, count_of_inputs, cases,            \
                          facet_callback)                                                          \
    static const tn_operator prefix##_##version = {                                                \
        TN_OPERATOR_BEGIN("", name, version, words),                                               \
        TN_FIELDS(tn_reduce_params, fields),                                                       \
        .port_size = sizeof(tn_port),                                                              \
        .input_count = count_of_inputs,                                                            \
        .inputs = prefix##_inputs,                                                                 \
        TN_OUTPUTS(prefix##_outputs),                                                              \
        .infer = tn_reduce_infer,                                                                  \
        .reference = prefix##_reference,                                                           \
        .facet = facet_callback,                                                                   \
        TN_CASES(cases),                                                                           \
    }
/* `later` is the opset that made the axes an input. */
#define REDUCTION(prefix, name, later, types, words, result, earlier_cases, later_cases, facet)    \
    static const tn_reduce_function prefix##_function = {prefix##_real, prefix##_whole};           \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return tn_reduce_compute(call, &prefix##_function);                                        \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return tn_reduce_compute_parallel(call, &prefix##_function);                               \
    }                                                                                              \
    TN_CPU_KERNEL_OF(prefix##_any, TN_KERNEL_DETERMINISTIC | TN_KERNEL_FALLBACK, "", name,         \
                     "lanes_of_any_type", "Any axes and types, lane by lane, on all threads.",     \
                     .run = prefix##_run);                                                         \
    static const tn_port prefix##_inputs[] = {                                                     \
        TN_PORT("data", "T:" types, 0, "any tensor"),                                              \
        TN_PORT("axes", "i64", TN_PORT_OPTIONAL | TN_PORT_VALUE_NEEDED, "axes to reduce")};        \
    static const tn_port prefix##_outputs[] = {TN_PORT("reduced", "T", 0, result)};                \
    REDUCTION_VERSION(prefix, name, 1, words, tn_reduce_fields_axes, 1, earlier_cases, facet);     \
    REDUCTION_VERSION(prefix, name, later, words, tn_reduce_fields_input, 2, later_cases, facet)

REDUCTION(reduce_l1, "ReduceL1", 18, "number", "Sums of absolute values along axes.",
          "the sums; integers wrap", lanes_as_field, as_input, NULL);
REDUCTION(reduce_l2, "ReduceL2", 18, "number", "Euclidean lengths along axes.",
          "the lengths; of integers, rounded towards zero", lanes_as_field, as_input, NULL);
REDUCTION(reduce_log_sum, "ReduceLogSum", 18, "number", "Logarithms of sums along axes.",
          "the logarithms; of integers, rounded towards zero", positive_as_field, positive_as_input,
          NULL);
REDUCTION(reduce_log_sum_exp, "ReduceLogSumExp", 18, "number",
          "Logarithms of sums of exponentials along axes.",
          "the logarithms; of integers, rounded towards zero", as_field, not_empty_as_input, NULL);
REDUCTION(reduce_max, "ReduceMax", 18, "number|bool", "Largest elements along axes.",
          "the largest; of bool: whether any is true", lanes_as_field, extremes_as_input, NULL);
REDUCTION(reduce_mean, "ReduceMean", 18, "number", "Means along axes.",
          "the means; of integers, rounded towards zero", means_as_field, sums_as_input,
          reduce_mean_facet);
REDUCTION(reduce_min, "ReduceMin", 18, "number|bool", "Smallest elements along axes.",
          "the smallest; of bool: whether all are true", lanes_as_field, extremes_as_input, NULL);
REDUCTION(reduce_prod, "ReduceProd", 18, "number", "Products along axes.",
          "the products; integers wrap", as_field, as_input, NULL);
REDUCTION(reduce_sum, "ReduceSum", 13, "number", "Sums along axes.", "the sums; integers wrap",
          sums_as_field, sums_as_input, NULL);
REDUCTION(reduce_sum_square, "ReduceSumSquare", 18, "number", "Sums of squares along axes.",
          "the sums; integers wrap", lanes_as_field, as_input, NULL);

#define FLOATS(...)      TN_REDUCE_KERNELS(__VA_ARGS__);
#define HOST_FLOATS(...) TN_REDUCE_KERNELS(__VA_ARGS__);
#define TYPES(prefix, name, combine, map, finish, ...)                                             \
    TN_REDUCE_TYPES_KERNELS(prefix##_types, name, TN_COMBINE_##combine, TN_REDUCE_TYPES_##map,     \
                            TN_REDUCE_TYPES_##finish);
#include "reduce/kernels.h"

static const tn_kernel *const reduce_kernels[] = {
#define FLOATS(prefix, ...)      TN_LEVEL_LIST(prefix),
#define HOST_FLOATS(prefix, ...) TN_LEVEL_LIST(prefix),
#define TYPES(prefix, ...)       TN_LEVEL_LIST(prefix##_types), &prefix##_any,
#include "reduce/kernels.h"
};
TN_LAYER(reduce,
         TN_OPERATORS(&reduce_l1_1, &reduce_l1_18, &reduce_l2_1, &reduce_l2_18, &reduce_log_sum_1,
                      &reduce_log_sum_18, &reduce_log_sum_exp_1, &reduce_log_sum_exp_18,
                      &reduce_max_1, &reduce_max_18, &reduce_mean_1, &reduce_mean_18, &reduce_min_1,
                      &reduce_min_18, &reduce_prod_1, &reduce_prod_18, &reduce_sum_1,
                      &reduce_sum_13, &reduce_sum_square_1, &reduce_sum_square_18),
         reduce_kernels);
