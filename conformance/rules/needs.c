/* SPDX-License-Identifier: Apache-2.0 */
/* What rules need; see needs.h. */
#include "needs.h"
#include "plugin/sequences/kinds.h"

#include <string.h>

static bool has_fields(const tn_test *test) {
    return test->op->field_count > 0;
}
static bool has_row(const tn_test *test) {
    return test->op->row != NULL;
}
static bool has_expression(const tn_test *test) {
    return test->op->expression != NULL;
}
static bool has_versions(const tn_test *test) {
    return test->op->state_version > 1;
}
static bool has_state(const tn_test *test) {
    return test->op->save || (test->kernel && test->kernel->save);
}
static bool has_shape_rule(const tn_test *test) {
    return test->op->infer != NULL;
}
static bool has_description(const tn_test *test) {
    const tn_operator *op = test->op;
    return op->facet || op->is_identity || op->operations;
}
static bool has_facet(const tn_test *test) {
    return test->op->facet != NULL;
}
static bool has_strided(const tn_test *test) {
    return test->combination && strstr(test->combination, ":strided");
}
static bool has_counted(const tn_test *test) {
    return test->combination && strstr(test->combination, ":counted");
}
static bool has_outputs(const tn_test *test) {
    return test->op->output_count > 1 ||
           (test->op->output_count == 1 && (test->op->outputs[0].flags & TN_PORT_VARIADIC));
}
static bool has_traits(const tn_test *test) {
    return test->op->traits &
           (TN_OPERATOR_ELEMENTWISE | TN_OPERATOR_IDENTITY | TN_OPERATOR_CONSTANT |
            TN_OPERATOR_SELECTS | TN_OPERATOR_COMMUTATIVE);
}
static bool has_tactics(const tn_test *test) {
    return test->kernel->tactics != NULL;
}
static bool has_asked_combinations(const tn_test *test) {
    return test->kernel->combination != NULL;
}
static bool has_absorbs(const tn_test *test) {
    return test->kernel->absorbs != NULL;
}
static bool has_before(const tn_test *test) {
    return test->kernel->absorbs && strchr(test->kernel->absorbs, '@');
}
static bool is_any_shape(const tn_test *test) {
    return test->kernel->traits & TN_KERNEL_ANY_SHAPE;
}
static bool is_in_place(const tn_test *test) {
    for (uint32_t i = 0; i < test->op->output_count; i++)
        if (test->op->outputs[i].flags & TN_PORT_ALIAS) return true;
    return test->kernel->traits & TN_KERNEL_IN_PLACE;
}

typedef struct need {
    const char *rule;
    bool (*is_met)(const tn_test *test);
    const char *missing;
} need;

static const need needs[] = {
    {"fields-default", has_fields, "the operator has no fields"},
    {"fields-hostile", has_fields, "the operator has no fields"},
    {"row", has_row, "the operator has no row function"},
    {"expression", has_expression, "the operator has no expression"},
    {"upgrade", has_versions, "the fields have one state version"},
    {"state", has_state, "nothing saves a state of its own"},
    {"shape-rule", has_shape_rule, "the operator has views alone, and no shape rule"},
    {"describes", has_description, "the operator describes its nodes by no callback"},
    {"windows", has_facet, "the operator describes itself by no facet"},
    {"strided", has_strided, "the combination has no strided operands"},
    {"counted", has_counted, "the combination has no counted operands"},
    {"unasked-outputs", has_outputs, "the operator has one output"},
    {"traits", has_traits, "the operator declares none of these traits"},
    {"tactics", has_tactics, "the kernel has one tactic"},
    {"combinations", has_asked_combinations, "the kernel's combinations are in its table"},
    {"absorbs", has_absorbs, "the kernel absorbs nothing"},
    {"absorbs-before", has_before, "the kernel absorbs nothing before an input"},
    {"any-shape", is_any_shape, "TN_KERNEL_ANY_SHAPE is not declared"},
    {"in-place", is_in_place,
     "neither TN_KERNEL_IN_PLACE is declared, nor TN_PORT_ALIAS of an output"},
};

/* What has sequences or optionals runs in networks alone, where one rule looks at it. */
static bool is_for_lists(const char *id) {
    static const char *const ids[] = {"has-cases", "has-reference", "is-tried", "sequences",
                                      "unload"};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (strcmp(ids[i], id) == 0) return true;
    return false;
}

const char *tn_needs_missing(const tn_rule *rule, const tn_test *test) {
    if (test->op && test->op->outputs && tn_operator_has_kinds(test->op)) {
        if (!is_for_lists(rule->id))
            return "of sequences, optionals and maps: see the rule sequences";
    } else if (test->op && strcmp(rule->id, "sequences") == 0) {
        return "the operator has neither sequences nor optionals nor maps";
    }
    for (size_t i = 0; test->op && i < sizeof(needs) / sizeof(needs[0]); i++)
        if (strcmp(needs[i].rule, rule->id) == 0 && !needs[i].is_met(test)) return needs[i].missing;
    return NULL;
}
