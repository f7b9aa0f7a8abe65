/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of matches-reference about types that no case has: the first input, and all that have
 * its type, get another one. What the ports, the shape rule or the combination refuse is nobody's
 * failure. See rules.h.
 */
#include "rules.h"
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

/* Whether a case's first input has the type. */
static bool is_in_cases(const tn_operator *op, tn_type type) {
    const char *name = tn_type_name(type);
    const size_t length = strlen(name);
    for (uint64_t i = 0; i < op->case_count; i++) {
        const char *own = tn_test_first_type(op->cases[i]);
        if (strncmp(own, name, length) == 0 && own[length] == '[') return true;
    }
    return false;
}

void tn_rule_run_types(const tn_test *test, tn_verdict *verdict) {
    static const tn_type types[] = {TN_F32, TN_F64, TN_F16, TN_BF16, TN_I64, TN_I32, TN_I16,
                                    TN_I8,  TN_U64, TN_U32, TN_U16,  TN_U8,  TN_BOOL};
    static const uint32_t kinds[] = {TN_VALUES_EQUAL, TN_VALUES_WIDE, TN_VALUES_LARGE,
                                     TN_VALUES_BELOW};
    if (!test->op->reference || tn_test_is_repeated(test)) return;
    for (size_t i = 0; i < TN_COUNT(types); i++) {
        if (is_in_cases(test->op, types[i])) continue;
        for (size_t k = 0; k < TN_COUNT(kinds) && verdict->outcome == TN_PASSED; k++) {
            const tn_change change = {
                .seed = test->seed, .values = kinds[k], .first_type = types[i], .axis = -1};
            if (tn_values_apply(types[i], kinds[k])) tn_rule_run_on_values(test, &change, verdict);
        }
    }
}
