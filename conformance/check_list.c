/* SPDX-License-Identifier: Apache-2.0 */
/* Which tests there are for a library, and in which order; see check.h. */
#include "check.h"
#include "rules/needs.h"

#include <stdlib.h>
#include <string.h>

static bool is_wanted_library(const suite *s, const tn_library_info *library) {
    return s->library ? strcmp(library->name, s->library) == 0 : library->path[0] == 0;
}

bool check_is_asked_for(const suite *s, const tn_operator *op) {
    const char *name = s->only_operator;
    const size_t length = name ? strlen(op->domain) : 0;
    if (!name || strcmp(op->name, name) == 0) return true;
    return strncmp(name, op->domain, length) == 0 && strncmp(name + length, "::", 2) == 0 &&
           strcmp(name + length + 2, op->name) == 0;
}

static bool note_operator(void *user, const tn_operator *op, const tn_library_info *library) {
    suite *s = user;
    s->is_own[s->operator_count] = is_wanted_library(s, library);
    s->operators[s->operator_count++] = op;
    return s->operator_count < TABLE_LIMIT;
}

static bool note_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    suite *s = user;
    if (is_wanted_library(s, library) &&
        strcmp(kernel->device, s->device.device ? s->device.device->kind : "cpu") == 0 &&
        (!kernel->requires_features ||
         tn_runtime_has_features(s->runtime, kernel->requires_features)))
        s->kernels[s->kernel_count++] = kernel;
    return s->kernel_count < TABLE_LIMIT;
}

static bool add(suite *s, const tn_test *test, const tn_rule *rule) {
    if (s->only_rules && !check_is_named(s->only_rules, rule->id)) return true;
    if (s->count == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 1024;
        listed *grown = realloc(s->tests, capacity * sizeof(*grown));
        if (!grown) return false;
        s->tests = grown;
        s->capacity = capacity;
    }
    s->tests[s->count++] = (listed){*test, rule, 0, 0};
    return true;
}

/* What cannot be applied whatever the case is there once (`is_first`). */
static bool add_rules(suite *s, const tn_test *test, uint32_t kinds, bool is_first) {
    bool is_added = true;
    for (const tn_rule *rule = tn_rules; rule->id && is_added; rule++)
        if ((rule->kinds & kinds) && (is_first || !tn_needs_missing(rule, test)))
            is_added = add(s, test, rule);
    return is_added;
}

static bool list_operator(suite *s, const tn_operator *op) {
    tn_test test = {.runtime = s->runtime,
                    .counter = &s->counter,
                    .op = op,
                    .library = s->library ? s->library : "builtin"};
    bool is_added = add_rules(s, &test, TN_RULE_OPERATOR, true);
    const uint32_t kinds = op->reference ? TN_RULE_CASE | TN_RULE_REFERENCE : TN_RULE_SHAPES;
    for (uint64_t i = 0; i < op->case_count && is_added; i++) {
        test.text = op->cases[i];
        is_added = add_rules(s, &test, kinds, i == 0);
    }
    return is_added;
}

typedef struct texts {
    uint32_t count;
    const char *items[TABLE_COMBINATIONS + TN_SUBJECT_COMBINATIONS];
} texts;

/* The kernel's combinations for a case: those of its table, those that it answers (which have the
 * lifetime of the list of tests), and null where it has neither. */
static bool list_texts(suite *s, const tn_test *test, texts *list) {
    const tn_kernel *kernel = test->kernel;
    uint32_t asked = 0;
    for (uint32_t k = 0; k < kernel->combination_count && k < TABLE_COMBINATIONS; k++)
        list->items[list->count++] = kernel->combinations[k];
    if (kernel->combination && !s->arena &&
        tn_arena_create(tn_allocator_default(), &s->arena) != TN_OK)
        return false;
    if (kernel->combination &&
        tn_subject_combinations(s->arena, test->runtime, test->op, kernel, test->text,
                                test->are_constant, &asked, list->items + list->count) != TN_OK)
        asked = 0; /* the rule combinations says why */
    if (asked > TN_MAX_COMBINATIONS) asked = 1;
    list->count += asked;
    if (list->count == 0) list->items[list->count++] = NULL;
    return true;
}

