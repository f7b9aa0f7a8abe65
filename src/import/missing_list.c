/* SPDX-License-Identifier: Apache-2.0 */
/* Missing operators gathered, and the one message about all of them; see missing_list.h. */
#include "import/missing_list.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>

#define LISTED_AT_MOST   20
#define MESSAGE_BYTES    1400 /* of an error's text; what does not fit is counted */
#define GATHERED_AT_MOST 1000

tn_status tn_missing_list_init(tn_missing_list *list, const tn_allocator *allocator,
                               tn_arena *arena) {
    *list = (tn_missing_list){.allocator = allocator, .arena = arena};
    return tn_map_create(allocator, &list->keys);
}

void tn_missing_list_deinit(tn_missing_list *list) {
    if (!list->allocator) return;
    tn_deallocate(list->allocator, list->items);
    tn_map_destroy(list->keys);
}

bool tn_missing_list_count(tn_missing_list *list, const char *key) {
    uint64_t index;
    if (!tn_map_get(list->keys, key, &index)) return false;
    list->items[index].count++;
    return true;
}

tn_status tn_missing_list_add(tn_missing_list *list, const char *key, const char *node) {
    const char *reason = tn_arena_text(list->arena, tn_last_error()->message);
    const char *own_key = tn_arena_text(list->arena, key);
    const char *op = tn_arena_text(list->arena, tn_last_error()->op);
    const char *mend = tn_arena_text(list->arena, tn_last_error()->mend);
    if (!reason || !own_key || !op || !mend) return tn_fail_memory("a message");
    TN_TRY(tn_grow(list->allocator, (void **)&list->items, &list->capacity, list->count + 1,
                   sizeof(*list->items)));
    TN_TRY(tn_map_set(list->keys, own_key, list->count));
    list->items[list->count++] =
        (tn_missing_item){.reason = reason, .node = node, .op = op, .mend = mend, .count = 1};
    if (list->count >= GATHERED_AT_MOST) return tn_missing_list_report(list);
    return TN_OK;
}

static void add_line(tn_text *text, const tn_missing_item *missing, bool is_list) {
    tn_text_add_format(text, "%snode '%.200s'", is_list ? "\n  " : "", missing->node);
    if (missing->count > 1)
        tn_text_add_format(text, " and %" PRIu64 " more like it", missing->count - 1);
    tn_text_add_format(text, is_list ? ": %.400s" : ": %.1200s", missing->reason);
}

tn_status tn_missing_list_report(const tn_missing_list *list) {
    if (list->count == 0) return TN_OK;
    tn_text text;
    tn_text_init(&text, list->allocator);
    bool is_list = list->count > 1;
    if (is_list)
        tn_text_add_format(&text,
                           "the model asks for %zu things that are not supported:", list->count);
    size_t listed = 0;
    while (listed < list->count && listed < LISTED_AT_MOST && text.length < MESSAGE_BYTES)
        add_line(&text, &list->items[listed++], is_list);
    if (listed < list->count) tn_text_add_format(&text, "\n  and %zu more", list->count - listed);
    tn_status status = text.is_failed
                           ? tn_fail_memory("a message")
                           : tn_fail(TN_ERROR_UNSUPPORTED, "%s", text.data ? text.data : "");
    tn_text_deinit(&text);
    const tn_missing_item *first = &list->items[0];
    return tn_error_in(status, .node = first->node, .op = first->op, .mend = first->mend,
                       .is_in_message = true);
}
