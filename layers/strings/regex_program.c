/* SPDX-License-Identifier: Apache-2.0 */
/* From a tree to a program; see regex.h. */
#include "strings/regex.h"

/* How many steps a node takes; more than the most: too many. */
static uint64_t count_steps(const tn_regex *regex, uint32_t index) {
    const tn_regex_node *node = &regex->nodes[index];
    uint64_t inner = 0, children = 0;
    for (uint32_t child = node->child; child; child = regex->nodes[child].next) {
        inner += count_steps(regex, child);
        children++;
        if (inner > TN_REGEX_MOST_STEPS) return inner;
    }
    switch (node->kind) {
    case TN_REGEX_CONCAT:
        return inner;
    case TN_REGEX_CHOICE:
        return inner + 2 * (children - 1);
    case TN_REGEX_REPEAT:
        if (node->most == UINT32_MAX) return node->least * inner + inner + 2;
        return node->least * inner + (node->most - node->least) * (inner + 1);
    default:
        return 1;
    }
}

static uint32_t add_step(tn_regex *regex, tn_regex_action action, uint32_t x, uint32_t y) {
    regex->steps[regex->step_count] = (tn_regex_step){action, x, y};
    return regex->step_count++;
}

static void emit(tn_regex *regex, uint32_t index);

/* fork L1, L2; L1: first; jump end; L2: fork ... */
static void emit_choice(tn_regex *regex, const tn_regex_node *node) {
    uint32_t jumps = 0; /* a chain through their targets, to be set to the end */
    for (uint32_t child = node->child; child; child = regex->nodes[child].next) {
        const bool is_last = regex->nodes[child].next == 0;
        const uint32_t fork = is_last ? 0 : add_step(regex, TN_REGEX_FORK, 0, 0);
        if (!is_last) regex->steps[fork].x = regex->step_count;
        emit(regex, child);
        if (is_last) break;
        jumps = add_step(regex, TN_REGEX_JUMP, jumps, 0) + 1;
        regex->steps[fork].y = regex->step_count;
    }
    while (jumps) {
        tn_regex_step *jump = &regex->steps[jumps - 1];
        jumps = jump->x;
        jump->x = regex->step_count;
    }
}

/* The child `least` times, then again and again, or up to `most` times with exits. */
static void emit_repeat(tn_regex *regex, const tn_regex_node *node) {
    const uint32_t child = node->child;
    for (uint32_t i = 0; i < node->least; i++)
        emit(regex, child);
    if (node->most == UINT32_MAX) {
        const uint32_t fork = add_step(regex, TN_REGEX_FORK, regex->step_count + 1, 0);
        emit(regex, child);
        add_step(regex, TN_REGEX_JUMP, fork, 0);
        regex->steps[fork].y = regex->step_count;
        return;
    }
    const uint64_t each = count_steps(regex, child) + 1;
    const uint32_t left = node->most - node->least;
    const uint32_t end = regex->step_count + (uint32_t)(left * each);
    for (uint32_t i = 0; i < left; i++) {
        add_step(regex, TN_REGEX_FORK, regex->step_count + 1, end);
        emit(regex, child);
    }
}

/* No deeper than groups are nested. */
static void emit(tn_regex *regex, uint32_t index) {
    const tn_regex_node *node = &regex->nodes[index];
    switch (node->kind) {
    case TN_REGEX_CLASS:
        add_step(regex, TN_REGEX_TAKE, node->value, 0);
        break;
    case TN_REGEX_ASSERTION:
        add_step(regex, TN_REGEX_CHECK, node->value, 0);
        break;
    case TN_REGEX_CONCAT:
        for (uint32_t child = node->child; child; child = regex->nodes[child].next)
            emit(regex, child);
        break;
    case TN_REGEX_CHOICE:
        emit_choice(regex, node);
        break;
    case TN_REGEX_REPEAT:
        emit_repeat(regex, node);
        break;
    }
}

tn_status tn_regex_compile(tn_call *call, tn_regex *regex) {
    const uint64_t count = count_steps(regex, regex->root);
    if (count >= TN_REGEX_MOST_STEPS)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "field 'pattern': its repetitions make it too large");
    regex->steps = call->host->allocate(call->host, (count + 1) * sizeof(*regex->steps), 64);
    if (!regex->steps)
        return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a pattern of %llu steps",
                                (unsigned long long)count);
    emit(regex, regex->root);
    add_step(regex, TN_REGEX_ACCEPT, 0, 0);
    return TN_OK;
}
