/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a node as JSON; long lists are cut. See inspect.h. */
#include "plan/inspect/inspect.h"

#include <inttypes.h>
#include <tenon/plugin.h>

#define ITEMS_SHOWN 16

static size_t list_count(const Tenon__Plan__Attribute *attribute) {
    switch (attribute->type) {
    case TN_FIELD_I64S:
        return attribute->n_i64s;
    case TN_FIELD_F32S:
        return attribute->n_f32s;
    case TN_FIELD_F64S:
        return attribute->n_f64s;
    default:
        return attribute->n_strings;
    }
}

static void add_item(tn_text *text, const Tenon__Plan__Attribute *attribute, size_t index) {
    if (attribute->type == TN_FIELD_I64S)
        tn_text_add_format(text, "%" PRId64, attribute->i64s[index]);
    else if (attribute->type == TN_FIELD_F32S)
        tn_text_add_number(text, (double)attribute->f32s[index]);
    else if (attribute->type == TN_FIELD_F64S)
        tn_text_add_number(text, attribute->f64s[index]);
    else
        tn_text_add_json(text, attribute->strings[index]);
}

static void add_list(tn_text *text, const Tenon__Plan__Attribute *attribute) {
    size_t count = list_count(attribute);
    tn_text_add(text, "[");
    for (size_t i = 0; i < count && i < ITEMS_SHOWN; i++) {
        if (i > 0) tn_text_add(text, ", ");
        add_item(text, attribute, i);
    }
    if (count > ITEMS_SHOWN) tn_text_add_format(text, ", \"%zu in all\"", count);
    tn_text_add(text, "]");
}

static void add_tensor(tn_text *text, const Tenon__Plan__Value *tensor) {
    if (!tensor) {
        tn_text_add(text, "null");
        return;
    }
    tn_text_add(text, "{\"type\": ");
    tn_inspect_type(text, tensor->type);
    tn_text_add(text, ", \"shape\": ");
    tn_inspect_shape(text, tensor->n_shape, tensor->shape);
    tn_text_add_format(text, ", \"bytes\": %" PRIu64 "}", tensor->bytes);
}

static void add_graph(tn_text *text, const Tenon__Plan__Body *body) {
    if (!body) {
        tn_text_add(text, "null");
        return;
    }
    tn_text_add(text, "{\"graph\": ");
    tn_text_add_json(text, body->name);
    tn_text_add_format(text,
                       ", \"nodes\": %" PRIu32 ", \"inputs\": %" PRIu32 ", \"captured\": %" PRIu32
                       ", \"outputs\": %" PRIu32 ", \"bytes\": %" PRIu64 "}",
                       body->nodes, body->inputs, body->captures, body->outputs, body->bytes);
}

static void add_value(tn_text *text, const Tenon__Plan__Attribute *attribute) {
    switch (attribute->type) {
    case TN_FIELD_F32:
    case TN_FIELD_F64:
        tn_text_add_number(text, attribute->f);
        return;
    case TN_FIELD_STRING:
        tn_text_add_json(text, attribute->s);
        return;
    case 0:
    case TN_FIELD_BYTES:
        tn_text_add_format(text, "\"%zu bytes\"", attribute->raw.len);
        return;
    case TN_FIELD_I64S:
    case TN_FIELD_F32S:
    case TN_FIELD_F64S:
    case TN_FIELD_STRINGS:
        add_list(text, attribute);
        return;
    case TN_FIELD_TENSOR:
        add_tensor(text, attribute->tensor);
        return;
    case TN_FIELD_GRAPH:
        add_graph(text, attribute->graph);
        return;
    default:
        tn_text_add_format(text, "%" PRId64, attribute->i);
    }
}

void tn_inspect_fields(tn_text *text, const Tenon__Plan__Node *node) {
    tn_text_add(text, ", \"fields\": {");
    for (size_t i = 0; i < node->n_attributes; i++) {
        if (i > 0) tn_text_add(text, ", ");
        tn_text_add_json(text, node->attributes[i]->name);
        tn_text_add(text, ": ");
        add_value(text, node->attributes[i]);
    }
    tn_text_add(text, "}");
}
