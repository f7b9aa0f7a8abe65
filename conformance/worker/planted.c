/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of fields as inputs; see planted.h. */
#include "planted.h"

#include "plugin/fields/fields_private.h"
#include "tensor/type.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 24 };
static const double LARGEST = 1e6; /* a greater one would hide all others in a sum */

typedef struct values {
    double real[NUMBERS];
    int64_t whole[NUMBERS];
    uint32_t real_count, whole_count;
} values;

static void add_whole(values *n, int64_t value) {
    if (n->whole_count < NUMBERS) n->whole[n->whole_count++] = value;
}

static void add_near(values *n, int64_t value) {
    add_whole(n, value);
    if (value < INT64_MAX) add_whole(n, value + 1);
    if (value > INT64_MIN) add_whole(n, value - 1);
}

static void add_real(values *n, double value) {
    if (!(fabs(value) < LARGEST)) return;
    if (n->real_count < NUMBERS) n->real[n->real_count++] = value;
    add_near(n, (int64_t)value);
}

static void add_integer(values *n, int64_t value) {
    add_near(n, value);
    if (n->real_count < NUMBERS && llabs(value) < (int64_t)LARGEST)
        n->real[n->real_count++] = (double)value;
}

static void add_attribute(values *n, const tn_attribute *a) {
    if (a->type == TN_FIELD_I64) add_integer(n, a->i);
    if (a->type == TN_FIELD_F32 || a->type == TN_FIELD_F64) add_real(n, a->f);
    for (uint64_t i = 0; i < a->count && i < 4 && a->items; i++) {
        if (a->type == TN_FIELD_I64S) add_integer(n, ((const int64_t *)a->items)[i]);
        if (a->type == TN_FIELD_F32S) add_real(n, (double)((const float *)a->items)[i]);
        if (a->type == TN_FIELD_F64S) add_real(n, ((const double *)a->items)[i]);
    }
}

static void add_default(values *n, const tn_case *c, const tn_field *field) {
    char *end = NULL;
    for (uint64_t i = 0; i < c->attribute_count; i++)
        if (strcmp(c->attributes[i]->name, field->name) == 0) return;
    const double value = field->fallback ? strtod(field->fallback, &end) : 0;
    if (field->type == TN_FIELD_I64 || field->type == TN_FIELD_I32) add_integer(n, (int64_t)value);
    if (field->type == TN_FIELD_F32 || field->type == TN_FIELD_F64) add_real(n, value);
}

static void add_ends(values *n, tn_type type) {
    const uint32_t bits = tn_type_bits(type);
    const bool is_signed = tn_type_is_signed(type);
    if (!tn_type_is_integer(type) || (bits == 64 && !is_signed)) return;
    const int64_t highest = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
    add_whole(n, is_signed ? -highest - 1 : 0);
    add_whole(n, highest);
}

static bool holds(tn_type type, int64_t value) {
    const uint32_t bits = tn_type_bits(type);
    if (!tn_type_is_signed(type)) return value >= 0 && (bits >= 63 || value >> bits == 0);
    return bits == 64 || (value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1));
}

/* Each input begins elsewhere, so that pairs of elements are not always of the same numbers. */
static void put(const values *n, tn_case_input *input, uint32_t index) {
    const size_t count = tn_case_input_elements(input);
    const bool is_real = tn_type_is_float(input->type);
    const uint32_t there = is_real ? n->real_count : n->whole_count;
    for (uint32_t i = 0, at = index % 2; i < there && at < count; i++) {
        const uint32_t k = (i + 3 * index) % there;
        if (!is_real && !holds(input->type, n->whole[k])) continue;
        if (is_real)
            tn_element_set_f64(input->data, input->type, at, n->real[k]);
        else
            tn_element_set_i64(input->data, input->type, at, n->whole[k]);
        at += 2;
    }
}

static void add_fields(values *n, const tn_operator *op, const tn_case *c) {
    for (uint64_t i = 0; i < c->attribute_count; i++)
        add_attribute(n, c->attributes[i]);
    for (uint32_t i = 0; i < op->field_count; i++)
        add_default(n, c, tn_fields_at(op, i));
}

void tn_planted_put(const tn_operator *op, const tn_case *c, uint32_t index) {
    tn_case_input *input = &c->inputs[index];
    values n = {.real_count = 0};
    if (input->type == TN_BOOL || op->field_count == 0) return;
    add_ends(&n, input->type);
    add_fields(&n, op, c);
    put(&n, input, index);
}

double tn_planted_largest(const tn_operator *op, const tn_case *c) {
    values n = {.real_count = 0};
    double largest = 0;
    add_fields(&n, op, c);
    for (uint32_t i = 0; i < n.real_count; i++)
        largest = fmax(largest, fabs(n.real[i]));
    return largest;
}
