/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopK: the k largest (or smallest) elements along an axis, best first, and where they were. Of
 * equal elements the one that comes first is better.
 */
#include <tenon/kit/lanes.h>
#include "kit/operator/layer.h"
#include "top_k/top_k.h"

#include <math.h>
#include <stdlib.h>

typedef struct top_k_params {
    uint64_t present;
    int64_t axis, k;
    bool largest, sorted;
} top_k_params;

enum { TOP_K_X = 0, TOP_K_COUNT = 1 };

#define FIELD_AXIS                                                                                 \
    TN_FIELD(top_k_params, axis, TN_FIELD_I64, TN_OPTIONAL, "-1",                                  \
             "the axis; negative: from the end")
static const tn_field top_k_1_fields[] = {
    FIELD_AXIS,
    TN_FIELD_RANGE(top_k_params, k, TN_FIELD_I64, TN_REQUIRED, NULL, 0, 9223372036854775807.0,
                   "how many"),
};
static const tn_field top_k_10_fields[] = {FIELD_AXIS};
static const tn_field top_k_11_fields[] = {
    FIELD_AXIS,
    TN_FIELD(top_k_params, largest, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the largest are meant instead of the smallest"),
    TN_FIELD(top_k_params, sorted, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether they must be in order; they are all the same"),
};

bool tn_top_k_is_largest(const tn_call *call) {
    return call->op->since_version < 11 || ((const top_k_params *)call->params)->largest;
}

tn_status tn_top_k_read(tn_call *call, tn_lanes *out_lanes, uint32_t *out_axis, int64_t *out_k) {
    const top_k_params *params = call->params;
    uint32_t count = 0;
    TN_TRY(tn_infer_require_rank(call, TOP_K_X, 1, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[TOP_K_X];
    *out_k = params->k;
    if (call->op->since_version >= 10) {
        TN_TRY(tn_infer_integers(call, TOP_K_COUNT, 1, out_k, &count));
        if (count != 1) return call->host->fail(call, TN_ERROR_SHAPE, "input 'K' is empty");
    }
    TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, out_axis));
    *out_lanes = tn_lanes_along(x, *out_axis, *out_axis + 1);
    if (*out_k < 0 || *out_k > out_lanes->count)
        return call->host->fail(call, TN_ERROR_RANGE, "%lld of the %lld elements of an axis",
                                (long long)*out_k, (long long)out_lanes->count);
    return TN_OK;
}

static tn_status top_k_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK], k = 0;
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_top_k_read(call, &lanes, &axis, &k));
    const tn_tensor *x = call->inputs[TOP_K_X];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = i == axis ? k : x->shape[i];
    TN_TRY(tn_infer_set_shape(call, 0, x->rank, shape));
    return tn_infer_set_shape(call, 1, x->rank, shape);
}

/* An element to be sorted: the smallest key is the best. NaN counts as the largest number. */
typedef struct entry {
    double real;
    int64_t whole; /* of integers; all of 64 bits in their order */
    int64_t place;
} entry;

static int compare_entries(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->real != b->real) return a->real < b->real ? -1 : 1;
    if (a->whole != b->whole) return a->whole < b->whole ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static entry make_entry(const tn_tensor *x, int64_t at, int64_t place, bool is_largest) {
    entry result = {.place = place};
    if (tn_element_is_real(x->type)) {
        const double value = tn_element_f64(x, at);
        /* Infinities may be there too: NaN lies beyond them in `whole`. */
        result.real = isnan(value) ? (double)INFINITY : value;
        result.whole = isnan(value);
        if (is_largest) {
            result.real = -result.real;
            result.whole = -result.whole;
        }
        return result;
    }
    const uint64_t sign = x->type == TN_U64 ? UINT64_C(1) << 63 : 0;
    const int64_t value = (int64_t)((uint64_t)tn_element_i64(x, at) ^ sign);
    result.whole = is_largest ? ~value : value;
    return result;
}

