/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a graph against a pattern: numbers, captures, constraints; see match.h. */
#include "base/status.h"
#include "builder/rewrite/match.h"
#include "tensor/type.h"

#include <math.h>
#include <string.h>

/* The relative difference that a number may have from the one in the pattern. */
static double tolerance_of(tn_type type) {
    return tn_type_is_half(type) ? 1e-3 : 1e-6;
}

static bool is_near(double a, double b, double tolerance) {
    return a == b || fabs(a - b) <= tolerance * fabs(b);
}

/* The elements of a constant that a guard can see; false: it is none. */
static bool count_stored(const tn_graph_tensor *tensor, size_t *out_count) {
    return tensor->is_constant && tn_type_bits(tensor->type) > 0 &&
           tn_shape_count(&tensor->shape, out_count) == TN_OK &&
           tensor->bytes == tn_type_storage(tensor->type, *out_count) &&
           (tensor->data || *out_count == 0) && !tensor->quantization;
}

/* The same of a constant that a pattern can speak of: its elements are numbers of C. */
static bool count_elements(const tn_graph_tensor *tensor, size_t *out_count) {
    return tn_type_bytes(tensor->type) > 0 && count_stored(tensor, out_count);
}

/* Whether what the constant is must not matter, since it is to be refitted; the matcher notes it.
 */
static bool is_hidden(tn_matcher *m, const tn_graph_tensor *tensor) {
    if (!tensor->refit_name || m->ignores_refit) return false;
    if (!m->hidden) m->hidden = tensor->refit_name;
    return true;
}

bool tn_matcher_is_constant(tn_matcher *m, const tn_graph_tensor *tensor, const tn_term *term) {
    size_t count = 0;
    if (!count_elements(tensor, &count) || is_hidden(m, tensor) || count != term->number_count ||
        (term->is_list && tensor->shape.rank > 1))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!is_near(tn_element_get_f64(tensor->data, tensor->type, i), term->numbers[i],
                     tn_type_is_float(tensor->type) ? tolerance_of(tensor->type) : 0))
            return false;
    return true;
}

static bool make_value(tn_matcher *m, const tn_graph_tensor *tensor, size_t count, bool is_list,
                       tn_attribute *value) {
    const bool is_float = tn_type_is_float(tensor->type);
    *value = (tn_attribute){.size = sizeof *value, .name = ""};
    if (!is_list) {
        value->type = is_float ? TN_FIELD_F64 : TN_FIELD_I64;
        if (is_float)
            value->f = tn_element_get_f64(tensor->data, tensor->type, 0);
        else
            value->i = tn_element_get_i64(tensor->data, tensor->type, 0);
        return true;
    }
    int64_t *integers = tn_arena_allocate(m->arena, count + 1, sizeof *integers);
    double *numbers = tn_arena_allocate(m->arena, count + 1, sizeof *numbers);
    if (!integers || !numbers) return false;
    for (size_t i = 0; i < count; i++) {
        integers[i] = is_float ? 0 : tn_element_get_i64(tensor->data, tensor->type, i);
        numbers[i] = tn_element_get_f64(tensor->data, tensor->type, i);
    }
    value->type = is_float ? TN_FIELD_F64S : TN_FIELD_I64S;
    value->count = count;
    value->items = is_float ? (const void *)numbers : integers;
    return true;
}

enum { MOST_CAPTURED = 1 << 20 };

bool tn_matcher_capture_constant(tn_matcher *m, const tn_term *term, tn_tensor_id id) {
    const tn_graph_tensor *tensor = &m->graph->tensors[id];
    size_t count = 0;
    if (!count_elements(tensor, &count) || is_hidden(m, tensor) || count > MOST_CAPTURED ||
        (!term->is_list && count != 1))
        return false;
    tn_attribute *value = tn_arena_allocate(m->arena, 1, sizeof *value);
    if (!value || !make_value(m, tensor, count, term->is_list, value)) {
        m->status = tn_fail_memory("a rewrite");
        return false;
    }
    return tn_matcher_bind_value(m, term->name, id, value);
}

bool tn_matcher_meets(const tn_graph_tensor *tensor, uint32_t constraint) {
    size_t count = 0;
    uint32_t wide = 0;
    if (constraint == TN_TERM_UNBOUND) return true;
    if (!count_stored(tensor, &count)) return false;
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        wide += tensor->shape.extents[i] != 1;
    if (constraint == TN_TERM_SCALAR) return count == 1;
    return constraint == TN_TERM_CONST || wide <= 1;
}

bool tn_matcher_is_same_constant(tn_matcher *m, const tn_graph_tensor *a,
                                 const tn_graph_tensor *b) {
    return a->is_constant && b->is_constant && !is_hidden(m, a) && !is_hidden(m, b) &&
           a->type == b->type && a->bytes == b->bytes && a->quantization == b->quantization &&
           tn_shape_equal(&a->shape, &b->shape) &&
           (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
}

/* ----------------------------------------------------------------------------------------------
 * values */

static bool number_at(const tn_attribute *value, uint64_t index, double *out_number) {
    switch (value->type) {
    case TN_FIELD_I64:
        *out_number = (double)value->i;
        return true;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        *out_number = value->f;
        return true;
    case TN_FIELD_I64S:
        *out_number = (double)((const int64_t *)value->items)[index];
        return true;
    case TN_FIELD_F32S:
        *out_number = (double)((const float *)value->items)[index];
        return true;
    case TN_FIELD_F64S:
        *out_number = ((const double *)value->items)[index];
        return true;
    default:
        return false;
    }
}

static bool is_list(const tn_attribute *value) {
    return value->type == TN_FIELD_I64S || value->type == TN_FIELD_F32S ||
           value->type == TN_FIELD_F64S;
}

bool tn_attribute_is_near(const tn_attribute *a, const tn_attribute *b) {
    if (a->type == TN_FIELD_STRING || b->type == TN_FIELD_STRING)
        return a->type == b->type && strcmp(a->s ? a->s : "", b->s ? b->s : "") == 0;
    const uint64_t count = is_list(a) ? a->count : 1;
    double x = 0, y = 0;
    if (is_list(a) != is_list(b) || (is_list(a) && a->count != b->count)) return false;
    for (uint64_t i = 0; i < count; i++)
        if (!number_at(a, i, &x) || !number_at(b, i, &y) || !is_near(x, y, 1e-6)) return false;
    return count > 0 || a->type == b->type;
}
