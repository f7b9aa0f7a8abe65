/* SPDX-License-Identifier: Apache-2.0 */
/* Reading numbers out of parameter structs; see expression_field.h. */
#include "common/expression_field.h"

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
