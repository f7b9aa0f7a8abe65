/* SPDX-License-Identifier: Apache-2.0 */
/* From a pattern to a tree; see regex.h. Characters and their classes are regex_class.c's. */
#include "strings/regex_parser.h"

static tn_status parse_choice(tn_regex_parser *p, uint32_t *out_node);

static uint32_t add_letter(tn_regex_parser *p, uint32_t letter) {
    const uint32_t begin = p->regex->range_count;
    tn_regex_add_range(p, letter, letter);
    return tn_regex_add_class(p, begin, false);
}

static uint32_t add_assertion(tn_regex_parser *p, tn_regex_assertion assertion) {
    return tn_regex_add_node(p, (tn_regex_node){.kind = TN_REGEX_ASSERTION, .value = assertion});
}

/* "(?" is taken: flags alone, which hold to the group's end, or before a group. */
static tn_status parse_flags(tn_regex_parser *p, bool *out_is_group) {
    bool is_on = true;
    for (;; p->at++) {
        const char letter = p->pattern[p->at];
        const uint32_t flag = letter == 'i'   ? TN_REGEX_FOLD
                              : letter == 'm' ? TN_REGEX_LINES
                              : letter == 's' ? TN_REGEX_DOT_ALL
                                              : 0;
        if (letter == '-' && is_on) {
            is_on = false;
        } else if (letter == ')' || letter == ':') {
            p->at++;
            *out_is_group = letter == ':';
            return TN_OK;
        } else if (flag || letter == 'U') { /* U: lazy and greedy exchanged */
            p->flags = is_on ? p->flags | flag : p->flags & ~flag;
        } else {
            return tn_regex_fail(p, "there is no such group or flag");
        }
    }
}

/* Behind the parenthesis. */
static tn_status parse_group(tn_regex_parser *p, uint32_t *out_node) {
    const uint32_t flags = p->flags;
    bool is_group = true;
    if (tn_regex_take(p, "?P<") || tn_regex_take(p, "?<")) {
        const char *end = strchr(p->pattern + p->at, '>');
        if (!end || end == p->pattern + p->at)
            return tn_regex_fail(p, "a group's name is not there");
        p->at = (uint64_t)(end - p->pattern) + 1;
    } else if (tn_regex_take(p, "?")) {
        TN_TRY(parse_flags(p, &is_group));
    }
    if (!is_group) { /* nothing instead */
        *out_node = tn_regex_add_node(p, (tn_regex_node){.kind = TN_REGEX_CONCAT});
        return TN_OK;
    }
    if (++p->nesting > TN_REGEX_MOST_NESTING) return tn_regex_fail(p, "groups are nested too deep");
    TN_TRY(parse_choice(p, out_node));
    p->nesting--;
    if (!tn_regex_take(p, ")")) return tn_regex_fail(p, "a parenthesis is not closed");
    p->flags = flags;
    return TN_OK;
}

/* All up to \E as it is. */
static void parse_quoted(tn_regex_parser *p, uint32_t *out_node) {
    *out_node = tn_regex_add_node(p, (tn_regex_node){.kind = TN_REGEX_CONCAT});
    uint32_t last = 0;
    while (p->at < p->length && !tn_regex_take(p, "\\E")) {
        const uint32_t node = add_letter(p, tn_regex_next_letter(p));
        if (last)
            p->regex->nodes[last].next = node;
        else
            p->regex->nodes[*out_node].child = node;
        last = node;
    }
}

static tn_status parse_backslash(tn_regex_parser *p, uint32_t *out_node) {
    const uint32_t begin = p->regex->range_count;
    uint32_t letter = 0;
    if (tn_regex_take_letter_class(p)) {
        *out_node = tn_regex_add_class(p, begin, false);
    } else if (tn_regex_take(p, "\\A")) {
        *out_node = add_assertion(p, TN_REGEX_TEXT_BEGIN);
    } else if (tn_regex_take(p, "\\z")) {
        *out_node = add_assertion(p, TN_REGEX_TEXT_END);
    } else if (tn_regex_take(p, "\\b")) {
        *out_node = add_assertion(p, TN_REGEX_WORD_EDGE);
    } else if (tn_regex_take(p, "\\B")) {
        *out_node = add_assertion(p, TN_REGEX_NO_WORD_EDGE);
    } else if (tn_regex_take(p, "\\Q")) {
        parse_quoted(p, out_node);
    } else {
        p->at++;
        TN_TRY(tn_regex_take_escape(p, &letter));
        *out_node = add_letter(p, letter);
    }
    return TN_OK;
}

static tn_status parse_atom(tn_regex_parser *p, uint32_t *out_node) {
    const uint32_t begin = p->regex->range_count;
    const char letter = p->pattern[p->at];
    if (letter == '\\') return parse_backslash(p, out_node);
    if (strchr("*+?", letter)) return tn_regex_fail(p, "nothing stands before a repetition");
    if (tn_regex_take(p, "(")) return parse_group(p, out_node);
    if (tn_regex_take(p, "[")) return tn_regex_parse_brackets(p, out_node);
    if (tn_regex_take(p, "^")) {
        *out_node =
            add_assertion(p, p->flags & TN_REGEX_LINES ? TN_REGEX_LINE_BEGIN : TN_REGEX_TEXT_BEGIN);
    } else if (tn_regex_take(p, "$")) {
        *out_node =
            add_assertion(p, p->flags & TN_REGEX_LINES ? TN_REGEX_LINE_END : TN_REGEX_TEXT_END);
    } else if (tn_regex_take(p, ".")) {
        if (!(p->flags & TN_REGEX_DOT_ALL)) tn_regex_add_range(p, '\n', '\n');
        *out_node = tn_regex_add_class(p, begin, true);
    } else {
        *out_node = add_letter(p, tn_regex_next_letter(p));
    }
    return TN_OK;
}

