/* SPDX-License-Identifier: Apache-2.0 */
/* The execution loop: a state's calls in order. The profiling one is apart (execution_profile.c),
 * so that the plain one pays nothing for it. */
#include "base/status.h"
#include "run/execution_private.h"
#include "tensor/convert.h"

tn_status tn_execution_failed(const tn_execution_item *item, tn_status status) {
    tn_call *call = item->call;
    if (!call->host_private /* a reformat */)
        return tn_error_at(
            status, "conversion of tensor '%s' from %s:%s to %s:%s", call->inputs[0]->name,
            tn_type_name(call->inputs[0]->type), tn_format_name(call->inputs[0]->format),
            tn_type_name(call->outputs[0]->type), tn_format_name(call->outputs[0]->format));
    tn_call_scope *scope = call->host_private;
    status = tn_call_failed(call, status, scope->kernel ? "run" : "the reference");
    scope->failed = TN_OK;
    return status;
}

tn_status tn_execution_blame(const tn_execution_item *item, tn_status status) {
    tn_call_scope *scope = item->call->host_private;
    if (scope) scope->failed = status;
    return tn_execution_failed(item, status);
}

tn_status tn_execution_run(tn_context *context) {
    const tn_shape_state *state = context->shapes.current;
    const tn_execution_item *item = state->items, *end = item + state->item_count;
    const tn_run_state *run = context->run;
    for (; item != end; item++) {
        const tn_status status = tn_execution_call(context, item);
        const unsigned is = atomic_load_explicit(&run->is, memory_order_relaxed);
        if (__builtin_expect(((unsigned)status | is) != 0, 0)) /* one branch for both */
            return status == TN_OK ? tn_run_fail_cancelled() : tn_execution_failed(item, status);
    }
    return TN_OK;
}

typedef struct reformat_job {
    const tn_tensor *from, *to;
} reformat_job;

static tn_status reformat_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const reformat_job *job = user;
    (void)thread;
    return tn_convert(job->from, job->to, begin, end);
}

tn_status tn_execution_reformat(tn_call *call) {
    const tn_engine *engine = call->user;
    reformat_job job = {call->inputs[0], call->outputs[0]};
    if (job.from->type == TN_STRING)
        return tn_fail(TN_ERROR_UNSUPPORTED, "tensor '%s' is of strings, which have one storage",
                       job.from->name);
    const int64_t items = tn_convert_items(job.from, job.to);
    if (items == 0) return TN_OK;
    const int64_t item_bytes = (int64_t)job.from->bytes / items + 1;
    if (engine->pool.threads <= 1) return reformat_items(&job, 0, items, 0);
    return engine->pool.parallel_for(&engine->pool, items, 65536 / item_bytes + 1, reformat_items,
                                     &job);
}
