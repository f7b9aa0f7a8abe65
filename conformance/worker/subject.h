/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a test is about: an operator, a case, and one of its kernels in one of its combinations (or
 * the operator's reference), as a probe with values, and what the reference says of them.
 */
#ifndef TN_CONFORMANCE_WORKER_SUBJECT_H
#define TN_CONFORMANCE_WORKER_SUBJECT_H

#include "field_pages.h"
#include "fresh.h"
#include "worker/probe/probe.h"
#include "slack.h"
#include "values.h"

/* What is stored in an input's stead, where a chain leads from it to the input. */
typedef struct tn_before {
    uint32_t port; /* 1 + the node's input; 0: none */
    tn_type type;
    const tn_shape *shape;
    const void *own; /* linear elements */
} tn_before;

typedef struct tn_subject {
    tn_runtime *runtime;
    const tn_operator *op;
    const tn_kernel *kernel;    /* null: the reference */
    const char *combination;    /* null: the operator's types, linear */
    const char *library, *text; /* of the case */
    bool are_constant;          /* all inputs but the first are known at build */
    bool skips_accepts;         /* the kernel is not asked */
    bool asks_all;              /* for optional outputs, too */
    tn_before before;
    tn_arena *arena;
    tn_case c;
    tn_graph *graph;
    tn_probe probe;
    tn_outcome expected;    /* by the reference */
    const char *refusal;    /* why it was not taken; a literal, valid after that too */
    tn_slack slack;         /* of drawn values; else null */
    tn_field_pages *fields; /* what the node's fields point to, in the arena; null: none yet */
} tn_subject;

/* Reads the case, or takes `like`'s with the values and extents changed by `change`. `is_taken` is
 * false when the combination does not fit, or the kernel does not accept: then nothing is to be
 * freed. Fails where the reference or the shape rule does. */
typedef struct tn_change {
    uint32_t seed;       /* of the values; 0: the case's own */
    uint32_t values;     /* TN_VALUES_...; with a seed */
    bool is_first_alone; /* only the first input has such values, others small ones */
    tn_type first_type;  /* of the first input, and of all that have its type; TN_NONE: as it is */
    int32_t axis;        /* of every input that has the first one's extent there; -1: no change */
    int64_t extent;      /* the new one */
    const tn_shape *shapes; /* in place of axis and extent: of each of the case's inputs; or null */
    bool asks_all;          /* for optional outputs, too */
    uint32_t provided;      /* 1 + the case's input that is no constant in any event; 0: none */
    uint32_t left_out;      /* 1 + the case's input that is not given; 0: none */
    uint32_t input_count;   /* so many inputs, others like the last one; 0: as many as there are */
    bool frees_values;      /* data that the case gives counts as drawn, and may be changed */
    bool moves_values;      /* the same, where it is of floats: each is a quarter smaller */
    bool plants_fields;     /* some of the values are those that the fields hold */
    uint32_t reshaped_input; /* 1 + the input that keeps its values and gets `shapes`' shape, where
                                its values are repeated or cut off; 0: none */
    uint32_t set_input;      /* 1 + the input of needed values that gets others; 0: none */
    int64_t set_value;       /* of all its elements, or */
    bool sets_last_alone;    /* of its last one */
    bool skips_accepts;      /* the kernel is not asked for these shapes */
    tn_before before;        /* the combination is of this in an input's stead */
    uint32_t tactic; /* that is run, modulo how many the kernel has; for who makes a run of it */
} tn_change;
/* The subject's case changed; in subject_change.c. TN_ERROR_UNSUPPORTED: it cannot be so. */
tn_status tn_subject_change(tn_subject *subject, const tn_change *change);
/* Whether an input keeps the values and the shape that the case gives: indices, axes and sizes do.
 * Data is repeated where it gets another shape. */
bool tn_subject_is_fixed(const tn_subject *subject, uint32_t index);
/* The case's input that a node's input is. */
uint32_t tn_subject_case_input(const tn_subject *subject, uint32_t input);
/* The changed case as text: inputs without values of their own have other extents. */
const char *tn_subject_describe(const tn_subject *subject, const tn_change *change);
/* Whether a case's input is of integers that the shape rule needs, and the case gives them. */
bool tn_subject_is_value_needed(const tn_subject *subject, uint32_t index);
tn_status tn_subject_create(tn_subject *subject, tn_runtime *runtime, const tn_operator *op,
                            const tn_kernel *kernel, const char *combination, const char *text,
                            bool are_constant, const tn_change *change, bool *out_is_taken);
/* The texts that a kernel answers for a case, in `arena`: one more than the host would ask for. */
enum { TN_SUBJECT_COMBINATIONS = TN_MAX_COMBINATIONS + 1 };
tn_status tn_subject_combinations(tn_arena *arena, tn_runtime *runtime, const tn_operator *op,
                                  const tn_kernel *kernel, const char *text, bool are_constant,
                                  uint32_t *out_count, const char **out_texts);
/* Whether outputs are what is expected, within the slack. */
bool tn_subject_agrees(tn_subject *subject, const tn_outcome *found, char *why, size_t bytes);
/* Whether one engine can have both: what is constant in it has one shape. */
bool tn_subject_shares_constants(const tn_subject *a, const tn_subject *b);
void tn_subject_destroy(tn_subject *subject);

#endif
