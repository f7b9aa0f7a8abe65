/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in memory, for its owner: bytes, file, report. Written by writer.c. */
#include "plan/plan.h"

#include "base/file.h"
#include "base/status.h"

const void *tn_plan_bytes(const tn_plan *plan, uint64_t *out_bytes) {
    if (out_bytes) *out_bytes = plan ? plan->bytes : 0;
    return plan ? plan->data : NULL;
}

tn_status tn_plan_save(const tn_plan *plan, const char *path) {
    if (!plan || !path) return tn_fail(TN_ERROR_ARGUMENT, "tn_plan_save needs a plan and a path");
    return tn_file_write(plan->allocator, path, plan->data, plan->bytes);
}

const char *tn_plan_report(const tn_plan *plan) {
    return plan && plan->report ? plan->report : "{}";
}

void tn_plan_destroy(tn_plan *plan) {
    if (!plan) return;
    const tn_allocator *allocator = plan->allocator;
    tn_runtime *runtime = plan->runtime;
    tn_deallocate(allocator, plan->report);
    tn_deallocate(allocator, plan->data);
    tn_deallocate(allocator, plan);
    tn_runtime_release(runtime);
}

void tn_text_free(tn_runtime *runtime, char *text) {
    if (runtime) tn_deallocate(tn_runtime_allocator(runtime), text);
}
