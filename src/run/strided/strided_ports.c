/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs in memory of the caller's whose elements lie apart (tenon/border.h). Before a
 * run inputs are gathered into packed memory of the context's, which is bound instead; after
 * it outputs are scattered from where the run left them (strided_copy.h). Strides that are packed
 * cost nothing: then the caller's own memory is bound.
 */
#include "base/status.h"
#include "run/context_private.h"
#include "run/strided/strided_copy.h"
#include "tensor/type.h"
#include <tenon/border.h>

#include <inttypes.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * binding */

static tn_status check_bind(const char *kind, const tn_port_info *port, const void *data,
                            uint32_t rank, const int64_t *strides) {
    if (!data || (rank > 0 && !strides))
        return tn_fail(TN_ERROR_ARGUMENT, "%s '%s': the memory or its strides are null", kind,
                       port->name);
    if (rank > TN_MAX_RANK)
        return tn_fail(TN_ERROR_SHAPE, "%s '%s': %" PRIu32 " strides; at most %d are possible",
                       kind, port->name, rank, TN_MAX_RANK);
    if (port->type == TN_STRING || tn_type_bytes(port->type) == 0)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "%s '%s' is of %s, whose elements can not lie apart: expected packed memory",
                       kind, port->name, tn_type_name(port->type));
    for (uint32_t axis = 0; axis < rank; axis++)
        if (strides[axis] < 0)
            return tn_fail(TN_ERROR_ARGUMENT,
                           "%s '%s': the stride of axis %" PRIu32 " is %" PRId64
                           "; negative ones are not possible",
                           kind, port->name, axis, strides[axis]);
    return TN_OK;
}

static void note_binding(tn_strided_binding *strided, void *data, uint64_t bytes, uint32_t rank,
                         const int64_t *strides) {
    *strided = (tn_strided_binding){.is_bound = true, .data = data, .bytes = bytes, .rank = rank};
    if (rank > 0) memcpy(strided->strides, strides, rank * sizeof(*strides));
}

tn_status tn_context_bind_input_strided(tn_context *context, uint32_t input, const void *data,
                                        uint64_t bytes, uint32_t rank, const int64_t *strides) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_input(context, input));
    TN_TRY(check_bind("input", &context->engine->inputs[input], data, rank, strides));
    note_binding(&context->ports.inputs[input].strided, (void *)(uintptr_t)data, bytes, rank,
                 strides);
    tn_context_note_input(context, input, NULL, 0);
    tn_strided_find_reformat(context, input);
    context->ports.has_strided = true;
    return TN_OK;
}

tn_status tn_context_bind_output_strided(tn_context *context, uint32_t output, void *data,
                                         uint64_t bytes, uint32_t rank, const int64_t *strides) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    TN_TRY(tn_run_control_check_idle(&context->control));
    TN_TRY(tn_context_check_dense_output(context, output));
    TN_TRY(check_bind("output", &context->engine->outputs[output], data, rank, strides));
    note_binding(&context->ports.outputs[output].strided, data, bytes, rank, strides);
    tn_context_note_output(context, output, NULL, 0);
    context->ports.has_strided = true;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * checks, when the shape is known */

static bool is_empty(const tn_shape *shape) {
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        if (shape->extents[axis] == 0) return true;
    return false;
}

static bool is_packed(const tn_strided_binding *strided, const tn_shape *shape) {
    int64_t expected = 1;
    for (uint32_t axis = shape->rank; axis-- > 0;) {
        if (shape->extents[axis] != 1 && strided->strides[axis] != expected) return false;
        expected *= shape->extents[axis]; /* fits: the shape was checked */
    }
    return true;
}

/* The last element's end: the sum of (extent - 1) * stride over the axes, and one element. */
static tn_status check_range(const char *kind, const tn_port_info *port,
                             const tn_strided_binding *strided, const tn_shape *shape) {
    char text[TN_SHAPE_TEXT_BYTES];
    int64_t last = 0, end = 0;
    bool fits = true;
    if (strided->rank != shape->rank)
        return tn_fail(TN_ERROR_SHAPE, "%s '%s' has shape %s; %" PRIu32 " strides are bound", kind,
                       port->name, tn_shape_print(shape->rank, shape->extents, text, sizeof(text)),
                       strided->rank);
    if (is_empty(shape)) return TN_OK;
    for (uint32_t axis = 0; axis < shape->rank && fits; axis++) {
        int64_t more = 0;
        fits = tn_mul_i64(shape->extents[axis] - 1, strided->strides[axis], &more) &&
               tn_add_i64(last, more, &last);
    }
    fits = fits && tn_add_i64(last, 1, &end) &&
           tn_mul_i64(end, (int64_t)tn_type_bytes(port->type), &end) &&
           (uint64_t)end <= strided->bytes;
    return fits
               ? TN_OK
               : tn_fail(TN_ERROR_RANGE,
                         "%s '%s' has shape %s, whose last element ends behind the %llu bytes that "
                         "are bound with these strides",
                         kind, port->name,
                         tn_shape_print(shape->rank, shape->extents, text, sizeof(text)),
                         (unsigned long long)strided->bytes);
}

/* Each axis steps over all that those of smaller strides reach: then no two elements lie on one
 * another. */
