/* SPDX-License-Identifier: Apache-2.0 */
/* A claim in all variants of a case; see variants.h. */
#include "base/hash.h"
#include "plugin/fields/fields_private.h"
#include "variants.h"

#include <stdio.h>
#include <string.h>

enum {
    RANDOM_FIELDS = 4, /* that are taken, for each of the effort */
    ATTEMPTS = 2,      /* for each of these */
    MOST_BYTES = 1 << 14
};

typedef struct claims {
    const tn_test *test;
    tn_claim claim;
    tn_verdict *verdict; /* of the case itself, then of all */
    uint32_t count;      /* of inputs */
    tn_shape shapes[TN_PROBE_PORTS];
    bool is_fixed[TN_PROBE_PORTS]; /* inputs that keep their shapes */
} claims;

/* Whether the variant was taken. What cannot be made of the case is nobody's failure. */
static bool try_variant(claims *c, const char *text, const tn_shape *shapes) {
    const tn_change change = {
        .axis = -1, .shapes = shapes, .frees_values = true, .plants_fields = true};
    tn_test other = *c->test;
    tn_verdict verdict = {0};
    if (c->verdict->outcome == TN_FAILED) return false;
    other.text = text;
    c->claim(&other, &change, &verdict);
    if (verdict.outcome == TN_SKIPPED) return false;
    const bool is_changed = verdict.outcome == TN_FAILED && strcmp(text, c->test->text) != 0;
    *c->verdict = verdict;
    if (is_changed) {
        char why[sizeof(verdict.why)];
        memcpy(why, verdict.why, sizeof(why));
        snprintf(c->verdict->why, sizeof(c->verdict->why), "%.400s (with the fields of \"%.150s\")",
                 why, text);
    }
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * fields */

static void try_each_field(claims *c, const tn_shape *shapes) {
    char text[TN_VARIANT_TEXT];
    tn_variant_values v;
    for (uint32_t i = 0; i < c->test->op->field_count; i++) {
        const tn_field *field = tn_fields_at(c->test->op, i);
        tn_variant_list(c->test, field, false, &v);
        for (size_t k = 0; k < v.count; k++)
            if (tn_variant_with(c->test->text, field->name, v.texts[k], text))
                try_variant(c, text, shapes);
        tn_variant_without(c->test->text, field->name, text);
        if (!(field->flags & TN_REQUIRED) && strcmp(text, c->test->text) != 0)
            try_variant(c, text, shapes);
    }
}

void tn_variant_draw(const tn_test *test, bool all, uint64_t *random, char *text) {
    char next[TN_VARIANT_TEXT];
    tn_variant_values v;
    snprintf(text, TN_VARIANT_TEXT, "%s", test->text);
    for (uint32_t i = 0; i < test->op->field_count; i++) {
        const tn_field *field = tn_fields_at(test->op, i);
        tn_variant_list(test, field, false, &v);
        const uint64_t how = all ? 2 : tn_random_below(random, 4);
        if (how == 0 && !(field->flags & TN_REQUIRED)) {
            tn_variant_without(text, field->name, next);
            memcpy(text, next, TN_VARIANT_TEXT);
        } else if (how > 1 && v.count > 0 &&
                   tn_variant_with(text, field->name, v.texts[tn_random_below(random, v.count)],
                                   next)) {
            memcpy(text, next, TN_VARIANT_TEXT);
        }
    }
}

static void try_random_fields(claims *c) {
    uint64_t random = tn_hash_add_text(c->test->seed, c->test->text);
    const uint32_t wanted = RANDOM_FIELDS * c->test->effort;
    char text[TN_VARIANT_TEXT];
    uint32_t taken = 0;
    for (uint32_t i = 0; c->test->op->field_count > 1 && i < ATTEMPTS * wanted && taken < wanted;
         i++) {
        tn_variant_draw(c->test, i % 2 == 0, &random, text);
        taken += try_variant(c, text, NULL);
    }
}

/* ----------------------------------------------------------------------------------------------
 * operands */

enum { OPERANDS = 5 };

/* Shapes that an operand of `x` may have: a scalar, one element of as many axes, one for each index
 * of axis 1, the whole, a vector of one element. False: not of such a rank. */
static bool operand_shape(const tn_shape *x, uint32_t kind, tn_shape *out) {
    *out = (tn_shape){.rank = kind == 0 ? 0 : kind == 4 ? 1 : x->rank};
    for (uint32_t i = 0; i < out->rank; i++)
        out->extents[i] = kind == 3 || (kind == 2 && i == 1) ? x->extents[i] : 1;
    return (kind != 2 && kind != 4) || x->rank > 1;
}

/* Each input in turn is the operand, the others have the first one's shape. */
static void try_operands(claims *c) {
    for (uint32_t i = 0; i < c->count && c->count > 1; i++)
        for (uint32_t kind = 0; kind < OPERANDS && !c->is_fixed[i]; kind++) {
            tn_shape shapes[TN_PROBE_PORTS];
            memcpy(shapes, c->shapes, sizeof(shapes));
            if (operand_shape(&c->shapes[i == 0], kind, &shapes[i]))
                try_variant(c, c->test->text, shapes);
        }
}

/* Odd extents, where the case has even ones. */
static void try_extents(claims *c) {
    const tn_shape first = c->shapes[0];
    for (uint32_t axis = 0; c->count > 0 && axis < first.rank; axis++) {
        tn_shape shapes[TN_PROBE_PORTS];
        memcpy(shapes, c->shapes, sizeof(shapes));
        for (uint32_t i = 0; i < c->count; i++)
            if (!c->is_fixed[i] && shapes[i].rank == first.rank &&
                shapes[i].extents[axis] == first.extents[axis])
                shapes[i].extents[axis]++;
        try_variant(c, c->test->text, shapes);
    }
}

/* Whether a field may be an axis: none of them means the same along another one. */
static bool may_have_axes(const tn_operator *op) {
    for (uint32_t i = 0; i < op->field_count; i++) {
        const uint32_t type = tn_fields_at(op, i)->type;
        if (type == TN_FIELD_I64 || type == TN_FIELD_I32 || type == TN_FIELD_I64S) return true;
    }
    return false;
}

bool tn_variant_cube(const tn_test *test, tn_shape *shapes) {
    enum { EDGE = 3 };
    const tn_change copy = {.axis = -1};
    tn_verdict none = {0};
    tn_subject subject;
    if (!may_have_axes(test->op) || !tn_test_subject(test, &copy, &subject, &none)) return false;
    const uint32_t count = subject.c.input_count;
    for (uint32_t i = 0; i < count && i < TN_PROBE_PORTS; i++) {
        shapes[i] = subject.c.inputs[i].shape;
        for (uint32_t axis = 0; axis < shapes[i].rank && !tn_subject_is_fixed(&subject, i); axis++)
            shapes[i].extents[axis] = EDGE;
    }
    tn_subject_destroy(&subject);
    return count > 1 && count <= TN_PROBE_PORTS;
}

/* Where the shapes of other inputs fit each axis: with each field's values. */
static void try_cube(claims *c) {
    tn_shape shapes[TN_PROBE_PORTS];
    if (tn_variant_cube(c->test, shapes) && try_variant(c, c->test->text, shapes))
        try_each_field(c, shapes);
}

/* One input alone one longer: what takes all for alike is shown. */
static void try_lengths(claims *c) {
    for (uint32_t i = 0; i < c->count && c->count > 1; i++)
        for (uint32_t axis = 0; axis < c->shapes[i].rank && !c->is_fixed[i]; axis++) {
            tn_shape shapes[TN_PROBE_PORTS];
            memcpy(shapes, c->shapes, sizeof(shapes));
            shapes[i].extents[axis]++;
            try_variant(c, c->test->text, shapes);
        }
}

/* The case's shapes; false: it is not taken, or too large to be tried often. */
static bool read_shapes(claims *c) {
    const tn_change copy = {.axis = -1};
    tn_verdict none = {0};
    tn_subject subject;
    size_t bytes = 0;
    if (!tn_test_subject(c->test, &copy, &subject, &none)) return false;
    c->count = subject.c.input_count < TN_PROBE_PORTS ? subject.c.input_count : TN_PROBE_PORTS;
    for (uint32_t i = 0; i < c->count; i++) {
        c->shapes[i] = subject.c.inputs[i].shape;
        c->is_fixed[i] = tn_subject_is_fixed(&subject, i);
        bytes += subject.c.inputs[i].bytes;
    }
    tn_subject_destroy(&subject);
    return bytes <= MOST_BYTES;
}

void tn_claim_check(const tn_test *test, tn_claim claim, tn_verdict *verdict) {
    const tn_change copy = {.axis = -1, .frees_values = true};
    claims c = {.test = test, .claim = claim, .verdict = verdict};
    claim(test, &copy, verdict);
    if (verdict->outcome == TN_FAILED || !read_shapes(&c)) return;
    try_each_field(&c, NULL);
    try_random_fields(&c);
    try_operands(&c);
    try_extents(&c);
    try_lengths(&c);
    try_cube(&c);
}
