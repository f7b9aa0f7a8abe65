/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variants of a case: the same text with other values of its fields, as the field table lets them
 * be, and the same inputs in the shapes that operands have. A claim is checked in all of them.
 */
#ifndef TN_CONFORMANCE_RULES_VARIANTS_H
#define TN_CONFORMANCE_RULES_VARIANTS_H

#include "rules.h"

enum { TN_VARIANT_TEXT = 4096, TN_VARIANT_VALUE = 256 };

/* Where the case's text gives the field, or null. */
const char *tn_variant_given(const char *text, const char *name);
/* The case without the field; `out` has TN_VARIANT_TEXT bytes. */
void tn_variant_without(const char *text, const char *name, char *out);
/* The case with "name=value" in front, in place of what it gives; false: too long. */
bool tn_variant_with(const char *text, const char *name, const char *value, char *out);

typedef struct tn_variant_values {
    char texts[40][TN_VARIANT_VALUE];
    size_t count;
} tn_variant_values;

/* Values for one field. Those that are not large end a loop over the value in time. */
void tn_variant_list(const tn_test *test, const tn_field *field, bool is_large,
                     tn_variant_values *out);

/* The case with every other field absent or as it is, the others one of their values that are not
 * large; or `all` of them. `out` has TN_VARIANT_TEXT bytes. */
void tn_variant_draw(const tn_test *test, bool all, uint64_t *random, char *out);

/* What tries the node of another case beside the node of this one, or after it; answers whether
 * there was one. */
typedef bool (*tn_variant_try)(const tn_test *other, const tn_change *change, tn_subject *first,
                               tn_verdict *verdict);
/* The case with other values of one field than its own, two values a field. */
void tn_variant_try_fields(const tn_test *test, tn_variant_try try_node, tn_subject *first,
                           tn_verdict *verdict);

/* --- claims.c --- */

/* The shapes of the case's inputs with all extents alike, but of those that keep theirs: a field
 * that is an axis may then be any. False: no field may be one, or there is one input alone. */
bool tn_variant_cube(const tn_test *test, tn_shape *shapes);

/* What is checked of one variant; it asks for its subject by tn_test_subject, with this change. */
typedef void (*tn_claim)(const tn_test *test, const tn_change *change, tn_verdict *verdict);

/* The claim on the case itself, with other fields (one at a time, then several at random) and with
 * operands of one element, one for each position along an axis, and whole ones. It passes where it
 * is true of all that the operator takes; what is said of the case itself stays where nothing else
 * was taken. */
void tn_claim_check(const tn_test *test, tn_claim claim, tn_verdict *verdict);

#endif
