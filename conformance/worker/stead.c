/* SPDX-License-Identifier: Apache-2.0 */
/* One node where another one was; see stead.h. */
#include "stead.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "plugin/fields/kernel_fields.h"

#include <string.h>

enum { SLACK = 0x7F, ALIGNMENT = 64 };

/* ----------------------------------------------------------------------------------------------
 * what a field points to
 */

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t strings_bytes(const tn_strings *list) {
    size_t bytes = (size_t)list->count * sizeof(char *);
    for (uint64_t i = 0; i < list->count; i++)
        bytes += list->items[i] ? strlen(list->items[i]) + 1 : 0;
    return bytes;
}

static size_t item_bytes(uint32_t type) {
    if (type == TN_FIELD_BYTES) return 1;
    if (type == TN_FIELD_F32S) return sizeof(float);
    return type == TN_FIELD_I64S || type == TN_FIELD_F64S ? sizeof(int64_t) : 0;
}

static size_t pointed_bytes(uint32_t type, const void *member) {
    const char *const *text = member;
    const tn_tensor *const *tensor = member;
    const tn_bytes *list = member; /* as the other lists are */
    if (type == TN_FIELD_STRING) return *text ? strlen(*text) + 1 : 0;
    if (type == TN_FIELD_STRINGS) return strings_bytes(member);
    if (type == TN_FIELD_TENSOR)
        return *tensor ? aligned(sizeof(tn_tensor)) + (size_t)(*tensor)->bytes : 0;
    return list && item_bytes(type) > 0 ? (size_t)list->count * item_bytes(type) : 0;
}

static void put_strings(tn_strings *list, char *to) {
    const char **items = (const char **)(void *)to;
    char *at = to + list->count * sizeof(char *);
    for (uint64_t i = 0; i < list->count; i++) {
        items[i] = list->items[i] ? at : NULL;
        if (!list->items[i]) continue;
        const size_t bytes = strlen(list->items[i]) + 1;
        memcpy(at, list->items[i], bytes);
        at += bytes;
    }
    list->items = items;
}

/* The member points there afterwards. */
static void put_pointed(uint32_t type, void *member, char *to, size_t bytes) {
    const char **text = member;
    const tn_tensor **tensor = member;
    tn_bytes *list = member;
    if (type == TN_FIELD_STRINGS) {
        put_strings(member, to);
    } else if (type == TN_FIELD_TENSOR) {
        tn_tensor *copy = (tn_tensor *)(void *)to;
        *copy = **tensor;
        copy->data = to + aligned(sizeof(tn_tensor));
        memcpy(copy->data, (*tensor)->data, (size_t)copy->bytes);
        *tensor = copy;
    } else if (type == TN_FIELD_STRING) {
        memcpy(to, *text, bytes);
        *text = to;
    } else {
        memcpy(to, list->items, bytes);
        list->items = (const uint8_t *)to;
    }
}

/* ----------------------------------------------------------------------------------------------
 * the node
 */

static void *params_of(const tn_subject *subject) {
    return subject->graph->nodes[0].params;
}

static size_t field_bytes(const tn_subject *subject, uint32_t index) {
    const tn_field *field = tn_fields_at(subject->op, index);
    const char *params = params_of(subject);
    return params ? pointed_bytes(field->type, params + field->offset) : 0;
}

