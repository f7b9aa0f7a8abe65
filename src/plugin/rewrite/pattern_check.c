/* SPDX-License-Identifier: Apache-2.0 */
/* What the two texts of a rewrite must be together: see pattern.h. */
#include "base/status.h"
#include "plugin/rewrite/pattern.h"

#include <string.h>

/* Calls `visit` with a term and all within it. */
static tn_status visit_terms(const tn_term *term,
                             tn_status (*visit)(const tn_term *term, void *user), void *user) {
    TN_TRY(visit(term, user));
    for (uint32_t i = 0; i < term->argument_count; i++)
        TN_TRY(visit_terms(term->arguments[i], visit, user));
    for (uint32_t i = 0; i < term->field_count; i++)
        TN_TRY(visit(term->fields[i].value, user));
    return TN_OK;
}

/* The nodes of a term in its shortest form. */
static uint32_t least_nodes(const tn_term *term) {
    uint32_t sum = term->kind == TN_TERM_NODE, least = UINT32_MAX;
    for (uint32_t i = 0; i < term->argument_count; i++) {
        const uint32_t nodes = least_nodes(term->arguments[i]);
        sum += nodes;
        if (nodes < least) least = nodes;
    }
    return term->kind == TN_TERM_CHOICE ? least : sum;
}

static bool is_of_constants(const tn_term *node) {
    bool has_any = false;
    for (uint32_t i = 0; i < node->argument_count; i++) {
        const tn_term *term = node->arguments[i];
        if (term->kind == TN_TERM_ABSENT) continue;
        if (term->kind != TN_TERM_NUMBERS && term->kind != TN_TERM_CAPTURE &&
            !(term->kind == TN_TERM_TENSOR && term->constraint != TN_TERM_UNBOUND))
            return false;
        has_any = true;
    }
    return has_any;
}

static bool term_reads_constants(const tn_term *term, const char *op) {
    if (term->kind == TN_TERM_NODE && (!op || strcmp(term->op, op) == 0) && is_of_constants(term))
        return true;
    for (uint32_t i = 0; i < term->argument_count; i++)
        if (term_reads_constants(term->arguments[i], op)) return true;
    return false;
}

bool tn_pattern_reads_constants(const tn_pattern *pattern, const char *op) {
    for (uint32_t s = 0; s < pattern->statement_count; s++)
        if (term_reads_constants(pattern->statements[s].term, op)) return true;
    return false;
}

static bool term_adds(const tn_term *term, const char *op, size_t length) {
    bool adds = term->kind == TN_TERM_NODE && strlen(term->op) == length &&
                memcmp(term->op, op, length) == 0;
    for (uint32_t i = 0; i < term->argument_count && !adds; i++)
        adds = term_adds(term->arguments[i], op, length);
    return adds;
}

bool tn_pattern_adds(const tn_pattern *pattern, const char *op, size_t length) {
    bool adds = false;
    for (uint32_t s = 0; s < pattern->replacement_count && !adds; s++)
        adds = term_adds(pattern->replacements[s].term, op, length);
    return adds;
}

/* Whether what stands in a replacement is known when the network is built. */
static bool is_constant(const tn_pattern *pattern, const tn_term *term) {
    bool is_right = term->kind == TN_TERM_NODE && term->argument_count > 0;
    for (uint32_t i = 0; is_right && i < term->argument_count; i++)
        is_right = is_constant(pattern, term->arguments[i]);
    if (term->kind == TN_TERM_NODE) return is_right;
    return term->kind != TN_TERM_TENSOR || pattern->names[term->name].is_constant;
}

/* The nodes that a replacement has once those of constants alone are folded. */
static uint32_t count_lasting(const tn_pattern *pattern, const tn_term *term, bool is_outer) {
    if (term->kind != TN_TERM_NODE || (!is_outer && is_constant(pattern, term))) return 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < term->argument_count; i++)
        count += count_lasting(pattern, term->arguments[i], false);
    return count;
}

