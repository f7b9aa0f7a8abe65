/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a kernel's own struct from an operator's; see kernel_fields.h. */
#include "plugin/fields/kernel_fields.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"

#include <string.h>

static const tn_field *find_field(const tn_operator *op, const char *name, uint32_t *out_index) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        if (strcmp(tn_fields_at(op, i)->name, name) != 0) continue;
        *out_index = i;
        return tn_fields_at(op, i);
    }
    return NULL;
}

/* Whether every value of the operator's field is one of the kernel's. */
static bool holds_type(uint32_t own, uint32_t from) {
    return own == from || (own == TN_FIELD_ANY && from != TN_FIELD_GRAPH) ||
           (own == TN_FIELD_I64 && from == TN_FIELD_I32) ||
           (own == TN_FIELD_F64 && from == TN_FIELD_F32) ||
           (own == TN_FIELD_F64S && from == TN_FIELD_F32S);
}

static tn_status check_field(const tn_field *own, const tn_operator *op, const tn_field *from) {
    if (!from && (own->flags & TN_REQUIRED))
        return tn_fail(TN_ERROR_UNSUPPORTED, "it needs field '%s', which operator %s does not have",
                       own->name, op->name);
    if (from && !holds_type(own->type, from->type))
        return tn_fail(TN_ERROR_UNSUPPORTED, "it reads field '%s' as %s; operator %s has %s there",
                       own->name, tn_field_type_name(own->type), op->name,
                       tn_field_type_name(from->type));
    return TN_OK;
}

tn_status tn_kernel_fields_check(const tn_kernel *kernel, const tn_operator *op) {
    for (uint32_t i = 0; i < kernel->field_count; i++) {
        uint32_t index = 0;
        TN_TRY(check_field(&kernel->fields[i], op, find_field(op, kernel->fields[i].name, &index)));
    }
    return TN_OK;
}

/* A value that the kernel's bounds or choices leave out is an answer, not a mistake. */
static tn_status set_field(tn_arena *arena, const tn_field *own, const tn_field *from,
                           const void *params, char *out) {
    tn_attribute value;
    TN_TRY(tn_field_read(arena, from, params, &value));
    const tn_status status = tn_field_set(arena, own, &value, out);
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    return tn_fail(TN_ERROR_UNSUPPORTED, "%s", tn_last_error()->message);
}

static tn_status fill_field(tn_arena *arena, const tn_field *own, const tn_operator *op,
                            const void *params, char *out, bool *out_is_given) {
    uint32_t index = 0;
    uint64_t present = 0;
    const tn_field *from = find_field(op, own->name, &index);
    TN_TRY(check_field(own, op, from));
    if (!from) return tn_field_set_default(arena, own, out);
    if (params) memcpy(&present, params, sizeof(present));
    *out_is_given = present >> index & 1;
    /* Absent and without a default: zero, empty or null on both sides. */
    const bool has_value = params && (*out_is_given || from->fallback);
    return has_value ? set_field(arena, own, from, params, out) : TN_OK;
}

tn_status tn_kernel_fields_fill(tn_arena *arena, const tn_kernel *kernel, const tn_operator *op,
                                const void *params, const void **out_params) {
    uint64_t present = 0;
    *out_params = NULL;
    if (kernel->field_count == 0) return TN_OK;
    char *own = tn_arena_allocate(arena, 1, (size_t)kernel->params_bytes);
    if (!own) return tn_fail_memory("a kernel's parameters");
    for (uint32_t i = 0; i < kernel->field_count; i++) {
        bool is_given = false;
        TN_TRY(fill_field(arena, &kernel->fields[i], op, params, own, &is_given));
        present |= (uint64_t)is_given << i;
    }
    memcpy(own, &present, sizeof(present));
    *out_params = own;
    return TN_OK;
}
