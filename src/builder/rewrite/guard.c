/* SPDX-License-Identifier: Apache-2.0 */
/* What a rewrite's guard sees of a match, and what it can do: tenon/plugin/rewrite.h. */
#include "base/status.h"
#include "builder/rewrite/extent_proof.h"
#include "builder/rewrite/match.h"
#include "plugin/crash.h"
#include "plugin/library.h"

#include <stdio.h>
#include <string.h>

static tn_matcher *matcher_of(const tn_match *match) {
    return match->host_private;
}

static const tn_match_binding *find_binding(const tn_match *match, const char *name) {
    const tn_matcher *m = matcher_of(match);
    const uint32_t index = name ? tn_pattern_find_name(m->pattern, name) : TN_NO_NAME;
    if (index == TN_NO_NAME || !m->bindings[index].is_bound) return NULL;
    return &m->bindings[index];
}

/* A constant as it is; of others what all shapes have in common. */
static bool describe_common(tn_matcher *m, tn_tensor_id id, tn_tensor_storage *storage) {
    const tn_graph_tensor *item = &m->graph->tensors[id];
    if (item->is_constant) {
        if (tn_tensor_init(storage, item->type, TN_LINEAR, &item->shape) != TN_OK) return false;
        const bool is_shown = !item->refit_name || m->ignores_refit;
        storage->tensor.data = is_shown ? (void *)(uintptr_t)item->data : NULL;
        storage->tensor.heap = is_shown ? item->heap : NULL;
    } else {
        if (!tn_pass_is_shaped(m->context, id)) return false;
        *storage = m->context->points[1]->tensors[id].storage;
        storage->tensor.data = NULL;
        storage->tensor.heap = NULL;
        storage->tensor.bytes = 0;
        storage->tensor.strides = NULL;
        for (uint32_t axis = 0; axis < storage->shape.rank; axis++)
            storage->shape.extents[axis] = tn_extent_fixed(m->context, id, axis);
    }
    storage->tensor.shape = storage->shape.extents;
    storage->tensor.quantization = item->quantization;
    storage->tensor.name = item->name;
    return true;
}

static const tn_tensor *match_tensor(const tn_match *match, const char *name) {
    tn_matcher *m = matcher_of(match);
    const tn_match_binding *binding = find_binding(match, name);
    if (!binding || binding->tensor == TN_NO_TENSOR) return NULL;
    tn_tensor_storage *storage = tn_arena_allocate(m->arena, 1, sizeof *storage);
    if (!storage) m->status = tn_fail_memory("a rewrite");
    return storage && describe_common(m, binding->tensor, storage) ? &storage->tensor : NULL;
}

/* An axis from the front; false: there is none. */
static bool find_axis(tn_matcher *m, tn_tensor_id id, int32_t axis, uint32_t *out_axis) {
    tn_tensor_storage storage;
    if (!describe_common(m, id, &storage)) return false;
    const int64_t at = axis < 0 ? (int64_t)axis + storage.tensor.rank : axis;
    *out_axis = (uint32_t)at;
    return at >= 0 && at < (int64_t)storage.tensor.rank;
}

static uint32_t match_is_equal_extent(const tn_match *match, const char *a, int32_t axis_a,
                                      const char *b, int32_t axis_b) {
    tn_matcher *m = matcher_of(match);
    const tn_match_binding *left = find_binding(match, a), *right = find_binding(match, b);
    uint32_t left_axis = 0, right_axis = 0;
    if (!left || !right || left->tensor == TN_NO_TENSOR || right->tensor == TN_NO_TENSOR ||
        !find_axis(m, left->tensor, axis_a, &left_axis) ||
        !find_axis(m, right->tensor, axis_b, &right_axis))
        return 0;
    return tn_extent_is_equal(m->context, left->tensor, left_axis, right->tensor, right_axis);
}

