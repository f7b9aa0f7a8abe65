/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes between two processes, other than tensors and bodies; see isolated.h. */
#include "base/status.h"
#include "import/isolated.h"

static size_t item_bytes(uint32_t type) {
    switch (type) {
    case TN_FIELD_I64S:
        return sizeof(int64_t);
    case TN_FIELD_F32S:
        return sizeof(float);
    case TN_FIELD_F64S:
        return sizeof(double);
    case TN_FIELD_BYTES:
    case 0:
        return 1;
    default:
        return 0;
    }
}

void tn_isolated_put_attribute(tn_isolated_writer *writer, const tn_attribute *attribute) {
    const bool is_list = item_bytes(attribute->type) > 0 || attribute->type == TN_FIELD_STRINGS;
    const uint64_t count = is_list ? attribute->count : 0;
    tn_isolated_put_u32(writer, attribute->type);
    tn_isolated_put_text(writer, attribute->name);
    tn_isolated_put(writer, &attribute->i, sizeof(attribute->i));
    tn_isolated_put(writer, &attribute->f, sizeof(attribute->f));
    tn_isolated_put_text(writer, attribute->type == TN_FIELD_STRING ? attribute->s : NULL);
    tn_isolated_put_u64(writer, count);
    if (attribute->type == TN_FIELD_STRINGS)
        for (uint64_t i = 0; i < count; i++)
            tn_isolated_put_text(writer, ((const char *const *)attribute->items)[i]);
    else
        tn_isolated_put(writer, attribute->items, (size_t)count * item_bytes(attribute->type));
}

tn_attribute tn_isolated_take_attribute(tn_isolated_cursor *cursor, tn_arena *arena) {
    tn_attribute attribute = {.size = sizeof(attribute)};
    attribute.type = tn_isolated_take_u32(cursor);
    attribute.name = tn_isolated_take_name(cursor);
    tn_isolated_take(cursor, &attribute.i, sizeof(attribute.i));
    tn_isolated_take(cursor, &attribute.f, sizeof(attribute.f));
    attribute.s = tn_isolated_take_text(cursor);
    attribute.count = tn_isolated_take_count(cursor, 1);
    const size_t bytes = item_bytes(attribute.type);
    const bool is_strings = attribute.type == TN_FIELD_STRINGS;
    if (attribute.count == 0) return attribute;
    if (bytes > 0) {
        attribute.items = tn_isolated_take_items(cursor, arena, attribute.count, bytes);
        return attribute;
    }
    const char **texts = tn_arena_allocate(arena, (size_t)attribute.count, sizeof(*texts));
    if (!is_strings || !texts) {
        cursor->status = texts ? tn_fail(TN_ERROR_FORMAT, "an attribute that is no list has items")
                               : tn_fail_memory("a list");
        return attribute;
    }
    for (uint64_t i = 0; i < attribute.count; i++)
        texts[i] = tn_isolated_take_name(cursor);
    attribute.items = texts;
    return attribute;
}
