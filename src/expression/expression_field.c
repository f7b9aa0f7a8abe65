/* SPDX-License-Identifier: Apache-2.0 */
/* Names in expressions, and numbers out of parameter structs; see expression_field.h. */
#include "src/expression/expression_field.h"

#include <string.h>

bool tn_expression_field(const tn_field *field, const void *params, double *out_number) {
    const char *member = (const char *)params + field->offset;
    switch (field->type) {
    case TN_FIELD_BOOL: {
        bool value;
        memcpy(&value, member, sizeof(value));
        *out_number = value;
        return true;
    }
    case TN_FIELD_I32: {
        int32_t value;
        memcpy(&value, member, sizeof(value));
        *out_number = value;
        return true;
    }
    case TN_FIELD_I64: {
        int64_t value;
        memcpy(&value, member, sizeof(value));
        *out_number = (double)value;
        return true;
    }
    case TN_FIELD_F32: {
        float value;
        memcpy(&value, member, sizeof(value));
        *out_number = (double)value;
        return true;
    }
    case TN_FIELD_F64:
        memcpy(out_number, member, sizeof(*out_number));
        return true;
    case TN_FIELD_ENUM: {
        uint32_t value;
        memcpy(&value, member, sizeof(value));
        *out_number = value;
        return true;
    }
    default:
        return false;
    }
}

/* Tables of a newer or older header step by their own sizes. */
bool tn_expression_find_input(const tn_expression *expression, uint32_t step, const tn_operator *op,
                              uint32_t *out_input) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        const char *at = (const char *)op->inputs + (size_t)i * op->port_size;
        const tn_port *port = (const tn_port *)(const void *)at;
        if (!port->name || !tn_expression_is_name(expression, step, port->name)) continue;
        *out_input = i;
        return true;
    }
    return false;
}

const tn_field *tn_expression_find_field(const tn_expression *expression, uint32_t step,
                                         const tn_operator *op) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        const char *at = (const char *)op->fields + (size_t)i * op->field_size;
        const tn_field *field = (const tn_field *)(const void *)at;
        if (tn_expression_is_name(expression, step, field->name)) return field;
    }
    return NULL;
}