/* Who runs, and nothing else, is not told which inputs are constant. */
static bool is_told_of_constants(const tn_kernel *kernel) {
    return kernel->accepts || kernel->tactics || kernel->prepare || kernel->reshape ||
           kernel->timing_key || kernel->combination || kernel->absorbs;
}

static bool list_kernel(suite *s, const tn_operator *op, const tn_kernel *kernel) {
    const int variants = op->input_count > 1 && is_told_of_constants(kernel) ? 2 : 1;
    tn_test test = {.runtime = s->runtime,
                    .counter = &s->counter,
                    .op = op,
                    .kernel = kernel,
                    .library = s->library ? s->library : "builtin",
                    .operators = s->operators,
                    .operator_count = s->operator_count};
    bool is_added = true;
    for (uint64_t i = 0; i < op->case_count && is_added; i++)
        for (int constant = 0; constant < variants && is_added; constant++) {
            texts list = {0};
            test.text = op->cases[i];
            test.are_constant = constant;
            is_added = list_texts(s, &test, &list);
            for (uint32_t k = 0; k < list.count && is_added; k++) {
                test.combination = list.items[k];
                is_added = add_rules(s, &test, TN_RULE_KERNEL, i + k == 0 && !constant);
            }
        }
    return is_added;
}

/* A kernel of an operator that there is not is a test too. */
static bool list_combinations(suite *s, const tn_kernel *kernel) {
    static tn_operator missing[TABLE_LIMIT]; /* has the name that the kernel asks for */
    static size_t missing_count;
    tn_test test = {.runtime = s->runtime,
                    .counter = &s->counter,
                    .kernel = kernel,
                    .library = s->library ? s->library : "builtin",
                    .operators = s->operators,
                    .operator_count = s->operator_count};
    bool is_added = true;
    for (size_t i = 0; i < s->operator_count && !test.op; i++)
        if (tn_kernel_serves(kernel, s->operators[i])) test.op = s->operators[i];
    if (!test.op) {
        missing[missing_count] = (tn_operator){.domain = kernel->domain, .name = kernel->op};
        test.op = &missing[missing_count++];
    }
    if (!check_is_asked_for(s, test.op)) return true;
    for (uint32_t k = 0;
         k < (kernel->combination_count ? kernel->combination_count : 1) && is_added; k++) {
        test.combination = kernel->combination_count ? kernel->combinations[k] : NULL;
        is_added = add_rules(s, &test, TN_RULE_COMBINATION, true);
    }
    return is_added;
}

bool check_has_kernel_of(const suite *s, const tn_operator *op) {
    for (size_t i = 0; i < s->kernel_count; i++)
        if (tn_kernel_serves(s->kernels[i], op)) return true;
    return false;
}

/* The cases of the operators that the library has kernels for on the device. */
static bool list_on_device(suite *s) {
    bool is_added = true;
    for (size_t i = 0; i < s->operator_count; i++) {
        const tn_operator *op = s->operators[i];
        if (!check_has_kernel_of(s, op) || !check_is_asked_for(s, op)) continue;
        tn_test test = {.runtime = s->runtime,
                        .counter = &s->counter,
                        .op = op,
                        .device = s->device.device,
                        .stream = s->stream,
                        .library = s->library ? s->library : "builtin"};
        for (uint64_t k = 0; k < op->case_count && is_added; k++) {
            test.text = op->cases[k];
            is_added = add_rules(s, &test, TN_RULE_DEVICE, true);
        }
    }
    return is_added;
}