static size_t constant_bytes(const tn_subject *subject, uint32_t index) {
    const tn_probe_port *port = &subject->probe.inputs[index];
    size_t bytes = 0;
    if (index >= subject->probe.input_count || !port->is_given || !port->is_constant ||
        tn_format_bytes(TN_LINEAR, port->own_type, &port->shape, &bytes) != TN_OK)
        return 0;
    return bytes;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static tn_status reserve(tn_guarded *page, size_t bytes) {
    return bytes > 0 ? tn_guarded_create(page, TN_GUARDED_FIELD, 0, bytes, true, SLACK) : TN_OK;
}

tn_status tn_stead_create(tn_stead *stead, const tn_subject *a, const tn_subject *b) {
    *stead = (tn_stead){.subject = NULL};
    const uint32_t count = a->op->field_count;
    if (count > TN_STEAD_FIELDS) return tn_fail(TN_ERROR_UNSUPPORTED, "too many fields");
    TN_TRY(reserve(&stead->params, params_of(a) ? (size_t)a->op->params_bytes : 0));
    TN_TRY(reserve(&stead->kernel_params,
                   a->probe.kernel_params ? (size_t)a->kernel->params_bytes : 0));
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(reserve(&stead->fields[i], larger(field_bytes(a, i), field_bytes(b, i))));
    for (uint32_t i = 0; i < TN_PROBE_PORTS; i++)
        TN_TRY(reserve(&stead->constants[i], larger(constant_bytes(a, i), constant_bytes(b, i))));
    return TN_OK;
}

static void protect(tn_stead *stead, int access) {
    tn_guarded_protect(&stead->params, access);
    tn_guarded_protect(&stead->kernel_params, access);
    for (uint32_t i = 0; i < TN_STEAD_FIELDS; i++)
        tn_guarded_protect(&stead->fields[i], access);
    for (uint32_t i = 0; i < TN_PROBE_PORTS; i++)
        tn_guarded_protect(&stead->constants[i], access);
}

static void put_back(tn_stead *stead) {
    tn_subject *subject = stead->subject;
    if (!subject) return;
    subject->graph->nodes[0].params = stead->own_params;
    subject->probe.kernel_params = stead->own_kernel_params;
    subject->probe.keeps_constants = false;
    for (uint32_t i = 0; i < subject->probe.input_count; i++)
        subject->probe.inputs[i].own = stead->own_constants[i];
    stead->subject = NULL;
}

static void put_params(tn_stead *stead, const tn_subject *subject) {
    char *params = stead->params.data;
    memcpy(params, stead->own_params, (size_t)subject->op->params_bytes);
    for (uint32_t i = 0; i < subject->op->field_count; i++) {
        const tn_field *field = tn_fields_at(subject->op, i);
        const size_t bytes = field_bytes(subject, i);
        if (bytes > 0)
            put_pointed(field->type, params + field->offset, stead->fields[i].data, bytes);
    }
    subject->graph->nodes[0].params = params;
}

/* The kernel's own, which point where the node's do. */
static tn_status put_kernel_params(tn_stead *stead, tn_subject *subject) {
    const void *made = NULL;
    TN_TRY(tn_kernel_fields_fill(subject->arena, subject->kernel, subject->op, params_of(subject),
                                 &made));
    if (!made) return TN_OK;
    memcpy(stead->kernel_params.data, made, (size_t)subject->kernel->params_bytes);
    subject->probe.kernel_params = stead->kernel_params.data;
    return TN_OK;
}

tn_status tn_stead_put(tn_stead *stead, tn_subject *subject) {
    put_back(stead);
    protect(stead, TN_GUARDED_WRITE);
    stead->subject = subject;
    stead->own_params = params_of(subject);
    stead->own_kernel_params = subject->probe.kernel_params;
    if (stead->params.data) put_params(stead, subject);
    for (uint32_t i = 0; i < subject->probe.input_count; i++) {
        const size_t bytes = constant_bytes(subject, i);
        stead->own_constants[i] = subject->probe.inputs[i].own;
        if (bytes == 0) continue;
        memcpy(stead->constants[i].data, subject->probe.inputs[i].own, bytes);
        subject->probe.inputs[i].own = stead->constants[i].data;
    }
    subject->probe.keeps_constants = true;
    const tn_status status = stead->kernel_params.data ? put_kernel_params(stead, subject) : TN_OK;
    protect(stead, TN_GUARDED_READ);
    return status;
}

void tn_stead_destroy(tn_stead *stead) {
    put_back(stead);
    tn_guarded_retire(&stead->params);
    tn_guarded_retire(&stead->kernel_params);
    for (uint32_t i = 0; i < TN_STEAD_FIELDS; i++)
        tn_guarded_retire(&stead->fields[i]);
    for (uint32_t i = 0; i < TN_PROBE_PORTS; i++)
        tn_guarded_retire(&stead->constants[i]);
}