static const tn_attribute *match_value(const tn_match *match, const char *name) {
    const tn_match_binding *binding = find_binding(match, name);
    return binding ? binding->value : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * what the guard computes */

static size_t item_bytes(uint32_t type) {
    switch (type) {
    case TN_FIELD_BYTES:
        return 1;
    case TN_FIELD_I64S:
    case TN_FIELD_F64S:
        return 8;
    case TN_FIELD_F32S:
        return 4;
    default:
        return 0;
    }
}

static const tn_tensor *copy_tensor(tn_matcher *m, const tn_tensor *from) {
    tn_tensor_storage *storage = tn_arena_allocate(m->arena, 1, sizeof *storage);
    tn_shape shape;
    if (!storage || !from->data || from->type == TN_STRING || from->rank > TN_MAX_RANK ||
        from->format != TN_LINEAR || tn_shape_set(&shape, from->rank, from->shape) != TN_OK ||
        tn_tensor_init(storage, from->type, TN_LINEAR, &shape) != TN_OK)
        return NULL;
    storage->tensor.data = tn_arena_copy(m->arena, from->data, storage->tensor.bytes);
    return storage->tensor.data ? &storage->tensor : NULL;
}

static bool copy_value(tn_matcher *m, const tn_attribute *from, tn_attribute *copy) {
    const size_t bytes = item_bytes(from->type);
    if (from->size < sizeof *from) return false;
    *copy = *from;
    copy->name = "";
    switch (from->type) {
    case TN_FIELD_I64:
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        return true;
    case TN_FIELD_STRING:
        copy->s = from->s ? tn_arena_text(m->arena, from->s) : NULL;
        return copy->s != NULL;
    case TN_FIELD_TENSOR:
        copy->tensor = from->tensor ? copy_tensor(m, from->tensor) : NULL;
        return copy->tensor != NULL;
    default:
        copy->items = bytes && (from->items || from->count == 0)
                          ? tn_arena_copy(m->arena, from->items, (size_t)from->count * bytes)
                          : NULL;
        return copy->items != NULL;
    }
}

static tn_status match_set(const tn_match *match, const tn_attribute *value) {
    tn_matcher *m = matcher_of(match);
    const uint32_t index =
        value && value->name ? tn_pattern_find_name(m->pattern, value->name) : TN_NO_NAME;
    tn_attribute *copy = tn_arena_allocate(m->arena, 1, sizeof *copy);
    if (!copy) return m->status = tn_fail_memory("a rewrite");
    if (index == TN_NO_NAME || m->pattern->names[index].kind != TN_TERM_COMPUTED ||
        !copy_value(m, value, copy))
        return m->status = tn_fail(TN_ERROR_PLUGIN,
                                   "its guard sets '%s', which is no '$' of its "
                                   "replacement, or to no sound value",
                                   value && value->name ? value->name : "");
    m->bindings[index] = (tn_match_binding){true, TN_NO_TENSOR, copy};
    return TN_OK;
}

static tn_status match_refuse(const tn_match *match, const char *format, ...) {
    tn_matcher *m = matcher_of(match);
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(m->reason, sizeof m->reason, format ? format : "", arguments) < 0)
        m->reason[0] = 0;
    va_end(arguments);
    return TN_ERROR_UNSUPPORTED;
}

static void forget_computed(tn_matcher *m) {
    for (uint32_t i = 0; i < m->pattern->name_count; i++)
        if (m->pattern->names[i].kind == TN_TERM_COMPUTED) m->bindings[i] = (tn_match_binding){0};
}

/* A guard that says yes has computed all that the replacement asks for. */
static bool check_computed(tn_matcher *m) {
    for (uint32_t i = 0; i < m->pattern->name_count; i++) {
        if (m->pattern->names[i].kind != TN_TERM_COMPUTED || m->bindings[i].is_bound) continue;
        m->status = tn_fail(TN_ERROR_PLUGIN, "its guard accepts without setting '$%s'",
                            m->pattern->names[i].text);
        return false;
    }
    return true;
}

bool tn_matcher_ask_guard(tn_matcher *m) {
    const tn_rewrite *rewrite = m->entry->rewrite;
    const tn_match match = {.size = sizeof match,
                            .host = tn_runtime_host(m->graph->runtime),
                            .user = rewrite->user,
                            .host_private = m,
                            .tensor = match_tensor,
                            .is_equal_extent = match_is_equal_extent,
                            .value = match_value,
                            .set = match_set,
                            .refuse = match_refuse};
    tn_crash_mark mark;
    if (!rewrite->guard) return true;
    m->reason[0] = 0;
    forget_computed(m);
    tn_crash_enter(&mark, NULL, "guard", m->entry->library->path);
    const tn_status status = rewrite->guard(&match);
    tn_crash_leave(&mark);
    if (m->status != TN_OK) return false;
    if (status == TN_OK) return check_computed(m);
    if (!m->reason[0]) snprintf(m->reason, sizeof m->reason, "its guard refuses");
    return false;
}
