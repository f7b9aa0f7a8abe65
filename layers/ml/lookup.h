/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of texts or numbers that fields give, and finding elements of a tensor in them: what
 * encoders have in common. Of equal keys the first one counts; NaN is equal to NaN.
 */
#ifndef TN_LAYERS_ML_LOOKUP_H
#define TN_LAYERS_ML_LOOKUP_H

#include "ml/scores.h"

/* Of TN_STRING `items` are `const char *const *`, else elements of the type. */
typedef struct tn_ml_list {
    uint64_t count;
    tn_type type;
    const void *items;
} tn_ml_list;

/* The lists of which a node gives one; null where an operator has none. */
typedef struct tn_ml_choice {
    const tn_strings *texts;
    const tn_i64s *integers;
    const tn_f32s *floats;
    const tn_attribute *tensor; /* of a field of any value: a tensor, or a list */
} tn_ml_choice;

/* The one that has values, or an error that says `what`, like "keys". */
tn_status tn_ml_list_read(tn_call *call, const char *what, const tn_ml_choice *choice,
                          tn_ml_list *out_list);
/* The values of an attribute; false where it is none of numbers or texts. */
bool tn_ml_list_of(const tn_attribute *attribute, tn_ml_list *out_list);

/* The index of element `element` of `x` in the list, or -1: from the first key on. The types are
 * the same, or the list has integers and x numbers, which are cut to integers. */
int64_t tn_ml_find(const tn_ml_list *keys, const tn_tensor *x, int64_t element);

/* A kernel's state: the keys sorted. `prepare` and `release`. */
tn_status tn_ml_index_create(tn_call *call, const tn_ml_list *keys);
/* As tn_ml_find, by bisection. */
int64_t tn_ml_index_find(const uint32_t *order, const tn_ml_list *keys, const tn_tensor *x,
                         int64_t element);

#endif
