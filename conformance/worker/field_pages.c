/* SPDX-License-Identifier: Apache-2.0 */
/* Fields in guarded memory; see field_pages.h. */
#include "field_pages.h"
#include "plugin/fields/fields.h"

#include <string.h>

enum { SLACK = 0xFF /* no number */, MOST_STRINGS = 4 /* of a list of them */ };

/* A copy of `bytes`, or null. */
static void *copy_flush(tn_field_pages *pages, uint32_t field, const void *data, size_t bytes) {
    if (pages->count == TN_FIELD_PAGES || bytes == 0) return NULL;
    tn_guarded *page = &pages->pages[pages->count];
    if (tn_guarded_create_flush(page, TN_GUARDED_FIELD, field, bytes, SLACK) != TN_OK) return NULL;
    memcpy(page->data, data, bytes);
    tn_guarded_protect(page, TN_GUARDED_READ);
    pages->count++;
    return page->data;
}

/* Memory of no bytes: neither what it points at nor what lies before may be touched. */
static const void *take_none(tn_field_pages *pages, uint32_t field) {
    enum { BEFORE = 64 };
    tn_guarded *page = &pages->pages[pages->count];
    if (pages->count == TN_FIELD_PAGES ||
        tn_guarded_create_flush(page, TN_GUARDED_FIELD, field, BEFORE, SLACK) != TN_OK)
        return NULL;
    tn_guarded_protect(page, TN_GUARDED_NONE);
    page->is_live = true;
    page->data += BEFORE; /* what is said of a fault counts from here */
    page->bytes = 0;
    pages->count++;
    return page->data;
}

/* All lists are a count and a pointer. */
static void move_list(tn_field_pages *pages, uint32_t field, tn_bytes *list, size_t item_bytes) {
    const void *copy = list->count == 0 ? take_none(pages, field)
                       : list->items
                           ? copy_flush(pages, field, list->items, (size_t)list->count * item_bytes)
                           : NULL;
    if (copy) list->items = copy;
}

static void move_string(tn_field_pages *pages, uint32_t field, const char **string) {
    const char *copy = *string ? copy_flush(pages, field, *string, strlen(*string) + 1) : NULL;
    if (copy) *string = copy;
}

static void move_strings(tn_field_pages *pages, tn_arena *arena, uint32_t field, tn_strings *list) {
    const char **items = tn_arena_allocate(arena, (size_t)list->count + 1, sizeof(*items));
    if (!items || list->count == 0) return;
    memcpy(items, list->items, (size_t)list->count * sizeof(*items));
    for (uint64_t i = 0; i < list->count && i < MOST_STRINGS; i++)
        move_string(pages, field, &items[i]);
    list->items = items;
    move_list(pages, field, (tn_bytes *)(void *)list, sizeof(*items));
}

static void move_tensor(tn_field_pages *pages, tn_arena *arena, uint32_t field,
                        const tn_tensor **tensor) {
    tn_tensor *copy = *tensor ? tn_arena_copy(arena, *tensor, sizeof(*copy)) : NULL;
    tn_guarded *page = &pages->pages[pages->count];
    if (!copy || pages->count == TN_FIELD_PAGES || copy->bytes == 0 ||
        tn_guarded_create(page, TN_GUARDED_FIELD, field, (size_t)copy->bytes, true, SLACK) != TN_OK)
        return;
    memcpy(page->data, copy->data, (size_t)copy->bytes);
    tn_guarded_protect(page, TN_GUARDED_READ);
    pages->count++;
    copy->data = page->data;
    *tensor = copy;
}

static void move_field(tn_field_pages *pages, tn_arena *arena, uint32_t index, uint32_t type,
                       void *member) {
    switch (type) {
    case TN_FIELD_STRING:
        move_string(pages, index, member);
        break;
    case TN_FIELD_BYTES:
        move_list(pages, index, member, 1);
        break;
    case TN_FIELD_F32S:
        move_list(pages, index, member, sizeof(float));
        break;
    case TN_FIELD_I64S:
    case TN_FIELD_F64S:
        move_list(pages, index, member, sizeof(int64_t));
        break;
    case TN_FIELD_STRINGS:
        move_strings(pages, arena, index, member);
        break;
    case TN_FIELD_TENSOR:
        move_tensor(pages, arena, index, member);
        break;
    default:
        break;
    }
}

void tn_field_pages_move(tn_field_pages *pages, tn_arena *arena, const tn_operator *op,
                         void *params) {
    for (uint32_t i = 0; params && i < op->field_count; i++) {
        const tn_field *field = tn_fields_at(op, i);
        move_field(pages, arena, i, field->type, (char *)params + field->offset);
    }
}

void tn_field_pages_retire(tn_field_pages *pages) {
    for (uint32_t i = 0; i < pages->count; i++)
        tn_guarded_retire(&pages->pages[i]);
    pages->count = 0;
}
