/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that a plan embeds: which entries of the manifest have one, and where it lies. They are
 * put there by write/embed_libraries.c and loaded by read/load_embedded.c. */
#ifndef TN_PLAN_EMBEDDED_H
#define TN_PLAN_EMBEDDED_H

#include "plan/layout.h"
#include "plan/plan.pb-c.h"

/* Whether a manifest's entry has its library in the plan. */
bool tn_plan_is_embedded(const Tenon__Plan__Library *library);
/* Checks an entry against the section of libraries; *out_offset is from the beginning of the file.
 * The content is not looked at. TN_ERROR_FORMAT names the library. */
tn_status tn_plan_find_embedded(const Tenon__Plan__Library *library, const tn_plan_layout *layout,
                                size_t *out_offset);

#endif
