/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unique: the distinct elements of a tensor, or its distinct slices along an axis, in their order
 * or in that of their first occurrence; where each was first, which one each item is, and how often
 * each occurs. How many there are is known when it has run. Slices are ordered by their elements in
 * row-major order; NaN is above all other numbers and equals itself; -0 equals 0; strings are
 * ordered by their bytes.
 */
#include "kit/operator/strings.h"
#include "unique/unique.h"

#include <math.h>
#include <stdlib.h>

static const tn_field unique_fields[] = {
    TN_FIELD(tn_unique_params, axis, TN_FIELD_I64, TN_OPTIONAL, NULL,
             "the axis; negative: from the end; absent: all elements"),
    TN_FIELD(tn_unique_params, sorted, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether the output is in order instead of in that of first occurrence"),
};

static bool has_axis(const tn_call *call) {
    return ((const tn_unique_params *)call->params)->present & 1;
}

tn_status tn_unique_read(tn_call *call, tn_lanes *out_lanes, uint32_t *out_axis) {
    const tn_unique_params *params = call->params;
    uint32_t axis = 0;
    TN_TRY(tn_infer_require_rank(call, 0, has_axis(call) ? 1 : 0, TN_MAX_RANK));
    const tn_tensor *x = call->inputs[0];
    if (has_axis(call)) TN_TRY(tn_infer_axis(call, "field 'axis'", params->axis, x->rank, &axis));
    *out_lanes = has_axis(call) ? tn_lanes_along(x, axis, axis + 1) : tn_lanes_along(x, 0, x->rank);
    *out_axis = axis;
    return TN_OK;
}

static tn_status unique_infer(tn_call *call) {
    int64_t shape[TN_MAX_RANK];
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_unique_read(call, &lanes, &axis));
    const tn_tensor *x = call->inputs[0];
    for (uint32_t i = 0; i < x->rank; i++)
        shape[i] = x->shape[i];
    if (has_axis(call))
        TN_TRY(tn_infer_set_shape(call, TN_UNIQUE_Y, x->rank, shape));
    else
        TN_TRY(tn_infer_set_shape(call, TN_UNIQUE_Y, 1, &lanes.count));
    for (uint32_t i = TN_UNIQUE_INDICES; i <= TN_UNIQUE_COUNTS; i++)
        TN_TRY(tn_infer_set_shape(call, i, 1, &lanes.count));
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * reference */

typedef struct entry {
    const tn_tensor *x;
    const tn_lanes *lanes;
    int64_t item;
} entry;

static int compare_strings(const tn_tensor *x, int64_t left, int64_t right) {
    uint64_t a_bytes, b_bytes;
    const char *a = tn_string_at(x, (uint64_t)left, &a_bytes);
    const char *b = tn_string_at(x, (uint64_t)right, &b_bytes);
    const int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
    return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int compare_elements(const tn_tensor *x, int64_t left, int64_t right) {
    if (x->type == TN_STRING) return compare_strings(x, left, right);
    if (tn_element_is_real(x->type)) {
        const double a = tn_element_f64(x, left), b = tn_element_f64(x, right);
        if (isnan(a) || isnan(b)) return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
        return (a > b) - (a < b);
    }
    const int64_t a = tn_element_i64(x, left), b = tn_element_i64(x, right);
    if (x->type == TN_U64) return ((uint64_t)a > (uint64_t)b) - ((uint64_t)a < (uint64_t)b);
    return (a > b) - (a < b);
}

static int compare_items(const entry *a, const entry *b) {
    const tn_lanes *lanes = a->lanes;
    for (int64_t outer = 0; outer < lanes->outer; outer++) {
        for (int64_t inner = 0; inner < lanes->inner; inner++) {
            const int64_t first = outer * lanes->count * lanes->inner + inner;
            const int order = compare_elements(a->x, first + a->item * lanes->inner,
                                               first + b->item * lanes->inner);
            if (order != 0) return order;
        }
    }
    return 0;
}

static int compare_entries(const void *left, const void *right) {
    const entry *a = left, *b = right;
    const int order = compare_items(a, b);
    return order != 0 ? order : (a->item > b->item) - (a->item < b->item);
}

static void sort_items(const tn_call *call, const tn_lanes *lanes, entry *entries,
                       const tn_unique_order *order) {
    for (int64_t i = 0; i < lanes->count; i++)
        entries[i] = (entry){call->inputs[0], lanes, i};
    qsort(entries, (size_t)lanes->count, sizeof(*entries), compare_entries);
    for (int64_t i = 0; i < lanes->count; i++) {
        order->items[i] = entries[i].item;
        order->begins[i] = i == 0 || compare_items(&entries[i - 1], &entries[i]) != 0;
    }
}

static tn_status unique_reference(tn_call *call) {
    tn_lanes lanes = {0};
    uint32_t axis = 0;
    TN_TRY(tn_unique_read(call, &lanes, &axis));
    const tn_host *host = call->host;
    const uint64_t bytes = tn_unique_order_bytes(lanes.count);
    entry *entries = NULL;
    void *memory = NULL;
    if (bytes != 0 && lanes.count < INT64_MAX / (int64_t)sizeof(entry)) {
        entries = host->allocate(host, (uint64_t)lanes.count * sizeof(entry) + 1, 64);
        memory = host->allocate(host, bytes, 64);
    }
    if (entries && memory) {
        const tn_unique_order order = tn_unique_order_in(memory, lanes.count);
        sort_items(call, &lanes, entries, &order);
        tn_unique_write(call, &lanes, axis, &order);
    }
    const bool is_done = entries && memory;
    host->deallocate(host, entries);
    host->deallocate(host, memory);
    return is_done ? tn_strings_share(call, 0)
                   : host->fail(call, TN_ERROR_MEMORY, "no memory to sort %lld items",
                                (long long)lanes.count);
}

/* ----------------------------------------------------------------------------------------------
 * tables */

static const tn_port unique_inputs[] = {TN_PORT("X", "T:any|string", 0, "any tensor")};
static const tn_port unique_outputs[] = {
    TN_PORT("Y", "T", TN_PORT_SIZED_BY_RUN, "the distinct elements or slices"),
    TN_PORT("indices", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "where each is first"),
    TN_PORT("inverse_indices", "i64", TN_PORT_OPTIONAL, "which of Y each item is"),
    TN_PORT("counts", "i64", TN_PORT_SIZED_BY_RUN | TN_PORT_OPTIONAL, "how often each occurs"),
};
static const char *const unique_cases[] = {
    ("| X=f32[6]{2,1,1,3,4,3} | Y=f32[4]{1,2,3,4} indices=i64[4]{1,0,3,4} "
     "inverse_indices=i64[6]{1,0,0,2,3,2} counts=i64[4]{2,1,2,1}"),
    ("sorted=0 | X=f32[6]{2,1,1,3,4,3} | Y=f32[4]{2,1,3,4} indices=i64[4]{0,1,3,4} "
     "inverse_indices=i64[6]{0,1,1,2,3,2} counts=i64[4]{1,2,2,1}"),
    ("axis=0 | X=f32[3,3]{1,0,0,1,0,0,2,3,4} | Y=f32[2,3]{1,0,0,2,3,4} indices=i64[2]{0,2} "
     "inverse_indices=i64[3]{0,0,1} counts=i64[2]{2,1}"),
    ("axis=-1 sorted=0 | X=i8[2,4]{3,1,3,1,0,7,0,6} | Y=i8[2,3]{3,1,1,0,7,6} "
     "indices=i64[3]{0,1,3} inverse_indices=i64[4]{0,1,0,2} counts=i64[3]{2,1,1}"),
    "axis=1 | X=u8[2,4,2]{1,1,0,1,2,1,0,1,1,1,0,1,2,1,0,1}",
    ("| X=f64[6]{nan,-0.0,0,-inf,nan,1e-320} | Y=f64[4]{-inf,-0.0,1e-320,nan} "
     "counts=i64[4]{1,2,1,2}"),
    "| X=f16[2,33]",
    "| X=bf16[2,9]",
    "| X=i64[4]{-9223372036854775808,9223372036854775807,-1,-1}",
    "| X=u64[3]{18446744073709551615,0,7}",
    "| X=i32[2,3]{-2147483648,2147483647,-1,0,0,1}",
    "| X=bool[5]{1,0,1,1,0}",
    ("| X=string[5]{b,a,bc,a,b} | Y=string[3]{a,b,bc} indices=i64[3]{1,0,2} "
     "inverse_indices=i64[5]{1,0,2,0,1} counts=i64[3]{2,2,1}"),
    ("axis=0 sorted=0 | X=string[3,2]{b,a,b,c,b,a} | Y=string[2,2]{b,a,b,c} indices=i64[2]{0,1} "
     "inverse_indices=i64[3]{0,1,0} counts=i64[2]{2,1}"),
    "| X=u16[]",
    "| X=f32[0]",
    "axis=1 | X=f32[0,3]",
    "axis=0 | X=f32[0,3]",
    "axis=1 sorted=0 | X=i16[3,100,2]",
    "axis=0 | X=i64[200,7]",
    "| X=f32[3000]",
};

TN_OPERATOR(unique, "", "Unique", 11, "The distinct elements of a tensor, or slices along an axis.",
            TN_FIELDS(tn_unique_params, unique_fields));

TN_LAYER(unique, TN_OPERATORS(&unique_11), TN_KERNELS(TN_LEVEL_LIST(tn_unique)));
