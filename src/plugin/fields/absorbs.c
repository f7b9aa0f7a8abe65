/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of the facets that a kernel absorbs; see absorbs.h. */
#include "plugin/fields/absorbs.h"
#include "base/status.h"

#include <tenon/plugin/before.h>
#include <tenon/plugin/look_up.h>
#include <tenon/plugin/normalize.h>
#include <tenon/plugin/plane_mean.h>

#include <string.h>

enum { MOST_ABSORBS = 64, MOST_VARIANTS = 64, MOST_NAME = 100, MOST_PORT = 64 };

/* The names that belong to the header, and the variants of those that have any. Affine and linear
 * are folded into constants: no kernel absorbs them. */
static const struct {
    const char *name, *variants;
} known[] = {
    {TN_FACET_BIAS, NULL},        {TN_FACET_SCALE, NULL},
    {TN_FACET_RESIDUAL, NULL},    {TN_FACET_ACTIVATION, TN_ACTIVATIONS_1_0},
    {TN_FACET_ROW, NULL},         {TN_FACET_EXPRESSION, NULL},
    {TN_FACET_WINDOW_MAX, NULL},  {TN_FACET_SOFTMAX, NULL},
    {TN_FACET_NORMALIZE, NULL},   {TN_FACET_CONVERT, NULL},
    {TN_FACET_CONVOLUTION, NULL}, {TN_FACET_MATRIX_PRODUCT, NULL},
    {TN_FACET_LOOK_UP, NULL},     {TN_FACET_PLANE_MEAN, NULL},
};

typedef struct parser {
    tn_arena *arena;
    const char *text, *at;
    bool is_newer;
    tn_absorb *items;
    uint32_t count;
} parser;

static tn_status fail_at(const parser *p, const char *at, const char *expected) {
    return tn_fail(TN_ERROR_PLUGIN, "absorbs \"%s\": column %zu: %s", p->text,
                   (size_t)(at - p->text) + 1, expected);
}

static void skip_spaces(parser *p) {
    while (*p->at == ' ')
        p->at++;
}

static bool is_word(char c, const char *others) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr(others, c));
}

static const char *take_word(parser *p, const char *others) {
    const char *begin = p->at;
    while (is_word(*p->at, others))
        p->at++;
    const size_t length = (size_t)(p->at - begin);
    char copy[MOST_NAME + 1];
    if (length == 0 || length > MOST_NAME) return NULL;
    memcpy(copy, begin, length);
    copy[length] = 0;
    return tn_arena_text(p->arena, copy);
}

/* "acme.clamp/1": a dot within, and a number after the last slash. */
static bool is_facet_name(const char *name) {
    const char *dot = strchr(name, '.'), *slash = strrchr(name, '/');
    if (!dot || dot == name || !slash || slash < dot + 2 || !slash[1]) return false;
    return slash[1 + strspn(slash + 1, "0123456789")] == 0;
}

static bool has_word(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, '|')) {
        if (*at == '|') at++;
        if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == '|')) return true;
    }
    return false;
}

/* Names of the header: *out_known false where they are of a newer one. */
static tn_status check_name(const parser *p, const char *begin, const char *name,
                            const char **out_variants, bool *out_known) {
    *out_known = true;
    *out_variants = NULL;
    if (strncmp(name, "tn.", 3) != 0) return TN_OK;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, name) != 0) continue;
        *out_variants = known[i].variants;
        return TN_OK;
    }
    *out_known = false;
    return p->is_newer
               ? TN_OK
               : fail_at(p, begin, "expected a name of tenon/plugin.h, or a library's own prefix");
}

