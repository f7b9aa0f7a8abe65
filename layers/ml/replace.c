/* SPDX-License-Identifier: Apache-2.0 */
/* Binarizer, which holds elements against a threshold, and Imputer, which puts a column's value
 * instead of one that stands for "missing". */
#include "ml/scores.h"

#include <math.h>
#include <tenon/kit/parallel.h>

enum { GRAIN = 16384 };

typedef tn_status (*elements_body)(void *user, int64_t begin, int64_t end, uint32_t thread);

static tn_status for_all(tn_call *call, elements_body body, void *user, bool is_parallel) {
    const int64_t count = tn_element_count(call->inputs[0]);
    if (count == 0) return TN_OK;
    if (!is_parallel) return body(user, 0, count, 0);
    return call->host->parallel_for(call, count, GRAIN, body, user);
}

#define KERNEL(prefix, operator_name)                                                              \
    static tn_status prefix##_reference(tn_call *call) {                                           \
        return prefix##_compute(call, false);                                                      \
    }                                                                                              \
    static tn_status prefix##_run(tn_call *call) {                                                 \
        return prefix##_compute(call, true);                                                       \
    }                                                                                              \
    TN_CPU_KERNEL_OF(prefix##_elements, TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE, TN_ML,      \
                     operator_name, "elements", "Elements on all threads.", .run = prefix##_run)

/* ----------------------------------------------------------------------------------------------
 * Binarizer */

typedef struct binarizer_params {
    uint64_t present;
    float threshold;
} binarizer_params;

static tn_status binarizer_infer(tn_call *call) {
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status binarize(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const float threshold = ((const binarizer_params *)call->params)->threshold;
    (void)thread;
    if (x->type == TN_F32) {
        for (int64_t i = begin; i < end; i++)
            ((float *)y->data)[i] = ((const float *)x->data)[i] > threshold ? 1.0f : 0.0f;
        return TN_OK;
    }
    for (int64_t i = begin; i < end; i++)
        tn_element_set_i64(y, i, tn_element_f64(x, i) > (double)threshold);
    return TN_OK;
}

static tn_status binarizer_compute(tn_call *call, bool is_parallel) {
    return for_all(call, binarize, call, is_parallel);
}
KERNEL(binarizer, "Binarizer");

static const tn_field binarizer_fields[] = {TN_FIELD(binarizer_params, threshold, TN_FIELD_F32,
                                                     TN_OPTIONAL, "0",
                                                     "what is above it becomes 1, all else 0")};
static const tn_port binarizer_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "any tensor")};
static const tn_port binarizer_outputs[] = {TN_PORT("Y", "T", 0, "of X's shape")};
static const char *const binarizer_cases[] = {
    "| X=f32[4,3]",           "threshold=0.5 | X=f64[2,3,4]",
    "threshold=2 | X=i64[7]", "threshold=-1.5 | X=i32[]",
    "| X=f32[3]{nan,0,-0.0}",
};
TN_OPERATOR(binarizer, TN_ML, "Binarizer", 1, "1 above a threshold, else 0.",
            TN_FIELDS(binarizer_params, binarizer_fields));

/* ----------------------------------------------------------------------------------------------
 * Imputer */

typedef struct imputer_params {
    uint64_t present;
    tn_f32s imputed_value_floats;
    tn_i64s imputed_value_int64s;
    float replaced_value_float;
    int64_t replaced_value_int64;
} imputer_params;

static bool is_real(const tn_call *call) {
    return tn_element_is_real(call->inputs[0]->type);
}

static tn_status imputer_infer(tn_call *call) {
    const imputer_params *params = call->params;
    int64_t rows = 0, columns = 0;
    TN_TRY(tn_rows_read(call, 0, &rows, &columns));
    const char *name = is_real(call) ? "imputed_value_floats" : "imputed_value_int64s";
    const uint64_t count =
        is_real(call) ? params->imputed_value_floats.count : params->imputed_value_int64s.count;
    if (count != 1 && (count == 0 || count != (uint64_t)columns))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "field '%s' has %llu values, input 'X' has %lld columns", name,
                                (unsigned long long)count, (long long)columns);
    return tn_infer_copy_shape(call, 0, 0);
}

static tn_status impute(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const imputer_params *params = call->params;
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const int64_t columns = x->shape[x->rank - 1];
    const tn_f32s *floats = &params->imputed_value_floats;
    const tn_i64s *integers = &params->imputed_value_int64s;
    const double missing = (double)params->replaced_value_float;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t column = i % columns;
        if (is_real(call)) {
            const double value = tn_element_f64(x, i);
            const bool is_missing = value == missing || (isnan(missing) && isnan(value));
            tn_element_set_f64(
                y, i, is_missing ? (double)floats->items[floats->count > 1 ? column : 0] : value);
        } else {
            const int64_t value = tn_element_i64(x, i);
            const bool is_missing = value == params->replaced_value_int64;
            tn_element_set_i64(
                y, i, is_missing ? integers->items[integers->count > 1 ? column : 0] : value);
        }
    }
    return TN_OK;
}

static tn_status imputer_compute(tn_call *call, bool is_parallel) {
    return for_all(call, impute, call, is_parallel);
}
KERNEL(imputer, "Imputer");

static const tn_field imputer_fields[] = {
    TN_FIELD(imputer_params, imputed_value_floats, TN_FIELD_F32S, TN_OPTIONAL, NULL,
             "what replaces missing floating-point numbers: one value, or one a column"),
    TN_FIELD(imputer_params, imputed_value_int64s, TN_FIELD_I64S, TN_OPTIONAL, NULL,
             "what replaces missing integers"),
    TN_FIELD(imputer_params, replaced_value_float, TN_FIELD_F32, TN_OPTIONAL, "0",
             "the floating-point number that stands for missing; NaN is possible"),
    TN_FIELD(imputer_params, replaced_value_int64, TN_FIELD_I64, TN_OPTIONAL, "0",
             "the integer that stands for missing"),
};
static const tn_port imputer_inputs[] = {TN_PORT("X", TN_ML_NUMBERS, 0, "[N, C], or [C]")};
static const tn_port imputer_outputs[] = {TN_PORT("Y", "T", 0, "of X's shape")};
static const char *const imputer_cases[] = {
    "imputed_value_floats=[7,8,9] replaced_value_float=nan | X=f32[2,3]{1,nan,nan,2,0,nan} | "
    "Y=f32[2,3]{1,8,9,2,0,9}",
    "imputed_value_floats=[0.5] | X=f64[2,2]{0,1,-0.0,3} | Y=f64[2,2]{0.5,1,0.5,3}",
    "imputed_value_int64s=[5,6] replaced_value_int64=-1 | X=i64[2,2]{-1,-1,9007199254740993,2} | "
    "Y=i64[2,2]{5,6,9007199254740993,2}",
    "imputed_value_int64s=[5] | X=i32[4]",
    "imputed_value_floats=[0.5] replaced_value_float=1 | X=f32[0,3]",
};
TN_OPERATOR(imputer, TN_ML, "Imputer", 1, "Missing values replaced by constants.",
            TN_FIELDS(imputer_params, imputer_fields));

TN_LAYER(ml_replace, TN_OPERATORS(&binarizer_1, &imputer_1),
         TN_KERNELS(&binarizer_elements, &imputer_elements));
