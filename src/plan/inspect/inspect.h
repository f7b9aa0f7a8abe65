/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the inspection share. It reads a plan's description alone and loads no code, so
 * that a plan from a third party can be looked at; numbers that lead nowhere are shown as null.
 */
#ifndef TN_PLAN_INSPECT_INSPECT_H
#define TN_PLAN_INSPECT_INSPECT_H

#include "base/text.h"
#include "plan/plan.pb-c.h"
#include <tenon/describe.h>

/* Names by number, "null" for what is not there. */
void tn_inspect_tensor_name(tn_text *text, const Tenon__Plan__Plan *plan, uint64_t tensor);
void tn_inspect_type(tn_text *text, uint32_t type); /* in quotes */
void tn_inspect_shape(tn_text *text, size_t rank, const int64_t *extents);

void tn_inspect_model(tn_text *text, const tn_model_info *info);
void tn_inspect_fields(tn_text *text, const Tenon__Plan__Node *node);
void tn_inspect_programs(tn_text *text, const tn_plan_description *description);

#endif
