/* SPDX-License-Identifier: Apache-2.0 */
/* Quantisations; see quantization.h. */
#include "tensor/quantization.h"
#include "base/status.h"

#include <inttypes.h>

double tn_quantization_scale(const tn_quantization *q, uint64_t index) {
    return tn_element_get_f64(q->scales, q->scale_type, (size_t)index);
}

int64_t tn_quantization_zero(const tn_quantization *q, tn_type type, uint64_t index) {
    return q->zero_points ? tn_element_get_i64(q->zero_points, type, (size_t)index) : 0;
}

static int64_t block_count(const tn_quantization *q, uint32_t k, const int64_t *shape) {
    const int64_t extent = shape[q->axes[k]], block = q->blocks[k];
    return extent / block + (extent % block != 0);
}

uint64_t tn_quantization_index(const tn_quantization *q, const int64_t *shape,
                               const int64_t *index) {
    int64_t at = 0;
    for (uint32_t k = 0; k < q->axis_count; k++)
        at = at * block_count(q, k, shape) + index[q->axes[k]] / q->blocks[k];
    return (uint64_t)at;
}

uint64_t tn_quantization_count(const tn_quantization *q, uint32_t rank, const int64_t *shape) {
    int64_t count = 1;
    if (q->axis_count > 2 || (q->axis_count == 2 && q->axes[0] >= q->axes[1])) return 0;
    for (uint32_t k = 0; k < q->axis_count; k++) {
        if (q->axes[k] >= rank || q->blocks[k] < 1) return 0;
        if (shape[q->axes[k]] < 0 || !tn_mul_i64(count, block_count(q, k, shape), &count)) return 0;
    }
    return (uint64_t)count;
}

bool tn_quantization_is_plain(const tn_quantization *q) {
    return q->axis_count == 0 && q->count == 1 && q->scale_type == TN_F32 && q->scales;
}

static bool has_same_layout(const tn_quantization *a, const tn_quantization *b) {
    if (a->axis_count != b->axis_count || a->count != b->count || a->scale_type != b->scale_type)
        return false;
    for (uint32_t k = 0; k < a->axis_count; k++)
        if (a->axes[k] != b->axes[k] || a->blocks[k] != b->blocks[k]) return false;
    return true;
}

bool tn_quantization_equal(const tn_quantization *a, const tn_quantization *b, tn_type type) {
    if (a == b) return true;
    if (!a || !b || !has_same_layout(a, b)) return false;
    for (uint64_t i = 0; i < a->count; i++)
        if (tn_quantization_scale(a, i) != tn_quantization_scale(b, i) ||
            tn_quantization_zero(a, type, i) != tn_quantization_zero(b, type, i))
            return false;
    return true;
}

tn_status tn_quantization_make(tn_arena *arena, const tn_quantization_parameters *parameters,
                               tn_type type, const tn_quantization **out_quantization) {
    const size_t count = parameters->count;
    tn_quantization *q = tn_arena_allocate(arena, 1, sizeof *q);
    char *scales = tn_arena_allocate(arena, tn_type_storage(parameters->scale_type, count), 1);
    char *zeros =
        parameters->zero_points ? tn_arena_allocate(arena, tn_type_storage(type, count), 1) : NULL;
    if (!q || !scales || (parameters->zero_points && !zeros))
        return tn_fail_memory("a quantisation");
    for (size_t i = 0; i < count; i++) {
        tn_element_set_f64(scales, parameters->scale_type, i, (double)parameters->scales[i]);
        if (!zeros) continue;
        tn_element_set_i64(zeros, type, i, parameters->zero_points[i]);
        if (tn_element_get_i64(zeros, type, i) != parameters->zero_points[i])
            return tn_fail(TN_ERROR_FORMAT, "zero point %" PRId32 " is none of type %s",
                           parameters->zero_points[i], tn_type_name(type));
    }
    *q = (tn_quantization){.size = sizeof *q,
                           .scale_type = parameters->scale_type,
                           .axis_count = parameters->axis_count,
                           .axes = {parameters->axes[0], parameters->axes[1]},
                           .blocks = {parameters->blocks[0], parameters->blocks[1]},
                           .count = count,
                           .scales = scales,
                           .zero_points = zeros};
    *out_quantization = q;
    return TN_OK;
}
