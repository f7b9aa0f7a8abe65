/* SPDX-License-Identifier: Apache-2.0 */
/* The growing text and the nearest name; see text.h. */
#include "base/text.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <math.h>
#include <string.h>

void tn_text_init(tn_text *text, const tn_allocator *allocator) {
    *text = (tn_text){.allocator = allocator};
}

void tn_text_deinit(tn_text *text) {
    tn_deallocate(text->allocator, text->data);
    tn_text_init(text, text->allocator);
}

static bool reserve(tn_text *text, size_t more) {
    size_t needed;
    if (text->is_failed) return false;
    if (!tn_add_size(text->length, more, &needed) || !tn_add_size(needed, 1, &needed))
        return !(text->is_failed = true);
    if (needed <= text->capacity) return true;
    size_t wanted = text->capacity < 128 ? 128 : text->capacity * 2;
    if (wanted < needed) wanted = needed;
    char *larger = tn_allocate(text->allocator, wanted);
    if (!larger) return !(text->is_failed = true);
    if (text->data) memcpy(larger, text->data, text->length);
    larger[text->length] = 0;
    tn_deallocate(text->allocator, text->data);
    text->data = larger;
    text->capacity = wanted;
    return true;
}

void tn_text_add_bytes(tn_text *text, const char *piece, size_t bytes) {
    if (!reserve(text, bytes)) return;
    memcpy(text->data + text->length, piece, bytes);
    text->length += bytes;
    text->data[text->length] = 0;
}

void tn_text_add(tn_text *text, const char *piece) {
    tn_text_add_bytes(text, piece, strlen(piece));
}

void tn_text_add_format(tn_text *text, const char *format, ...) {
    enum { MOST = 120 }; /* bytes of nearly all of them: formatted once */
    va_list arguments;
    if (!reserve(text, MOST)) return;
    const size_t left = text->capacity - text->length;
    va_start(arguments, format);
    const int length = vsnprintf(text->data + text->length, left, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length >= left) {
        text->data[text->length] = 0;
        if (!reserve(text, (size_t)length)) return;
        va_start(arguments, format);
        vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    if (length >= 0) text->length += (size_t)length;
    text->data[text->length] = 0;
}

/* Bytes of the well-formed UTF-8 sequence at `at` (1 to 4), 0 when it is not one. */
static size_t utf8_length(const unsigned char *at) {
    if (at[0] < 0x80) return 1;
    const size_t length = at[0] >= 0xf0 && at[0] < 0xf5   ? 4
                          : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                          : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                                                          : 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

void tn_text_add_json(tn_text *text, const char *piece) {
    tn_text_add_bytes(text, "\"", 1);
    for (const unsigned char *at = (const unsigned char *)piece; *at;) {
        const size_t length = utf8_length(at);
        if (length == 0) {
            tn_text_add_bytes(text, "\\ufffd", 6);
            at++;
        } else if (*at == '"' || *at == '\\') {
            tn_text_add_format(text, "\\%c", *at++);
        } else if (*at < 0x20) {
            tn_text_add_format(text, "\\u%04x", *at++);
        } else {
            tn_text_add_bytes(text, (const char *)at, length);
            at += length;
        }
    }
    tn_text_add_bytes(text, "\"", 1);
}

void tn_text_add_number(tn_text *text, double value) {
    char digits[40];
    if (!isfinite(value)) {
        tn_text_add(text, "null");
        return;
    }
    snprintf(digits, sizeof(digits), "%.9g", value);
    for (char *at = digits; *at; at++)
        if (*at == ',') *at = '.';
    tn_text_add(text, digits);
}

static void add_key(tn_text *text, const char *key) {
    tn_text_add(text, ", \"");
    tn_text_add(text, key);
    tn_text_add(text, "\": ");
}

void tn_text_add_member(tn_text *text, const char *key, const char *value) {
    add_key(text, key);
    tn_text_add_json(text, value);
}

void tn_text_add_member_number(tn_text *text, const char *key, double value) {
    add_key(text, key);
    tn_text_add_number(text, value);
}

tn_status tn_text_take(tn_text *text, char **out_data) {
    if (!reserve(text, 0)) return tn_fail_memory("a text");
    *out_data = text->data;
    tn_text_init(text, text->allocator);
    return TN_OK;
}

#define DISTANCE_LENGTH 128

uint32_t tn_text_distance(const char *a, const char *b, uint32_t limit) {
    const size_t m = strlen(a), n = strlen(b);
    uint32_t row[DISTANCE_LENGTH + 1];
    if (m > DISTANCE_LENGTH || n > DISTANCE_LENGTH || (m > n ? m - n : n - m) >= limit)
        return m == n && strcmp(a, b) == 0 ? 0 : limit;
    for (size_t j = 0; j <= n; j++)
        row[j] = (uint32_t)j;
    for (size_t i = 1; i <= m; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint32_t)i;
        for (size_t j = 1; j <= n; j++) {
            const uint32_t above = row[j];
            uint32_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[n] < limit ? row[n] : limit;
}

void tn_nearest_init(tn_nearest *nearest, const char *wanted) {
    const size_t length = strlen(wanted);
    /* A slip is up to a third of the letters, and three. */
    *nearest = (tn_nearest){.wanted = wanted, .distance = length < 3 ? 2 : length < 9 ? 3 : 4};
}

void tn_nearest_offer(tn_nearest *nearest, const char *name) {
    const uint32_t distance = tn_text_distance(nearest->wanted, name, nearest->distance);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
    }
}