static tn_status check_apart(const tn_port_info *port, const tn_strided_binding *strided,
                             const tn_shape *shape) {
    bool is_done[TN_MAX_RANK] = {false};
    int64_t reach = 0; /* the last element so far */
    if (is_empty(shape)) return TN_OK;
    for (uint32_t round = 0; round < shape->rank; round++) {
        uint32_t next = TN_MAX_RANK;
        for (uint32_t axis = 0; axis < shape->rank; axis++)
            if (!is_done[axis] &&
                (next == TN_MAX_RANK || strided->strides[axis] < strided->strides[next]))
                next = axis;
        if (next == TN_MAX_RANK) break; /* all are done */
        is_done[next] = true;
        if (shape->extents[next] == 1) continue;
        if (strided->strides[next] <= reach)
            return tn_fail(TN_ERROR_RANGE,
                           "output '%s': by the stride %" PRId64 " of axis %" PRIu32
                           " elements lie on one another, or between those of another axis",
                           port->name, strided->strides[next], next);
        reach += (shape->extents[next] - 1) * strided->strides[next]; /* fits: check_range */
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * a run */

/* What an earlier run left on a stream may still read the packed memory, and this one may still
 * write it; also a run of a context that stands in for this one. */
static tn_status wait_for_runs(tn_context *context) {
    return context->device.stream ? tn_context_wait_all(context) : TN_OK;
}

tn_status tn_strided_gather_copy(tn_context *context, uint32_t input) {
    tn_input_binding *binding = &context->ports.inputs[input];
    const tn_strided_binding *strided = &binding->strided;
    const tn_type type = context->engine->inputs[input].type;
    size_t bytes = 0;
    TN_TRY(tn_format_bytes(TN_LINEAR, type, &binding->shape, &bytes));
    TN_TRY(tn_bindings_own_input(context, input, bytes));
    tn_context_note_input(context, input, binding->own, bytes);
    if (bytes == 0) return TN_OK;
    const strided_copy copy =
        strided_copy_make(&binding->shape, strided->strides, tn_type_bytes(type), true);
    strided_copy_run(&copy, strided->data, binding->own);
    return TN_OK;
}

static tn_status gather(tn_context *context, uint32_t input) {
    tn_input_binding *binding = &context->ports.inputs[input];
    tn_strided_binding *strided = &binding->strided;
    if (!binding->has_shape) return TN_OK; /* an error of reshape */
    TN_TRY(check_range("input", &context->engine->inputs[input], strided, &binding->shape));
    const bool was_direct = strided->is_direct;
    strided->is_direct = tn_strided_is_direct(context, input);
    if (strided->is_direct != was_direct) context->ports.are_set = false;
    if (!strided->is_direct && !is_packed(strided, &binding->shape))
        return tn_strided_gather_copy(context, input);
    tn_context_note_input(context, input, strided->data, strided->bytes);
    return TN_OK;
}

tn_status tn_strided_gather(tn_context *context) {
    if (!context->ports.has_strided) return TN_OK;
    TN_TRY(wait_for_runs(context));
    for (uint32_t i = 0; i < tn_context_input_count(context); i++)
        if (context->ports.inputs[i].strided.is_bound) TN_TRY(gather(context, i));
    return TN_OK;
}

static tn_status read_shape(tn_context *context, uint32_t output, const tn_tensor **out_tensor,
                            tn_shape *out_shape) {
    TN_TRY(tn_context_find_output(context, output, out_tensor));
    return tn_shape_set(out_shape, (*out_tensor)->rank, (*out_tensor)->shape);
}

static tn_status check_output(tn_context *context, uint32_t output) {
    const tn_strided_binding *strided = &context->ports.outputs[output].strided;
    const tn_port_info *port = &context->engine->outputs[output];
    const tn_tensor *tensor;
    tn_shape shape;
    TN_TRY(read_shape(context, output, &tensor, &shape));
    tn_port_info known = *port;
    known.type = tensor->type;
    TN_TRY(check_bind("output", &known, strided->data, strided->rank, strided->strides));
    TN_TRY(check_range("output", &known, strided, &shape));
    return check_apart(&known, strided, &shape);
}

tn_status tn_strided_check_outputs(tn_context *context) {
    if (!context->ports.has_strided || context->dynamic) return TN_OK;
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        if (context->ports.outputs[i].strided.is_bound) TN_TRY(check_output(context, i));
    return TN_OK;
}

static tn_status scatter(tn_context *context, uint32_t output) {
    const tn_strided_binding *strided = &context->ports.outputs[output].strided;
    const tn_tensor *tensor;
    tn_shape shape;
    if (context->dynamic) TN_TRY(check_output(context, output));
    TN_TRY(read_shape(context, output, &tensor, &shape));
    if (is_empty(&shape)) return TN_OK;
    const strided_copy copy =
        strided_copy_make(&shape, strided->strides, tn_type_bytes(tensor->type), false);
    strided_copy_run(&copy, tensor->data, strided->data);
    return TN_OK;
}

tn_status tn_strided_scatter(tn_context *context) {
    bool is_any = false;
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        is_any |= context->ports.outputs[i].strided.is_bound;
    if (!is_any) return TN_OK;
    TN_TRY(wait_for_runs(context));
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        if (context->ports.outputs[i].strided.is_bound) TN_TRY(scatter(context, i));
    return TN_OK;
}
