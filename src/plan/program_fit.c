/* SPDX-License-Identifier: Apache-2.0 */
/* Stored programs against this machine: see program_fit.h. */
#include "plan/program_fit.h"

#include <inttypes.h>
#include <string.h>

/* A plan is untrusted: a fingerprint longer than any device's is not split. */
#define FINGERPRINT_LIMIT 1024

/* A piece of a text between separators. */
typedef struct piece {
    const char *data;
    size_t length;
} piece;

/* The next piece from `*at` on, which moves behind it; false past the end. Blanks before a piece
 * are no part of it. */
static bool next_piece(const char **at, const char *end, char separator, piece *out_piece) {
    while (*at < end && **at == ' ')
        (*at)++;
    if (*at >= end) return false;
    const char *stop = memchr(*at, separator, (size_t)(end - *at));
    *out_piece = (piece){*at, (size_t)((stop ? stop : end) - *at)};
    *at = stop ? stop + 1 : end;
    return true;
}

static bool is_equal(piece a, piece b) {
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

static bool has_piece(piece list, piece wanted) {
    const char *at = list.data;
    piece item;
    while (next_piece(&at, list.data + list.length, ',', &item))
        if (is_equal(item, wanted)) return true;
    return false;
}

/* The items of `list` that `other` lacks, as "a,b"; how many. */
static size_t add_lacking(tn_text *text, piece list, piece other) {
    const char *at = list.data;
    piece item;
    size_t count = 0;
    while (next_piece(&at, list.data + list.length, ',', &item)) {
        if (has_piece(other, item)) continue;
        tn_text_add_format(text, "%s%.*s", count ? "," : "", (int)item.length, item.data);
        count++;
    }
    return count;
}

static size_t count_lacking(piece list, piece other) {
    const char *at = list.data;
    piece item;
    size_t count = 0;
    while (next_piece(&at, list.data + list.length, ',', &item))
        count += !has_piece(other, item);
    return count;
}

/* Two lists, such as the processor's features. */
static void explain_lists(tn_text *text, piece built, piece here) {
    const size_t more = count_lacking(here, built);
    if (count_lacking(built, here) > 0) {
        tn_text_add(text, "with ");
        add_lacking(text, built, here);
        tn_text_add(text, ", which this machine lacks");
        if (more > 0) tn_text_add(text, "; ");
    }
    if (more > 0) {
        tn_text_add(text, "without ");
        add_lacking(text, here, built);
        tn_text_add(text, ", which this machine has");
    }
}

static void explain_part(tn_text *text, piece built, piece here) {
    if (memchr(built.data, ',', built.length) || memchr(here.data, ',', here.length))
        explain_lists(text, built, here);
    else
        tn_text_add_format(text, "for '%.*s', not '%.*s'", (int)built.length, built.data,
                           (int)here.length, here.data);
}

/* Devices of one kind, part by part; of another kind, as a whole. */
static void explain_fingerprint(tn_text *text, const char *built, const char *here) {
    const char *const built_end = built + strlen(built), *const here_end = here + strlen(here);
    const size_t before = text->length;
    const char *kind = built, *kind_here = here;
    piece a = {"", 0}, b = {"", 0};
    next_piece(&kind, built_end, ';', &a);
    next_piece(&kind_here, here_end, ';', &b);
    if (!is_equal(a, b)) {
        tn_text_add_format(text, "for '%s', not '%.*s'", built, (int)b.length, b.data);
        return;
    }
    while (built < built_end || here < here_end) {
        a = b = (piece){"", 0};
        next_piece(&built, built_end, ';', &a);
        next_piece(&here, here_end, ';', &b);
        if (is_equal(a, b)) continue;
        if (text->length > before) tn_text_add(text, "; ");
        explain_part(text, a, b);
    }
}

static bool fits_threads(const tn_program_target *program, const tn_program_target *here) {
    return here->threads == 0 || program->threads == here->threads;
}

bool tn_program_fits(const tn_program_target *program, const tn_program_target *here) {
    return strcmp(program->fingerprint, here->fingerprint) == 0 && fits_threads(program, here);
}

void tn_program_fit_explain(tn_text *text, const tn_program_target *program,
                            const tn_program_target *here) {
    const bool is_same = strcmp(program->fingerprint, here->fingerprint) == 0;
    const bool is_short = strlen(program->fingerprint) <= FINGERPRINT_LIMIT;
    if (!is_same && !is_short) tn_text_add(text, "for a device whose description is too long");
    if (!is_same && is_short) explain_fingerprint(text, program->fingerprint, here->fingerprint);
    if (fits_threads(program, here)) return;
    tn_text_add_format(text, "%sfor %" PRIu32 " thread%s, not %" PRIu32, is_same ? "" : "; ",
                       program->threads, program->threads == 1 ? "" : "s", here->threads);
}
