/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extents at which a profile's open axes are probed. Axes with the same name are one extent,
 * unnamed ones an extent each. At the point "apart" different extents are different numbers, primes
 * where the profile has them: what holds there by chance holds at no other point. What must hold
 * for all shapes is tried at TN_PROBE_FURTHER shapes more of that kind.
 */
#ifndef TN_PROGRAM_PROBE_H
#define TN_PROGRAM_PROBE_H

#include "program/profile.h"

/* Extents that no profile bounds are tried small first, then as multiples of numbers with many
 * divisors: windows need so many elements, and Reshape divides. */
enum { TN_PROBE_ROUNDS = 3, TN_PROBE_FURTHER = 4, TN_PROBE_APART = 2 + TN_PROBE_FURTHER };

/* An extent that is not the same in all of the profile. */
typedef struct tn_probe_extent {
    const char *name; /* or null */
    bool is_bounded;  /* some input that has it has a profile */
    int64_t minimum, optimum, maximum;
    /* That of the point "apart", those of the further shapes, and a large one for the last. */
    int64_t apart[TN_PROBE_APART];
} tn_probe_extent;

typedef struct tn_probe {
    const tn_graph *graph;
    const tn_plan_profile *profiles;
    uint32_t *numbers; /* by input and axis: 1 + its extent's index; 0: the same everywhere */
    tn_probe_extent *extents;
    uint32_t count;
} tn_probe;

/* Arrays in `arena`; the graph and the profiles are lent. TN_ERROR_MEMORY. */
tn_status tn_probe_init(tn_probe *probe, const tn_graph *graph, const tn_plan_profile *profiles,
                        tn_arena *arena);
/* An input's shape at one of the TN_POINTS. */
tn_shape tn_probe_shape(const tn_probe *probe, size_t input, int point, int round);
/* The same at the further shape `number`, from 0. */
tn_shape tn_probe_further(const tn_probe *probe, size_t input, uint32_t number, int round);
/* Whether the point "apart" differs from what the other points have already. */
bool tn_probe_is_apart(const tn_probe *probe);
/* Whether some shape differs between the points at all: of inputs of which nothing is declared none
 * does. */
bool tn_probe_is_varying(const tn_probe *probe);

#endif