static tn_status take_variants(parser *p, const char *listed, tn_absorb *absorb) {
    const char **variants = tn_arena_allocate(p->arena, MOST_VARIANTS, sizeof(*variants));
    if (!variants) return tn_fail_memory("a kernel's facets");
    do {
        p->at++; /* the parenthesis, or the bar */
        skip_spaces(p);
        const char *begin = p->at, *word = take_word(p, "_-");
        if (!word) return fail_at(p, begin, "expected a variant's name");
        if (absorb->variant_count == MOST_VARIANTS) return fail_at(p, begin, "too many variants");
        skip_spaces(p);
        if (listed && !has_word(listed, word)) {
            if (p->is_newer) continue;
            return tn_fail(TN_ERROR_PLUGIN,
                           "absorbs \"%s\": column %zu: %s has no variant '%s': expected %s",
                           p->text, (size_t)(begin - p->text) + 1, absorb->facet, word, listed);
        }
        variants[absorb->variant_count++] = word;
    } while (*p->at == '|');
    if (*p->at != ')') return fail_at(p, p->at, "expected '|' or ')'");
    p->at++;
    absorb->variants = variants;
    return TN_OK;
}

/* "@2 ": before input 1. */
static tn_status take_port(parser *p, uint32_t *out_port) {
    const char *begin = p->at;
    *out_port = 0;
    if (*begin != '@') return TN_OK;
    for (p->at++; *p->at >= '0' && *p->at <= '9' && *out_port <= MOST_PORT; p->at++)
        *out_port = *out_port * 10 + (uint32_t)(*p->at - '0');
    if (*out_port < 1 || *out_port > MOST_PORT || *p->at != ' ')
        return fail_at(p, begin,
                       "expected the number of an input, from 1 to 64, and a space, like @1 "
                       "tn.convert/1");
    skip_spaces(p);
    return TN_OK;
}

static tn_status take_item(parser *p) {
    const char *variants = NULL;
    bool is_known = true;
    uint32_t port = 0;
    skip_spaces(p);
    TN_TRY(take_port(p, &port));
    const char *begin = p->at, *name = take_word(p, "._/-");
    if (!name || !is_facet_name(name))
        return fail_at(p, begin, "expected a facet's name with its version, like tn.bias/1");
    TN_TRY(check_name(p, begin, name, &variants, &is_known));
    for (uint32_t i = 0; i < p->count; i++)
        if (p->items[i].port == port && strcmp(p->items[i].facet, name) == 0)
            return fail_at(p, begin, "this facet is listed twice");
    if (p->count == MOST_ABSORBS) return fail_at(p, begin, "too many facets");
    tn_absorb *absorb = &p->items[p->count];
    *absorb = (tn_absorb){.facet = name, .port = port};
    skip_spaces(p);
    if (*p->at == '(')
        TN_TRY(take_variants(p, variants, absorb));
    else if (variants)
        return tn_fail(TN_ERROR_PLUGIN,
                       "absorbs \"%s\": column %zu: expected variants, like %s(%s)", p->text,
                       (size_t)(p->at - p->text) + 1, name, variants);
    p->count += is_known;
    skip_spaces(p);
    return TN_OK;
}

tn_status tn_absorbs_parse(tn_arena *arena, const char *text, bool is_newer,
                           const tn_absorb **out_absorbs, uint32_t *out_count) {
    parser p = {.arena = arena, .text = text, .at = text, .is_newer = is_newer};
    *out_absorbs = NULL;
    *out_count = 0;
    if (!text) return TN_OK;
    tn_absorb items[MOST_ABSORBS + 1];
    p.items = items;
    for (;;) {
        TN_TRY(take_item(&p));
        if (*p.at == 0) break;
        if (*p.at != ',') return fail_at(&p, p.at, "expected ',' or the end");
        p.at++;
    }
    *out_absorbs = tn_arena_copy(arena, items, p.count * sizeof(*items));
    if (!*out_absorbs) return tn_fail_memory("a kernel's facets");
    *out_count = p.count;
    return TN_OK;
}

bool tn_absorb_has(const tn_absorb *absorb, const char *variant) {
    if (!variant) return absorb->variant_count == 0 && !absorb->variants;
    for (uint32_t i = 0; i < absorb->variant_count; i++)
        if (strcmp(absorb->variants[i], variant) == 0) return true;
    return false;
}
