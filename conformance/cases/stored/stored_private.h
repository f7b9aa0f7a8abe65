/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One operator's case, drawn in one variant, and what the parts of its check have in common.
 * Private to stored*.c:
 *
 *   stored.c            goes through kernels, combinations, draws, chains
 *   stored_draw.c       the values, and the reference's answer
 *   stored_describe.c   a combination's view of them
 *   stored_special.c    the ends of the 16-bit floats
 *   stored_chain.c      epilogues
 *   stored_compare.c    the bounds
 */
#ifndef TN_CONFORMANCE_CASES_STORED_PRIVATE_H
#define TN_CONFORMANCE_CASES_STORED_PRIVATE_H

#include "cases/bound.h"
#include "cases/stored/stored.h"

/* How values are drawn: stored_draw.c. */
enum {
    TN_DRAW_EXACT = 0,
    TN_DRAW_RANGE = 1,
    TN_DRAW_SATURATE = 2,
    TN_DRAW_EQUAL = 3,
    TN_DRAW_FAR = 4,
    TN_DRAW_COUNT = 5,
    /* Of floats alone: stored_special.c. */
    TN_DRAW_TINY = 5,
    TN_DRAW_HIGH = 6,
    TN_DRAW_NO_NUMBER = 7,
    TN_DRAW_ALL = 8
};
/* Epilogue chains: stored_chain.c. */
enum { TN_STORED_CHAINS = 9 };

/* For one set of inputs that are stored narrowly. */
typedef struct tn_drawn {
    tn_runtime *runtime;
    const tn_operator *op;
    const char *text;
    tn_arena *arena;
    tn_case c; /* inputs: the rounded values */
    tn_graph *graph;
    const tn_graph_node *node;
    const tn_device *device; /* null: the processor */
    void *stream;
    tn_type stored;  /* TN_STORED_QI8, TN_STORED_QU8, TN_F16 or TN_BF16; TN_NONE: all as they are */
    uint64_t narrow; /* bit i: input i of the case is stored so */
    uint32_t draw;
    bool are_constant; /* with all as they are: the inputs after the first */
    float scales[TN_STORED_PORTS];
    int32_t zero_points[TN_STORED_PORTS]; /* of unsigned bytes; signed ones have none */
    int32_t output_zero_point;
    tn_outcome expected, slack, sums; /* the reference, W (or T), S: both as far as they matter */
    float output_scales[16];
    double largest[16];
    uint64_t random;
    size_t *passed, *failed;
} tn_drawn;

/* --- stored_draw.c --- */
bool tn_stored_is_bytes(tn_type stored);
/* The nearest of the 256 floating-point values that a tensor of TN_I8 or TN_U8 can hold. */
float tn_stored_round(const tn_stored_tensor *tensor, float value);
/* The first and the last of them, in steps. */
double tn_stored_lowest(const tn_stored_tensor *tensor);
double tn_stored_highest(const tn_stored_tensor *tensor);
/* Between 0 and 1, 1 excluded. */
double tn_drawn_number(tn_drawn *d);
/* The elements of a shape; 0 where nobody can count them. */
size_t tn_drawn_count(const tn_shape *shape);
tn_bound_case tn_drawn_bound(const tn_drawn *d);
/* Draws the values, and lets the reference compute from them: `expected`, `slack` and `sums` are to
 * be freed by tn_drawn_free, also after a failure. */
tn_status tn_drawn_make(tn_drawn *d);
void tn_drawn_free(tn_drawn *d);

bool tn_stored_has_weights(const tn_drawn *d);

/* --- stored_special.c --- */
/* Whether the draw is one of the ends, and whether it says something of the case. */
bool tn_stored_is_special(const tn_drawn *d);
bool tn_stored_has_special(const tn_drawn *d);
void tn_stored_draw_special(tn_drawn *d);
/* Whether what is found is right where one of both is no number. Of sums NaN may reach more
 * elements than the reference's. */
bool tn_stored_is_special_near(double wanted, double found);

/* --- stored_describe.c --- */
/* Which inputs of the case a combination stores narrowly; false when it does not fit, or stores
 * nothing so where it should. */
bool tn_stored_narrow_inputs(const tn_drawn *d, const tn_combination *combination,
                             uint64_t *out_narrow);
/* The run of a kernel in one combination, without epilogues; false when an output does not fit. */
bool tn_stored_describe(const tn_drawn *d, const tn_kernel *kernel,
                        const tn_combination *combination, tn_stored_run *run);

/* --- stored_chain.c --- */
/* Elements of the largest operand: a residual's, or, of an output without elements, a bias's. */
size_t tn_stored_operand_count(const tn_drawn *d);
/* Puts a chain on the first output: fills the run's epilogues and operands (`operand` has
 * tn_stored_operand_count, `channels` has the lifetime of the run). False where the kernel does not
 * absorb it. */
bool tn_stored_add_chain(tn_drawn *d, tn_stored_run *run, uint32_t chain, float *operand,
                         tn_shape *channels);
/* What is wanted of an output: the reference's numbers after the chain, and for each the parts of
 * its bound, W and S. Where windows keep one element, the largest in the window. */
typedef struct tn_stored_wanted {
    size_t count;
    double *y;
    float *slack, *sums;
} tn_stored_wanted;
/* False: no memory. To be freed by tn_stored_wanted_free in any case. */
bool tn_stored_wanted_make(const tn_drawn *d, const tn_stored_run *run, uint32_t output,
                           tn_stored_wanted *out_wanted);
void tn_stored_wanted_free(tn_stored_wanted *wanted);

/* --- stored_compare.c --- */
/* False, with the reason in `why`, when some output lies too far. */
bool tn_stored_compare(const tn_drawn *d, const tn_stored_run *run, char *why, size_t bytes);

#endif
