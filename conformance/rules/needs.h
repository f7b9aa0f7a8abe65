/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rule needs of an operator's and a kernel's tables: where that is missing, whatever the
 * case, the rule is listed once, and skipped.
 */
#ifndef TN_CONFORMANCE_RULES_NEEDS_H
#define TN_CONFORMANCE_RULES_NEEDS_H

#include "rules.h"

/* Why the rule cannot be applied to the operator and the kernel; null: it can. */
const char *tn_needs_missing(const tn_rule *rule, const tn_test *test);

#endif
