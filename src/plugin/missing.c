/* SPDX-License-Identifier: Apache-2.0 */
/* The message for an operator that no library has; see missing.h. */
#include "plugin/missing.h"
#include "base/text.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "plugin/library_private.h"
#include "plugin/runtime.h"
#include "tensor/type.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIELDS_AT_MOST 24
#define ITEMS_AT_MOST  8
#define TEXT_AT_MOST   40

static void add_short_text(tn_text *text, const char *value) {
    const bool is_long = strlen(value) > TEXT_AT_MOST;
    tn_text_add_format(text, "'%.*s%s'", TEXT_AT_MOST, value, is_long ? "..." : "");
}

static void add_item(tn_text *text, const tn_attribute *attribute, uint64_t index) {
    switch (attribute->type) {
    case TN_FIELD_I64S:
        tn_text_add_format(text, "%" PRId64, ((const int64_t *)attribute->items)[index]);
        break;
    case TN_FIELD_F32S:
        tn_text_add_format(text, "%g", (double)((const float *)attribute->items)[index]);
        break;
    case TN_FIELD_F64S:
        tn_text_add_format(text, "%g", ((const double *)attribute->items)[index]);
        break;
    default:
        add_short_text(text, ((const char *const *)attribute->items)[index]);
        break;
    }
}

static void add_list(tn_text *text, const tn_attribute *attribute) {
    tn_text_add(text, "[");
    for (uint64_t i = 0; attribute->items && i < attribute->count && i < ITEMS_AT_MOST; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_item(text, attribute, i);
    }
    if (attribute->count > ITEMS_AT_MOST)
        tn_text_add_format(text, ", ... %" PRIu64 " in all", attribute->count);
    tn_text_add(text, "]");
}

static void add_tensor(tn_text *text, const tn_tensor *tensor) {
    tn_text_add_format(text, "%s[", tn_type_name(tensor->type));
    for (uint32_t i = 0; tensor->shape && i < tensor->rank; i++)
        tn_text_add_format(text, i > 0 ? ",%" PRId64 : "%" PRId64, tensor->shape[i]);
    tn_text_add(text, "]");
}

static void add_value(tn_text *text, const tn_attribute *attribute) {
    switch (attribute->type) {
    case TN_FIELD_BOOL:
    case TN_FIELD_I32:
    case TN_FIELD_I64:
    case TN_FIELD_ENUM:
        tn_text_add_format(text, "%" PRId64, attribute->i);
        break;
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        tn_text_add_format(text, "%g", attribute->f);
        break;
    case TN_FIELD_STRING:
        add_short_text(text, attribute->s ? attribute->s : "");
        break;
    case TN_FIELD_TYPE:
        tn_text_add(text, tn_type_name((tn_type)attribute->i));
        break;
    case TN_FIELD_I64S:
    case TN_FIELD_F32S:
    case TN_FIELD_F64S:
    case TN_FIELD_STRINGS:
        add_list(text, attribute);
        break;
    case TN_FIELD_TENSOR:
        if (attribute->tensor) add_tensor(text, attribute->tensor);
        break;
    case TN_FIELD_GRAPH:
        break;
    default:
        tn_text_add_format(text, "%" PRIu64 " bytes", attribute->count);
        break;
    }
}

/* One field: "ksize=[1, 2, 2, 1] (a list of integers)". */
static void add_field(tn_text *text, const tn_attribute *attribute) {
    tn_text_add_format(text, "%.60s=", attribute->name);
    add_value(text, attribute);
    if (attribute->type != TN_FIELD_BYTES && attribute->type != 0)
        tn_text_add_format(text, " (%s)", tn_field_type_name(attribute->type));
}

tn_status tn_missing_describe(tn_runtime *runtime, const char *name, tn_status status,
                              uint64_t count, const tn_attribute *const *attributes) {
    if (status != TN_ERROR_UNSUPPORTED) return status;
    tn_text text, mend;
    char op[sizeof(((tn_error_copy *)0)->op)];
    snprintf(op, sizeof(op), "%s", tn_last_error()->op);
    tn_text_init(&text, tn_runtime_allocator(runtime));
    tn_text_add(&text, tn_last_error()->message);
    tn_text_add(&text, count > 0 ? "; the node has " : "; the node has no fields");
    for (uint64_t i = 0; i < count && i < FIELDS_AT_MOST; i++) {
        if (i > 0) tn_text_add(&text, ", ");
        add_field(&text, attributes[i]);
    }
    if (count > FIELDS_AT_MOST)
        tn_text_add_format(&text, " and %" PRIu64 " more", count - FIELDS_AT_MOST);
    tn_text_init(&mend, tn_runtime_allocator(runtime));
    tn_text_add(&mend, "load the plugin library that has it (--plugin LIB.so, or "
                       "tn_runtime_load_library)");
    tn_library_add_hint(&mend, runtime, name);
    if (text.is_failed || mend.is_failed)
        status = tn_fail_memory("a message");
    else
        tn_error_mend(
            tn_error_in(tn_fail(status, "%s", text.data), .op = op, .is_in_message = true), "; ",
            "%s", mend.data);
    tn_text_deinit(&mend);
    tn_text_deinit(&text);
    return status;
}
