/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program on a text; see regex.h. */
#include "strings/regex.h"

#define NO_LETTER UINT32_MAX /* before the text and behind it */

/* A set of steps, in the order in which they came: Briggs and Torczon, "An efficient representation
 * for sparse sets" (1993). */
typedef struct step_set {
    uint32_t *items, *positions;
    uint32_t count;
} step_set;

typedef struct matcher {
    const tn_regex *regex;
    step_set sets[2];
    uint32_t *stack;
    uint32_t before, after; /* the characters on both sides of the position */
    bool is_accepted;
} matcher;

uint64_t tn_regex_scratch_bytes(const tn_regex *regex) {
    return (uint64_t)regex->step_count * 6 * sizeof(uint32_t);
}

static bool insert(step_set *set, uint32_t step) {
    const uint32_t position = set->positions[step];
    if (position < set->count && set->items[position] == step) return false;
    set->items[set->count] = step;
    set->positions[step] = set->count++;
    return true;
}

static bool is_word(uint32_t letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= 'a' && letter <= 'z') || letter == '_';
}

static bool holds(const matcher *m, uint32_t assertion) {
    switch (assertion) {
    case TN_REGEX_TEXT_BEGIN:
        return m->before == NO_LETTER;
    case TN_REGEX_TEXT_END:
        return m->after == NO_LETTER;
    case TN_REGEX_LINE_BEGIN:
        return m->before == NO_LETTER || m->before == '\n';
    case TN_REGEX_LINE_END:
        return m->after == NO_LETTER || m->after == '\n';
    case TN_REGEX_WORD_EDGE:
        return is_word(m->before) != is_word(m->after);
    default:
        return is_word(m->before) == is_word(m->after);
    }
}

/* The step, and all that it leads to without a character. Each step is taken once, so that the
 * stack holds two for each at most. */
static void add(matcher *m, step_set *set, uint32_t first) {
    uint32_t count = 0;
    m->stack[count++] = first;
    while (count > 0) {
        const uint32_t at = m->stack[--count];
        const tn_regex_step *step = &m->regex->steps[at];
        if (!insert(set, at)) continue;
        if (step->action == TN_REGEX_FORK) {
            m->stack[count++] = step->y;
            m->stack[count++] = step->x;
        } else if (step->action == TN_REGEX_JUMP) {
            m->stack[count++] = step->x;
        } else if (step->action == TN_REGEX_CHECK && holds(m, step->x)) {
            m->stack[count++] = at + 1;
        } else if (step->action == TN_REGEX_ACCEPT) {
            m->is_accepted = true;
        }
    }
}

static bool is_in_ranges(const tn_regex *regex, const tn_regex_class *class, uint32_t letter) {
    for (uint32_t i = class->begin; i < class->end; i++)
        if (letter >= regex->ranges[i].first && letter <= regex->ranges[i].last) return true;
    return false;
}

static bool is_in(const tn_regex *regex, const tn_regex_class *class, uint32_t letter) {
    bool is_there = is_in_ranges(regex, class, letter);
    if (!is_there && class->is_folded)
        is_there = is_in_ranges(regex, class, tn_letter_lower(letter)) ||
                   is_in_ranges(regex, class, tn_letter_upper(letter));
    return is_there != class->is_negated;
}

/* From the steps before character `letter` to those behind it. */
static void advance(matcher *m, const step_set *from, step_set *to, uint32_t letter) {
    to->count = 0;
    m->is_accepted = false;
    for (uint32_t i = 0; i < from->count; i++) {
        const tn_regex_step *step = &m->regex->steps[from->items[i]];
        if (step->action == TN_REGEX_TAKE && is_in(m->regex, &m->regex->classes[step->x], letter))
            add(m, to, from->items[i] + 1);
    }
}

static uint32_t letter_at(const char *text, uint64_t bytes, uint64_t at, uint64_t *out_next) {
    uint32_t letter = NO_LETTER;
    *out_next = at;
    if (at < bytes) *out_next += tn_letters_decode(text + at, bytes - at, &letter);
    return letter;
}

bool tn_regex_matches(const tn_regex *regex, const char *text, uint64_t bytes, void *scratch) {
    uint32_t *memory = scratch;
    const uint32_t count = regex->step_count;
    uint64_t next = 0;
    matcher m = {.regex = regex,
                 .sets = {{memory, memory + count, 0}, {memory + 2 * count, memory + 3 * count, 0}},
                 .stack = memory + 4 * count,
                 .before = NO_LETTER};
    step_set *from = &m.sets[0], *to = &m.sets[1];
    memset(scratch, 0, tn_regex_scratch_bytes(regex));
    m.after = letter_at(text, bytes, 0, &next);
    add(&m, from, 0);
    while (m.after != NO_LETTER && from->count > 0) {
        m.before = m.after;
        m.after = letter_at(text, bytes, next, &next);
        advance(&m, from, to, m.before);
        step_set *other = from;
        from = to;
        to = other;
    }
    return m.after == NO_LETTER && from->count > 0 && m.is_accepted;
}
