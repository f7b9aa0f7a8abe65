/* SPDX-License-Identifier: Apache-2.0 */
/* See lookup.h. */
#include "ml/lookup.h"

#include <math.h>
#include <stdlib.h>

bool tn_ml_list_of(const tn_attribute *attribute, tn_ml_list *out_list) {
    switch (attribute->type) {
    case TN_FIELD_TENSOR:
        *out_list = (tn_ml_list){(uint64_t)tn_element_count(attribute->tensor),
                                 attribute->tensor->type, attribute->tensor->data};
        return attribute->tensor->type != TN_STRING;
    case TN_FIELD_STRINGS:
        *out_list = (tn_ml_list){attribute->count, TN_STRING, attribute->items};
        return true;
    case TN_FIELD_I64S:
        *out_list = (tn_ml_list){attribute->count, TN_I64, attribute->items};
        return true;
    case TN_FIELD_F32S:
        *out_list = (tn_ml_list){attribute->count, TN_F32, attribute->items};
        return true;
    case TN_FIELD_F64S:
        *out_list = (tn_ml_list){attribute->count, TN_F64, attribute->items};
        return true;
    default:
        return false;
    }
}

tn_status tn_ml_list_read(tn_call *call, const char *what, const tn_ml_choice *choice,
                          tn_ml_list *out_list) {
    tn_ml_list lists[4] = {0};
    uint32_t given = 0;
    if (choice->texts)
        lists[0] = (tn_ml_list){choice->texts->count, TN_STRING, choice->texts->items};
    if (choice->integers)
        lists[1] = (tn_ml_list){choice->integers->count, TN_I64, choice->integers->items};
    if (choice->floats)
        lists[2] = (tn_ml_list){choice->floats->count, TN_F32, choice->floats->items};
    if (choice->tensor && !tn_ml_list_of(choice->tensor, &lists[3]))
        return call->host->fail(call, TN_ERROR_TYPE, "field '%s_tensor' holds no list of values",
                                what);
    for (size_t i = 0; i < TN_COUNT(lists); i++) {
        if (lists[i].count == 0) continue;
        *out_list = lists[i];
        given++;
    }
    if (given == 1 && out_list->count < UINT32_MAX) return TN_OK;
    return call->host->fail(call, TN_ERROR_ARGUMENT, "%u fields give %s; expected one", given,
                            what);
}

/* ----------------------------------------------------------------------------------------------
 * comparing */

/* A text, an integer or a floating-point number. */
typedef struct key {
    const char *text; /* null: a number */
    uint64_t bytes;
    bool is_integer;
    int64_t integer;
    double real;
} key;

static key list_key(const tn_ml_list *list, uint64_t index) {
    if (list->type == TN_STRING) {
        const char *text = ((const char *const *)list->items)[index];
        return (key){.text = text, .bytes = strlen(text)};
    }
    if (tn_element_is_real(list->type))
        return (key){.real = tn_element_load_f64(list->items, list->type, (int64_t)index)};
    return (key){.is_integer = true,
                 .integer = tn_element_load_i64(list->items, list->type, (int64_t)index)};
}

static key element_key(const tn_ml_list *list, const tn_tensor *x, int64_t element) {
    key found = {0};
    if (list->type == TN_STRING)
        found.text = tn_string_at(x, (uint64_t)element, &found.bytes);
    else if (tn_element_is_real(list->type))
        found.real = tn_element_f64(x, element);
    else
        found = (key){.is_integer = true, .integer = tn_element_i64(x, element)};
    return found;
}

static int compare_reals(double a, double b) {
    if (isnan(a) || isnan(b)) return (int)isnan(a) - (int)isnan(b);
    return a < b ? -1 : a > b;
}

static int compare(const key *a, const key *b) {
    if (a->text) {
        const uint64_t least = a->bytes < b->bytes ? a->bytes : b->bytes;
        const int order = memcmp(a->text, b->text, least);
        return order != 0 ? order : a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
    }
    if (!a->is_integer) return compare_reals(a->real, b->real);
    return a->integer < b->integer ? -1 : a->integer > b->integer;
}

int64_t tn_ml_find(const tn_ml_list *keys, const tn_tensor *x, int64_t element) {
    const key wanted = element_key(keys, x, element);
    for (uint64_t i = 0; i < keys->count; i++) {
        const key own = list_key(keys, i);
        if (compare(&wanted, &own) == 0) return (int64_t)i;
    }
    return -1;
}

/* ----------------------------------------------------------------------------------------------
 * sorted */

typedef struct sorted_key {
    key key;
    uint32_t index;
} sorted_key;

static int compare_sorted(const void *left, const void *right) {
    const sorted_key *a = left, *b = right;
    const int order = compare(&a->key, &b->key);
    return order != 0 ? order : a->index < b->index ? -1 : a->index > b->index;
}

tn_status tn_ml_index_create(tn_call *call, const tn_ml_list *keys) {
    uint32_t *order = call->host->allocate(call->host, (keys->count + 1) * sizeof(*order), 64);
    sorted_key *sorted = call->host->allocate(call->host, (keys->count + 1) * sizeof(*sorted), 64);
    if (!order || !sorted) {
        call->host->deallocate(call->host, sorted);
        call->host->deallocate(call->host, order);
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for %llu keys",
                                (unsigned long long)keys->count);
    }
    for (uint32_t i = 0; i < keys->count; i++)
        sorted[i] = (sorted_key){list_key(keys, i), i};
    qsort(sorted, keys->count, sizeof(*sorted), compare_sorted);
    for (uint64_t i = 0; i < keys->count; i++)
        order[i] = sorted[i].index;
    call->host->deallocate(call->host, sorted);
    call->state = order;
    return TN_OK;
}

int64_t tn_ml_index_find(const uint32_t *order, const tn_ml_list *keys, const tn_tensor *x,
                         int64_t element) {
    const key wanted = element_key(keys, x, element);
    uint64_t begin = 0, end = keys->count;
    while (begin < end) { /* the first one that is not below */
        const uint64_t middle = begin + (end - begin) / 2;
        const key own = list_key(keys, order[middle]);
        if (compare(&own, &wanted) < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == keys->count) return -1;
    const key own = list_key(keys, order[begin]);
    return compare(&own, &wanted) == 0 ? (int64_t)order[begin] : -1;
}
