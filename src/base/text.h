/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text: a growing buffer (also used to write JSON), and the nearest name for messages.
 */
#ifndef TN_BASE_TEXT_H
#define TN_BASE_TEXT_H

#include "base/memory.h"

/* A growing, always terminated text. After the first failed allocation it stays as it is and
 * `is_failed` is set, so that writers need to check once, at the end. */
typedef struct tn_text {
    const tn_allocator *allocator;
    char *data; /* null while empty */
    size_t length, capacity;
    bool is_failed;
} tn_text;
void tn_text_init(tn_text *text, const tn_allocator *allocator);
void tn_text_deinit(tn_text *text);
void tn_text_add(tn_text *text, const char *piece);
void tn_text_add_bytes(tn_text *text, const char *piece, size_t length);
void tn_text_add_format(tn_text *text, const char *format, ...) TN_PRINTF(2, 3);
void tn_text_add_json(
    tn_text *text,
    const char *piece); /* as a JSON string in quotes; bytes that are not UTF-8 replaced */
/* A number as JSON has it, whatever the locale: nine digits; null when it is not finite. */
void tn_text_add_number(tn_text *text, double value);
/* A member of an object that has others before it: , "key": value. */
void tn_text_add_member(tn_text *text, const char *key, const char *value);
void tn_text_add_member_number(tn_text *text, const char *key, double value);
/* Hands over the text (never null on success); TN_ERROR_MEMORY when it failed. The text is empty
 * afterwards. */
tn_status tn_text_take(tn_text *text, char **out_data);

/* Levenshtein distance, at most `limit` (then `limit`). */
uint32_t tn_text_distance(const char *a, const char *b, uint32_t limit);
/* Remembers the nearest of the names that it is shown, when it is near enough to be a slip: `best`
 * is null otherwise. */
typedef struct tn_nearest {
    const char *wanted;
    const char *best;
    uint32_t distance;
} tn_nearest;
void tn_nearest_init(tn_nearest *nearest, const char *wanted);
void tn_nearest_offer(tn_nearest *nearest, const char *name);

#endif