static tn_status note_results(tn_pattern *pattern) {
    for (uint32_t s = 0; s < pattern->statement_count; s++)
        for (uint32_t i = 0; i < pattern->statements[s].result_count; i++) {
            const uint32_t result = pattern->statements[s].results[i];
            if (result == TN_NO_NAME) continue;
            tn_pattern_name *name = &pattern->names[result];
            if (name->statement != TN_NO_STATEMENT)
                return tn_fail(TN_ERROR_PLUGIN, "pattern: '%s' is assigned twice", name->text);
            name->statement = s;
            name->result = i;
        }
    return TN_OK;
}

typedef struct use_check {
    tn_pattern *pattern;
    uint64_t assigned; /* by name: by a statement of the replacement before this one */
} use_check;

static tn_status check_use(const tn_term *term, void *user) {
    const use_check *check = user;
    if (term->kind != TN_TERM_TENSOR && term->kind != TN_TERM_CAPTURE) return TN_OK;
    const tn_pattern_name *name = &check->pattern->names[term->name];
    const bool is_assigned = check->assigned >> term->name & 1;
    if (term->kind == TN_TERM_TENSOR && name->is_in_pattern && name->statement != TN_NO_STATEMENT &&
        !is_assigned)
        return tn_fail(TN_ERROR_PLUGIN,
                       "replacement: '%s' is a result of the pattern: expected inputs of it, or "
                       "results of statements before",
                       name->text);
    if (!name->is_in_pattern && !is_assigned)
        return tn_fail(TN_ERROR_PLUGIN, "replacement: '%s' is not in the pattern", name->text);
    return TN_OK;
}

static tn_status assign(use_check *check, const tn_statement *statement) {
    for (uint32_t i = 0; i < statement->result_count; i++) {
        if (statement->results[i] == TN_NO_NAME) continue;
        tn_pattern_name *name = &check->pattern->names[statement->results[i]];
        if (check->assigned >> statement->results[i] & 1)
            return tn_fail(TN_ERROR_PLUGIN, "replacement: '%s' is assigned twice", name->text);
        if (name->is_in_pattern && name->statement == TN_NO_STATEMENT)
            return tn_fail(TN_ERROR_PLUGIN, "replacement: '%s' is an input of the pattern",
                           name->text);
        check->assigned |= UINT64_C(1) << statement->results[i];
        name->is_output = name->is_in_pattern;
    }
    return TN_OK;
}

static bool has_output(const tn_pattern *pattern, const tn_statement *statement) {
    for (uint32_t i = 0; i < statement->result_count; i++)
        if (statement->results[i] != TN_NO_NAME && pattern->names[statement->results[i]].is_output)
            return true;
    return false;
}

tn_status tn_pattern_check(tn_pattern *pattern) {
    use_check check = {.pattern = pattern};
    TN_TRY(note_results(pattern));
    for (uint32_t s = 0; s < pattern->statement_count; s++)
        pattern->least_nodes += least_nodes(pattern->statements[s].term);
    for (uint32_t s = 0; s < pattern->replacement_count; s++) {
        TN_TRY(visit_terms(pattern->replacements[s].term, check_use, &check));
        TN_TRY(assign(&check, &pattern->replacements[s]));
        pattern->replacement_nodes += count_lasting(pattern, pattern->replacements[s].term, true);
    }
    for (uint32_t i = 0; i < pattern->name_count; i++) {
        tn_pattern_name *name = &pattern->names[i];
        name->is_input = name->is_in_pattern && name->kind == TN_TERM_TENSOR &&
                         name->statement == TN_NO_STATEMENT;
    }
    if (!has_output(pattern, &pattern->statements[pattern->statement_count - 1]))
        return tn_fail(TN_ERROR_PLUGIN,
                       "the replacement does not assign a result of the pattern's last statement");
    if (pattern->replacement_nodes >= pattern->least_nodes)
        return tn_fail(
            TN_ERROR_PLUGIN,
            "the replacement has %u nodes, the pattern %u in its shortest form: expected "
            "fewer",
            pattern->replacement_nodes, pattern->least_nodes);
    return TN_OK;
}