static void choose(const tn_call *call, const tn_lanes *lanes, int64_t k, int64_t lane,
                   bool is_largest, entry *entries) {
    const tn_tensor *x = call->inputs[TOP_K_X], *values = call->outputs[0];
    const tn_tensor *indices = tn_infer_output(call, 1);
    const size_t bytes = tn_element_bytes(x->type);
    const int64_t from = tn_lanes_first(lanes, lane);
    const int64_t to = lane / lanes->inner * k * lanes->inner + lane % lanes->inner;
    for (int64_t i = 0; i < lanes->count; i++)
        entries[i] = make_entry(x, from + i * lanes->inner, i, is_largest);
    qsort(entries, (size_t)lanes->count, sizeof(*entries), compare_entries);
    for (int64_t i = 0; i < k; i++) {
        const int64_t at = to + i * lanes->inner, place = entries[i].place;
        if (values)
            memcpy((char *)values->data + (size_t)at * bytes,
                   (const char *)x->data + (size_t)(from + place * lanes->inner) * bytes, bytes);
        if (indices) ((int64_t *)indices->data)[at] = place;
    }
}

static tn_status top_k_reference(tn_call *call) {
    const bool is_largest = tn_top_k_is_largest(call);
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    int64_t k = 0, bytes;
    TN_TRY(tn_top_k_read(call, &lanes, &axis, &k));
    if (tn_element_count(call->inputs[TOP_K_X]) == 0 || k == 0) return TN_OK;
    if (!tn_infer_multiply(lanes.count, (int64_t)sizeof(entry), &bytes)) bytes = INT64_MAX;
    entry *entries = call->host->allocate(call->host, (uint64_t)bytes, 64);
    if (!entries)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory to sort %lld elements",
                                (long long)lanes.count);
    for (int64_t lane = 0; lane < lanes.outer * lanes.inner; lane++)
        choose(call, &lanes, k, lane, is_largest, entries);
    call->host->deallocate(call->host, entries);
    return TN_OK;
}

static const tn_port top_k_inputs[] = {
    TN_PORT("X", "T:number", 0, "any tensor"),
    TN_PORT("K", "i64", TN_PORT_VALUE_NEEDED, "how many"),
};
static const tn_port top_k_outputs[] = {
    TN_PORT("Values", "T", 0, "the elements, best first"),
    TN_PORT("Indices", "i64", 0, "where they were along the axis"),
};
static const char *const top_k_1_cases[] = {
    "k=2 | X=f32[3,4]",
    "k=1 axis=0 | X=f64[3,4,2]",
    "k=0 | X=f32[3]",
};
#define CASES_10                                                                                   \
    "| X=f32[3,4] K=i64[1]{3}", "axis=1 | X=f32[2,5,3] K=i64[1]{2}",                               \
        "| X=i64[4]{1,3,3,2} K=i64[1]{4}", "| X=f16[2,33] K=i64[1]{5}",                            \
        "| X=f32[5]{nan,1,inf,-inf,nan} K=i64[1]{5}", "| X=f32[0,3] K=i64[1]{2}",                  \
        "| X=f32[3,2500] K=i64[1]{37}", "| X=i8[2,300] K=i64[1]{300}",                             \
        "| X=f64[4]{-0.0,0,-0.0,1} K=i64[1]{4}", "axis=0 | X=u16[70,3] K=i64[1]{9}"
static const char *const top_k_10_cases[] = {CASES_10};
static const char *const top_k_11_cases[] = {
    CASES_10,
    "largest=0 axis=0 | X=f32[3,4] K=i64[1]{2}",
    "largest=0 sorted=0 | X=u64[3]{18446744073709551615,0,7} K=i64[1]{3}",
    "largest=0 | X=f32[5]{nan,1,inf,-inf,nan} K=i64[1]{5}",
};

#define TOP_K(version, number_of_inputs)                                                           \
    TN_OPERATOR_VERSION(                                                                           \
        top_k, "", "TopK", version, "The largest or smallest elements along an axis.",             \
        TN_FIELDS(top_k_params, top_k_##version##_fields), TN_OUTPUTS(top_k_outputs),              \
        TN_CASES(top_k_##version##_cases), .traits = TN_OPERATOR_SELECTS,                          \
        .port_size = sizeof(tn_port), .input_count = number_of_inputs, .inputs = top_k_inputs)
TOP_K(1, 1);
TOP_K(10, 2);
TOP_K(11, 2);

TN_LAYER(top_k, TN_OPERATORS(&top_k_1, &top_k_10, &top_k_11), TN_KERNELS(TN_LEVEL_LIST(tn_top_k)));
