/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combinations in which a port has several formats, joined by '|': they stand for as many
 * combinations, in each of which all ports that list the same formats have the same one. They are
 * written out before they are parsed, so that everybody else sees one format a port.
 */
#include "base/status.h"
#include "plugin/fields/combination.h"

#include <string.h>

static const char stops[] = " :,?.-";

typedef struct expansion {
    tn_arena *arena;
    const char **texts;
    uint32_t count, capacity;
} expansion;

/* The first list of formats of a text, without its ':'; null: there is none. */
static const char *find_set(const char *text, size_t *out_length) {
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
        *out_length = strcspn(at + 1, stops);
        if (memchr(at + 1, '|', *out_length)) return at + 1;
    }
    return NULL;
}

/* The text with `format` instead of every list that is `set`; linear is not written. */
static char *replace(tn_arena *arena, const char *text, const char *set, size_t set_length,
                     const char *format, size_t length) {
    char *made = tn_arena_allocate(arena, strlen(text) + 1, 1), *to = made;
    const bool is_linear = length == 6 && memcmp(format, "linear", 6) == 0;
    while (made && *text) {
        const bool is_set = *text == ':' && strcspn(text + 1, stops) == set_length &&
                            memcmp(text + 1, set, set_length) == 0;
        if (!is_set) {
            *to++ = *text++;
            continue;
        }
        text += 1 + set_length;
        if (is_linear) continue;
        *to++ = ':';
        memcpy(to, format, length);
        to += length;
    }
    return made;
}

static tn_status expand(expansion *e, const char *text) {
    size_t set_length = 0;
    const char *set = find_set(text, &set_length);
    if (!set) {
        if (e->count == e->capacity)
            return tn_fail(TN_ERROR_PLUGIN, "more than %u combinations, formats written out",
                           e->capacity);
        e->texts[e->count++] = text;
        return TN_OK;
    }
    for (size_t at = 0; at <= set_length;) {
        const char *bar = memchr(set + at, '|', set_length - at);
        const size_t length = bar ? (size_t)(bar - set) - at : set_length - at;
        const char *one = replace(e->arena, text, set, set_length, set + at, length);
        if (!one) return tn_fail_memory("a kernel's combinations");
        TN_TRY(expand(e, one));
        at += length + 1;
    }
    return TN_OK;
}

tn_status tn_combination_expand(tn_arena *arena, const char *const *texts, uint32_t count,
                                uint32_t most, const char *const **out_texts, uint32_t *out_count) {
    expansion e = {.arena = arena, .capacity = most};
    bool has_set = false;
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++)
        has_set = has_set || find_set(texts[i], &length);
    *out_texts = texts;
    *out_count = count;
    if (!has_set) return TN_OK;
    e.texts = tn_arena_allocate(arena, most, sizeof(*e.texts));
    if (!e.texts) return tn_fail_memory("a kernel's combinations");
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(expand(&e, texts[i]));
    *out_texts = e.texts;
    *out_count = e.count;
    return TN_OK;
}
