/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that nothing here serves, gathered by operator, and the one message about all of them.
 */
#include "base/status.h"
#include "parse/onnx/onnx.h"

#include <inttypes.h>

#define LISTED_AT_MOST   20
#define MESSAGE_BYTES    1400 /* of an error's room for text; what does not fit is counted */
#define GATHERED_AT_MOST 1000

bool tn_onnx_missing_count(tn_onnx_reader *reader, const char *key) {
    uint64_t place;
    if (!tn_map_get(reader->missing_keys, key, &place)) return false;
    reader->missing[place].count++;
    return true;
}

tn_status tn_onnx_missing_add(tn_onnx_reader *reader, const char *key, const char *node) {
    const char *reason = tn_arena_text(reader->arena, tn_last_error()->message);
    const char *own_key = tn_arena_text(reader->arena, key);
    if (!reason || !own_key) return tn_fail_memory("a message");
    TN_TRY(tn_grow(reader->allocator, (void **)&reader->missing, &reader->missing_capacity,
                   reader->missing_count + 1, sizeof(*reader->missing)));
    TN_TRY(tn_map_set(reader->missing_keys, own_key, reader->missing_count));
    reader->missing[reader->missing_count++] =
        (tn_onnx_missing){.reason = reason, .node = node, .count = 1};
    if (reader->missing_count >= GATHERED_AT_MOST) return tn_onnx_missing_report(reader);
    return TN_OK;
}

static void add_line(tn_text *text, const tn_onnx_missing *missing, bool is_list) {
    tn_text_add_format(text, "%snode '%.200s'", is_list ? "\n  " : "", missing->node);
    if (missing->count > 1)
        tn_text_add_format(text, " and %" PRIu64 " more like it", missing->count - 1);
    tn_text_add_format(text, is_list ? ": %.400s" : ": %.1200s", missing->reason);
}

tn_status tn_onnx_missing_report(const tn_onnx_reader *reader) {
    if (reader->missing_count == 0) return TN_OK;
    tn_text text;
    tn_text_init(&text, reader->allocator);
    bool is_list = reader->missing_count > 1;
    if (is_list)
        tn_text_add_format(
            &text, "the model asks for %zu things that are not supported:", reader->missing_count);
    size_t listed = 0;
    while (listed < reader->missing_count && listed < LISTED_AT_MOST && text.length < MESSAGE_BYTES)
        add_line(&text, &reader->missing[listed++], is_list);
    if (listed < reader->missing_count)
        tn_text_add_format(&text, "\n  and %zu more", reader->missing_count - listed);
    tn_status status = text.is_failed
                           ? tn_fail_memory("a message")
                           : tn_fail(TN_ERROR_UNSUPPORTED, "%s", text.data ? text.data : "");
    tn_text_deinit(&text);
    return status;
}
