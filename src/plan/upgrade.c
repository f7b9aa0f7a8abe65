/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of an older state version: those whose name and type are still there are taken over, the
 * operator's `upgrade` does the rest, and what comes out is turned into attributes again, so that
 * the node is made like any other. See state.h.
 */
#include "plan/state.h"

#include "base/status.h"
#include "plan/state_private.h"

#include <inttypes.h>
#include <string.h>

static tn_status call_upgrade(tn_call *call) TN_NOEXCEPT {
    tn_plan_state_call *state = (tn_plan_state_call *)call;
    return call->op->upgrade(call, state->from);
}

/* Whether today's operator takes a saved field as it is: tried with a table of that field alone. */
static bool is_still_there(const tn_plan_node_context *context, const tn_attribute *attribute) {
    const tn_operator *op = context->entry->op;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        void *params;
        if (strcmp(field->name, attribute->name) != 0) continue;
        tn_operator alone = *op;
        alone.fields = field;
        alone.field_count = 1;
        bool is_taken = tn_fields_parse(context->arena, &alone, 1, &attribute, &params) == TN_OK;
        if (!is_taken) tn_error_clear();
        return is_taken;
    }
    return false;
}

/* Today's parameters before the upgrade: what is still there, and defaults; nothing is required. */
static tn_status start_params(const tn_plan_node_context *context, uint64_t count,
                              const tn_attribute *const *attributes, void **out_params) {
    const tn_operator *op = context->entry->op;
    tn_field *fields = tn_arena_allocate(context->arena, op->field_count, sizeof(*fields));
    const tn_attribute **kept = tn_arena_allocate(context->arena, (size_t)count, sizeof(*kept));
    if (!fields || !kept) return tn_fail_memory("an upgrade");
    uint64_t kept_count = 0;
    for (uint64_t i = 0; i < count; i++)
        if (is_still_there(context, attributes[i])) kept[kept_count++] = attributes[i];
    for (uint32_t i = 0; i < op->field_count; i++) {
        fields[i] = *tn_fields_at(op, i);
        fields[i].flags &= ~(uint32_t)TN_REQUIRED;
    }
    tn_operator relaxed = *op;
    relaxed.fields = fields;
    relaxed.field_size = sizeof(*fields);
    return tn_fields_parse(context->arena, &relaxed, kept_count, kept, out_params);
}

/* A field that the upgrade wrote is there, whether it remembered to say so or not. */
static void note_written(const tn_operator *op, const void *before, void *params) {
    uint64_t present;
    memcpy(&present, params, sizeof(present));
    for (uint32_t i = 0; i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        if (memcmp((const char *)before + field->offset, (const char *)params + field->offset,
                   field->bytes) != 0)
            present |= UINT64_C(1) << i;
    }
    memcpy(params, &present, sizeof(present));
}

/* ", does not have the fields 'a', 'b'", or "": what a newer library saved and this one lacks. */
static const char *list_unknown(const tn_plan_node_context *context, uint64_t count,
                                const tn_attribute *const *attributes) {
    const tn_operator *op = context->entry->op;
    const char *list = "";
    uint64_t unknown = 0;
    for (uint64_t i = 0; list && i < count; i++) {
        uint32_t k = 0;
        while (k < op->field_count && strcmp(tn_fields_at(op, k)->name, attributes[i]->name) != 0)
            k++;
        if (k < op->field_count) continue;
        list = tn_arena_format(context->arena, "%s%s'%s'", list, unknown++ ? ", " : "",
                               attributes[i]->name);
    }
    if (list && unknown)
        list = tn_arena_format(context->arena, ", does not have the field%s %s",
                               unknown > 1 ? "s" : "", list);
    return list ? list : "";
}

static tn_status fail_version(const tn_plan_node_context *context, uint32_t saved, uint64_t count,
                              const tn_attribute *const *attributes) {
    const tn_operator *op = context->entry->op;
    const tn_loaded_library *library = context->entry->library;
    bool is_newer = saved > op->state_version;
    return tn_error_in(
        tn_error_mend(tn_fail(TN_ERROR_UNSUPPORTED,
                              "the plan has fields of operator %s in state version %" PRIu32
                              "; library '%s' (version %s) has state version %" PRIu32 "%s",
                              op->name, saved, library->name, library->version, op->state_version,
                              is_newer ? list_unknown(context, count, attributes)
                                       : " and no upgrade from older ones"),
                      ": ", "%sbuild the plan again", is_newer ? "load a newer library, or " : ""),
        .node = context->node);
}

tn_status tn_plan_state_upgrade(const tn_plan_node_context *context, uint32_t from, uint64_t count,
                                const tn_attribute *const *attributes, uint64_t *out_count,
                                const tn_attribute *const **out_attributes) {
    const tn_operator *op = context->entry->op;
    if (from > op->state_version || !op->upgrade)
        return fail_version(context, from, count, attributes);
    void *params = NULL, *before = NULL;
    TN_TRY(start_params(context, count, attributes, &params));
    if (op->field_count > 0) {
        before = tn_arena_copy(context->arena, params, (size_t)op->params_bytes);
        if (!before) return tn_fail_memory("an upgrade");
    }
    tn_plan_state_call state;
    tn_plan_state_call_init(&state, context);
    state.call.saved = attributes;
    state.call.saved_count = count;
    state.call.new_params = params;
    state.from = from;
    TN_TRY(tn_call_invoke(&state.call, call_upgrade, "upgrade"));
    if (before) note_written(op, before, params);
    return tn_fields_to_attributes(context->arena, op, params, out_count, out_attributes);
}
