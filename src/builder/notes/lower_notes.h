/* SPDX-License-Identifier: Apache-2.0 */
/* What the reports say of a choice (report/lower_notes.h), noted when it is made. */
#ifndef TN_BUILDER_NOTES_LOWER_NOTES_H
#define TN_BUILDER_NOTES_LOWER_NOTES_H

#include "builder/lower/lower_private.h"

tn_status tn_lower_note(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                        tn_lower_notes *out_notes);
/* The candidates of each node that heads a step, grouped: in `arena`. TN_ERROR_MEMORY. */
tn_status tn_lower_record(const tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_lower_notes *notes);

#endif
