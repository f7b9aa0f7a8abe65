/* SPDX-License-Identifier: Apache-2.0 */
/* What the model's file said of itself, as a plan has it. */
#ifndef TN_PLAN_MODEL_INFO_H
#define TN_PLAN_MODEL_INFO_H

#include "base/memory.h"
#include "plan/plan.pb-c.h"
#include <tenon/describe.h>

/* Of a plan's message, which it points into; lists are in `arena`. Nothing is checked: keys may be
 * empty or there twice. Plans of earlier versions say the graph's name alone. TN_ERROR_MEMORY. */
tn_status tn_plan_model_info(tn_arena *arena, const Tenon__Plan__Plan *plan,
                             tn_model_info *out_info);

#endif
