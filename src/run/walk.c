/* SPDX-License-Identifier: Apache-2.0 */
/* The walk: a state's calls in order. The profiling walk is another function, so that the plain one
 * pays nothing for it. */
#include "base/status.h"
#include "run/context_private.h"
#include "tensor/convert.h"

#include <time.h>

tn_status tn_walk_failed(const tn_walk_item *item, tn_status status) {
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

tn_status tn_walk_run(tn_context *context) {
    const tn_shape_state *state = context->current;
    const tn_walk_item *item = state->walk, *end = item + state->walk_count;
    for (; item != end; item++) {
        const tn_status status = item->run(item->call);
        if (__builtin_expect(status != TN_OK, 0)) return tn_walk_failed(item, status);
    }
    return TN_OK;
}

uint64_t tn_walk_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void tn_walk_note_time(tn_context *context, uint32_t index, uint64_t ns) {
    tn_profile_entry *entry = &context->profile[index];
    const tn_program_step *step = &context->engine->program->steps[index];
    if (entry->runs == 0) {
        const tn_engine *engine = context->engine;
        const bool is_node = step->node != TN_NO_NODE;
        const tn_graph_node *node = is_node ? &engine->graph->nodes[step->node] : NULL;
        const tn_tensor_id read = is_node ? 0 : engine->program->values[step->inputs[0]].tensor;
        *entry = (tn_profile_entry){
            .size = sizeof(*entry),
            .node = is_node ? node->name : engine->graph->tensors[read].name,
            .op = is_node ? node->entry->op->name : "reformat",
            .kernel = is_node ? (step->kernel ? step->kernel : "reference") : "convert",
            .minimum_ns = ns};
        context->profile_steps[context->profile_count++] = index;
    }
    entry->runs++;
    entry->total_ns += ns;
    if (ns < entry->minimum_ns) entry->minimum_ns = ns;
}

tn_status tn_walk_profile(tn_context *context) {
    const tn_shape_state *state = context->current;
    for (uint32_t i = 0; i < state->walk_count; i++) {
        const uint64_t before = tn_walk_now_ns();
        const tn_status status = state->walk[i].run(state->walk[i].call);
        if (status != TN_OK) return tn_walk_failed(&state->walk[i], status);
        if (context->stream) TN_TRY(tn_walk_settle(context, i));
        tn_walk_note_time(context, state->walk_steps[i], tn_walk_now_ns() - before);
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

tn_status tn_walk_reformat(tn_call *call) {
    const tn_engine *engine = call->user;
    reformat_job job = {call->inputs[0], call->outputs[0]};
    const int64_t items = tn_convert_items(job.from, job.to);
    if (items == 0) return TN_OK;
    const int64_t item_bytes = (int64_t)job.from->bytes / items + 1;
    if (engine->pool.threads <= 1) return reformat_items(&job, 0, items, 0);
    return engine->pool.parallel_for(&engine->pool, items, 65536 / item_bytes + 1, reformat_items,
                                     &job);
}
