/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UFF's text form: protocol buffers' text with the names of uff.proto, read by importers/prototext
 * and put into the binary form, from which reader.c goes on as with any file.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include "importers/prototext/tree.h"

#include <string.h>

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t skip_space(const char *data, size_t bytes) {
    bool is_comment = false;
    for (size_t at = 0; at < bytes; at++) {
        const char c = data[at];
        if (c == '\n')
            is_comment = false;
        else if (c == '#')
            is_comment = true;
        else if (!is_comment && c != ' ' && c != '\t' && c != '\r')
            return at;
    }
    return bytes;
}

bool tn_uff_is_text(const char *data, size_t bytes) {
    const size_t start = skip_space(data, bytes);
    size_t end = start;
    while (end < bytes && is_name_byte(data[end]))
        end++;
    const ProtobufCMessageDescriptor *schema = &tenon__uff__meta_graph__descriptor;
    bool is_field = false;
    for (unsigned i = 0; i < schema->n_fields; i++)
        is_field |= strlen(schema->fields[i].name) == end - start &&
                    memcmp(schema->fields[i].name, data + start, end - start) == 0;
    while (end < bytes && (data[end] == ' ' || data[end] == '\t'))
        end++;
    return is_field && end < bytes && memchr(":{<", data[end], 3);
}

tn_status tn_uff_text_encode(const tn_allocator *allocator, const char *text, size_t bytes,
                             void **out_data, size_t *out_bytes) {
    tn_arena *arena;
    tn_prototext_message *message = NULL;
    TN_TRY(tn_arena_create(allocator, &arena));
    tn_status status = tn_prototext_read(arena, allocator, text, bytes, true, &message);
    if (status == TN_OK)
        status = tn_prototext_schema_check(message, &tenon__uff__meta_graph__descriptor, 0);
    if (status == TN_OK)
        status = tn_prototext_encode(allocator, message, &tenon__uff__meta_graph__descriptor,
                                     out_data, out_bytes);
    tn_arena_destroy(arena);
    return status;
}
