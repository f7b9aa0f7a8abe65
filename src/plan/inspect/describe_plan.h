/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's message as a description, without loading code. Texts are the message's. */
#ifndef TN_PLAN_INSPECT_DESCRIBE_PLAN_H
#define TN_PLAN_INSPECT_DESCRIBE_PLAN_H

#include "base/file.h"
#include "plan/inspect/describe.h"
#include "plan/plan.pb-c.h"

/* What is known of a plan's bytes beside its message. */
typedef struct tn_plan_sizes {
    size_t file, description, weights, packed;
} tn_plan_sizes;

/* Of a plan's bytes, which are not needed after the call; the description owns the message.
 * TN_ERROR_FORMAT, TN_ERROR_MEMORY. */
tn_status tn_describe_plan(tn_runtime *runtime, const void *data, size_t bytes,
                           tn_description **out_description, const Tenon__Plan__Plan **out_plan,
                           tn_plan_sizes *out_sizes);
/* The programs of it (describe_program.c). */
tn_status tn_describe_programs(tn_description *description, const Tenon__Plan__Plan *plan);
/* Null for what is not there. */
const char *tn_describe_tensor_name(const Tenon__Plan__Plan *plan, uint64_t tensor);

#endif