/* What is linked in is never unloaded. */
static bool list_library(suite *s) {
    s->whole = (tn_library_test){.runtime = &s->runtime,
                                 .path = s->path,
                                 .operators = s->operators,
                                 .is_own = s->is_own,
                                 .operator_count = s->operator_count,
                                 .kernels = s->kernels,
                                 .kernel_count = s->kernel_count,
                                 .before = &s->before};
    const tn_test test = {
        .runtime = s->runtime, .counter = &s->counter, .library = s->library, .whole = &s->whole};
    return !s->library || s->only_operator || add_rules(s, &test, TN_RULE_LIBRARY, true);
}

typedef struct rewrites {
    suite *s;
    bool is_added;
} rewrites;

/* A rewrite is shown as "rewrite::NAME". */
static bool note_rewrite(void *user, const tn_rewrite *rewrite, const tn_library_info *library) {
    static tn_operator shown[TABLE_LIMIT];
    static size_t shown_count;
    rewrites *of = user;
    suite *s = of->s;
    bool *is_added = &of->is_added;
    if (!is_wanted_library(s, library) || shown_count == TABLE_LIMIT) return true;
    tn_operator *op = &shown[shown_count++];
    *op = (tn_operator){.domain = "rewrite", .name = rewrite->name};
    if (!check_is_asked_for(s, op)) return true;
    tn_test test = {.runtime = s->runtime,
                    .counter = &s->counter,
                    .op = op,
                    .rewrite = rewrite,
                    .library = s->library ? s->library : "builtin"};
    if (rewrite->case_count == 0)
        *is_added = *is_added && add_rules(s, &test, TN_RULE_REWRITE, true);
    for (uint64_t i = 0; i < rewrite->case_count && *is_added; i++) {
        test.text = rewrite->cases[i];
        *is_added = add_rules(s, &test, TN_RULE_REWRITE, true);
    }
    test.is_near_miss = true;
    for (uint64_t i = 0; i < rewrite->near_miss_count && *is_added; i++) {
        test.text = rewrite->near_misses[i];
        *is_added = add_rules(s, &test, TN_RULE_REWRITE, true);
    }
    return *is_added;
}

static bool list_all(suite *s) {
    bool is_added = true;
    tn_runtime_visit_operators(s->runtime, note_operator, s);
    tn_runtime_visit_kernels(s->runtime, note_kernel, s);
    if (s->device.device) return list_on_device(s);
    for (size_t k = 0; k < s->kernel_count && is_added; k++)
        is_added = list_combinations(s, s->kernels[k]);
    for (size_t i = 0; i < s->operator_count && is_added; i++) {
        const tn_operator *op = s->operators[i];
        if (!check_is_asked_for(s, op)) continue;
        if (s->is_own[i]) is_added = list_operator(s, op);
        for (size_t k = 0; k < s->kernel_count && is_added; k++)
            if (tn_kernel_serves(s->kernels[k], op)) is_added = list_kernel(s, op, s->kernels[k]);
    }
    rewrites of = {s, is_added};
    if (is_added) tn_registry_visit_rewrites(tn_runtime_registry(s->runtime), note_rewrite, &of);
    return of.is_added && list_library(s);
}

/* ----------------------------------------------------------------------------------------------
 * their order */

/* Of --until: tests of these rules; then, where others find them broken, a run on the case as it is
 * and in other shapes. Those of the whole library, which end with its unload, stay behind. */
static uint32_t priority_of(const suite *s, const listed *it) {
    const tn_rule *rule = it->rule;
    if (!s->until) return 0;
    if (rule->kinds & TN_RULE_LIBRARY) return 3;
    if (check_is_named(s->until, rule->id)) return 0;
    return rule->check == tn_rule_matches_reference ? 1 : 2;
}

static int compare_tests(const void *left, const void *right) {
    const listed *a = left, *b = right;
    if (a->priority != b->priority) return a->priority < b->priority ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

bool check_list_tests(suite *s) {
    if (!list_all(s)) return false;
    for (size_t i = 0; i < s->count; i++) {
        s->tests[i].number = i + 1;
        s->tests[i].priority = priority_of(s, &s->tests[i]);
    }
    if (s->count > 0) qsort(s->tests, s->count, sizeof(*s->tests), compare_tests);
    return true;
}