/* "{2,5}", which is plain text where it is written otherwise. */
static bool take_counts(tn_regex_parser *p, uint32_t *out_least, uint32_t *out_most) {
    const uint64_t begin = p->at;
    bool is_one = tn_regex_take(p, "{") && tn_regex_take_number(p, 10, 5, out_least);
    *out_most = *out_least;
    if (is_one && tn_regex_take(p, ",") && !tn_regex_take_number(p, 10, 5, out_most))
        *out_most = UINT32_MAX;
    is_one = is_one && tn_regex_take(p, "}");
    if (!is_one) p->at = begin;
    return is_one;
}

static bool take_repetition(tn_regex_parser *p, uint32_t *out_least, uint32_t *out_most) {
    *out_least = 0;
    *out_most = UINT32_MAX;
    if (tn_regex_take(p, "*")) return true;
    if (tn_regex_take(p, "+")) {
        *out_least = 1;
        return true;
    }
    if (tn_regex_take(p, "?")) {
        *out_most = 1;
        return true;
    }
    return take_counts(p, out_least, out_most);
}

static tn_status parse_repeat(tn_regex_parser *p, uint32_t *out_node) {
    uint32_t least = 0, most = 0;
    TN_TRY(parse_atom(p, out_node));
    if (!take_repetition(p, &least, &most)) return TN_OK;
    tn_regex_take(p, "?"); /* lazy */
    if (least > TN_REGEX_MOST_REPEATS || (most != UINT32_MAX && most > TN_REGEX_MOST_REPEATS) ||
        most < least)
        return tn_regex_fail(p, "a repetition's counts are wrong or too large");
    *out_node = tn_regex_add_node(
        p,
        (tn_regex_node){.kind = TN_REGEX_REPEAT, .least = least, .most = most, .child = *out_node});
    if (take_repetition(p, &least, &most))
        return tn_regex_fail(p, "a repetition stands behind a repetition");
    return TN_OK;
}

static tn_status parse_concat(tn_regex_parser *p, uint32_t *out_node) {
    uint32_t last = 0, node = 0;
    *out_node = tn_regex_add_node(p, (tn_regex_node){.kind = TN_REGEX_CONCAT});
    while (p->at < p->length && p->pattern[p->at] != '|' && p->pattern[p->at] != ')') {
        TN_TRY(parse_repeat(p, &node));
        if (last)
            p->regex->nodes[last].next = node;
        else
            p->regex->nodes[*out_node].child = node;
        last = node;
    }
    return TN_OK;
}

static tn_status parse_choice(tn_regex_parser *p, uint32_t *out_node) {
    uint32_t last = 0;
    TN_TRY(parse_concat(p, &last));
    *out_node = tn_regex_add_node(p, (tn_regex_node){.kind = TN_REGEX_CHOICE, .child = last});
    while (tn_regex_take(p, "|")) {
        uint32_t node = 0;
        TN_TRY(parse_concat(p, &node));
        p->regex->nodes[last].next = node;
        last = node;
    }
    return TN_OK;
}

/* Tables that the pattern cannot outgrow: each byte adds three nodes, a class and four ranges at
 * most. */
static tn_status allocate(tn_call *call, uint64_t length, tn_regex *regex) {
    const tn_host *host = call->host;
    regex->nodes = host->allocate(host, (3 * length + 8) * sizeof(*regex->nodes), 64);
    regex->classes = host->allocate(host, (length + 2) * sizeof(*regex->classes), 64);
    regex->ranges = host->allocate(host, (5 * length + 8) * sizeof(*regex->ranges), 64);
    if (regex->nodes && regex->classes && regex->ranges) return TN_OK;
    return host->fail(call, TN_ERROR_MEMORY, "no memory for a pattern of %llu bytes",
                      (unsigned long long)length);
}

tn_status tn_regex_parse(tn_call *call, const char *pattern, tn_regex *out_regex) {
    tn_regex_parser p = {
        .call = call, .regex = out_regex, .pattern = pattern, .length = strlen(pattern)};
    *out_regex = (tn_regex){0};
    if (p.length > TN_REGEX_MOST_PATTERN) return tn_regex_fail(&p, "the pattern is too long");
    TN_TRY(allocate(call, p.length, out_regex));
    TN_TRY(parse_choice(&p, &out_regex->root));
    return p.at == p.length ? TN_OK
                            : tn_regex_fail(&p, "a parenthesis is closed that was not opened");
}

void tn_regex_deinit(tn_call *call, tn_regex *regex) {
    call->host->deallocate(call->host, regex->nodes);
    call->host->deallocate(call->host, regex->classes);
    call->host->deallocate(call->host, regex->ranges);
    call->host->deallocate(call->host, regex->steps);
}
