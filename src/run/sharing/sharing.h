/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a shape state that share memory: windows in larger ones, and results in place of what
 * they are computed from. */
#ifndef TN_RUN_SHARING_SHARING_H
#define TN_RUN_SHARING_SHARING_H

#include "run/context_private.h"

/* --- sharing/shape_state_windows.c --- */
/* Before anything is in place: lays windows into what they are windows of, and drops their steps.
 * TN_ERROR_PLUGIN, TN_ERROR_MEMORY. */
tn_status tn_shape_state_share_windows(const tn_context *context, tn_shape_state *state);

/* --- sharing/strided_rows.c --- */
/* Whether a value's rows may lie apart as in this window: each step that reads or writes it, but
 * for `except`, is a kernel that accepts that there. */
bool tn_strided_rows_allowed(const tn_context *context, const tn_shape_state *state, uint32_t value,
                             uint32_t except, const tn_window *window);
/* A window in a value of which the rows may lie apart already; `inout_window` is the window in the
 * packed tensor. False: not at one distance. */
bool tn_strided_rows_compose(const tn_shape_state *state, uint32_t larger, tn_window *inout_window);
/* Gives a value the strides of the larger one. */
void tn_strided_rows_lay(tn_shape_state *state, uint32_t value, uint32_t larger,
                         const tn_window *window);
static inline bool tn_strided_rows_is(const tn_shape_state *state, uint32_t value) {
    return state->rows[value].row_count > 1;
}

/* --- sharing/shape_state_in_place.c --- */
void tn_shape_state_share_in_place(const tn_context *context, tn_shape_state *state);
/* Sets `updated` of outputs that lie in the caller's memory. */
void tn_shape_state_find_updated(const tn_context *context, tn_shape_state *state);

#endif
