/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of an output; see output_loss.h. */
#include "calibrate/output_loss.h"
#include "tensor/shape.h"
#include "tensor/type.h"

#include <math.h>

static void add_element(tn_output_loss *loss, double reference, double tested) {
    if (isnan(reference) && isnan(tested)) return;
    if (isinf(reference) && reference == tested) return;
    if (!isfinite(reference) || !isfinite(tested)) {
        loss->is_broken = true;
        return;
    }
    loss->difference += fabs(tested - reference);
    loss->magnitude += fabs(reference);
}

/* The first of the largest elements of a row. */
static size_t largest_of(const tn_tensor *tensor, size_t from, size_t count) {
    size_t best = 0;
    double value = tn_element_get_f64(tensor->data, tensor->type, from);
    for (size_t i = 1; i < count; i++) {
        const double next = tn_element_get_f64(tensor->data, tensor->type, from + i);
        if (next > value) {
            value = next;
            best = i;
        }
    }
    return best;
}

static bool have_one_shape(const tn_tensor *a, const tn_tensor *b, size_t *out_count) {
    tn_shape shape, other;
    return a->type == b->type && tn_shape_set(&shape, a->rank, a->shape) == TN_OK &&
           tn_shape_set(&other, b->rank, b->shape) == TN_OK && tn_shape_equal(&shape, &other) &&
           tn_shape_count(&shape, out_count) == TN_OK;
}

void tn_output_loss_add(tn_output_loss *loss, const tn_tensor *reference, const tn_tensor *tested) {
    size_t count;
    if (!have_one_shape(reference, tested, &count)) {
        loss->is_broken = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_element(loss, tn_element_get_f64(reference->data, reference->type, i),
                    tn_element_get_f64(tested->data, tested->type, i));
    const size_t row = reference->rank > 0 ? (size_t)reference->shape[reference->rank - 1] : 0;
    if (row < 2) return; /* of one element the largest is always the same */
    for (size_t from = 0; from < count; from += row) {
        loss->row_count++;
        loss->changed_count += largest_of(reference, from, row) != largest_of(tested, from, row);
    }
}

double tn_output_loss_value(const tn_output_loss *loss) {
    if (loss->is_broken) return INFINITY;
    if (loss->difference == 0) return 0;
    return loss->magnitude > 0 ? loss->difference / loss->magnitude : INFINITY;
}

double tn_output_loss_changed_share(const tn_output_loss *loss) {
    return loss->row_count > 0 ? (double)loss->changed_count / (double)loss->row_count : 0;
}
