/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a failure small before it is shown. Each attempt is made in a process of its own, for a
 * smaller one may crash where this one gives wrong values: then it is left alone.
 */
#ifndef TN_CONFORMANCE_RULES_SHRINK_H
#define TN_CONFORMANCE_RULES_SHRINK_H

#include "rules.h"

/* Runs a test with a change; true where it was taken, `verdict` says what came of it. */
typedef bool (*tn_attempt)(const tn_test *test, const tn_change *change, tn_verdict *verdict);

/* What fails(user) answers in a process of its own; false where that crashes or hangs. */
bool tn_shrink_fails(const tn_test *test, bool (*fails)(void *user), void *user);

/* `shapes` are those of change->shapes, which failed: `inout_verdict` becomes that of smaller ones
 * that fail, which `shapes` then are. */
void tn_shrink_shapes(const tn_test *test, const tn_change *change, tn_shape *shapes,
                      uint32_t count, tn_attempt attempt, tn_verdict *inout_verdict);

#endif
