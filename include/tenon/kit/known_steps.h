/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's chain of steps in the facets of tenon/plugin.h, names and structs resolved once into
 * numbers: kernels read it before they begin, not for each row.
 */
#ifndef TENON_KIT_KNOWN_STEPS_H
#define TENON_KIT_KNOWN_STEPS_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN_KNOWN_BIAS = 1,
    TN_KNOWN_SCALE,
    TN_KNOWN_RESIDUAL,
    TN_KNOWN_ACTIVATION,
    TN_KNOWN_ROW,
    TN_KNOWN_EXPRESSION,
    TN_KNOWN_WINDOW_MAX,
    TN_KNOWN_SOFTMAX,
    TN_KNOWN_PLANE_MEAN
};
enum { TN_KNOWN_STEPS_LIMIT = 16 };

typedef struct tn_known_step {
    uint32_t kind;
    uint32_t operand;    /* index in call->operands; UINT32_MAX: none */
    uint32_t activation; /* ACTIVATION: TN_ACTIVATION_... */
    int32_t axis;        /* BIAS, SCALE, SOFTMAX; may count from the end */
    float alpha, beta;
    uint32_t window[2]; /* WINDOW_MAX */
    tn_type type;       /* after the step; TN_NONE: not known */
    /* ROW, EXPRESSION: whose, and at which of its inputs the value so far and the operand come in
     */
    uint32_t input, operand_input;
    const char *expression; /* null: none */
    tn_row_function row;    /* ROW */
    const tn_operator *op;
    const void *params;
} tn_known_step;

typedef struct tn_known_steps {
    uint32_t count;
    tn_known_step items[TN_KNOWN_STEPS_LIMIT];
} tn_known_steps;

/* The steps after the kernel; those before an input (tenon/plugin/before.h), which a kernel that
 * lists them reads itself, are left out. False: a step that is none of these, does not read the one
 * before it, or has several operands. */
bool tn_known_steps_read(const tn_call *call, tn_known_steps *out_steps);

/* --- for operators that describe themselves --- */

/* Each fills *out_facet and answers TN_OK when `name` is the facet's. */
tn_status tn_known_activation(const char *name, uint32_t function, float alpha, float beta,
                              tn_facet *out_facet);
tn_status tn_known_axis(const char *name, const char *facet, int32_t axis, tn_facet *out_facet);
tn_status tn_known_window_max(const char *name, const uint32_t *window, tn_facet *out_facet);
tn_status tn_known_plane_mean(const char *name, tn_facet *out_facet);
/* Whether the host asks for this facet. */
bool tn_known_is(const char *name, const char *facet);

#ifdef __cplusplus
}
#endif

#endif
