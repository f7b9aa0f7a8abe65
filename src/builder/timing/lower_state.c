/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the chosen kernels, whether they were timed or not; see lower_private.h. */
#include "base/status.h"
#include "builder/timing/timing_private.h"
#include "graph/body.h"
#include "plugin/devices.h"

/* A chosen kernel, prepared as an engine does it. */
typedef struct state_subject {
    tn_candidate_call candidate_call;
    tn_prepared_kernel prepared;
    tn_packed_store *packed;
    tn_arena *arena;
    const tn_device *device; /* whose stream is to be destroyed; null: the processor */
    void *stream;
} state_subject;

static tn_status open_stream(state_subject *subject, const tn_device *device) {
    const tn_status status = device->stream_create(device, &subject->stream);
    if (status != TN_OK) return tn_device_failed(device, status, "a stream for preparing");
    subject->device = device;
    subject->candidate_call.call.stream = subject->stream;
    return TN_OK;
}

static tn_status prepare(tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                         state_subject *subject) {
    tn_prepared_kernel *prepared = &subject->prepared;
    TN_TRY(tn_arena_create(lowering->graph->allocator, &subject->arena));
    TN_TRY(tn_packed_store_create(lowering->graph->allocator, &subject->packed));
    TN_TRY(tn_candidate_call_init(&subject->candidate_call, lowering, index, candidate, 1,
                                  subject->arena));
    TN_TRY(tn_timing_align_constants(lowering, index, &subject->candidate_call));
    if (tn_lower_is_on_device(candidate)) TN_TRY(open_stream(subject, lowering->options->device));
    prepared->kernel = candidate->entry->kernel;
    prepared->call = subject->candidate_call.call;
    prepared->scope = subject->candidate_call.scope;
    prepared->scope.packed = subject->packed;
    return tn_prepared_kernel_init(prepared);
}

static void finish(state_subject *subject) {
    if (subject->device) (void)subject->device->stream_wait(subject->device, subject->stream);
    tn_prepared_kernel_deinit(&subject->prepared);
    if (subject->device) subject->device->stream_destroy(subject->device, subject->stream);
    tn_packed_store_destroy(subject->packed);
    tn_arena_destroy(subject->arena);
}

static tn_status save_step(tn_lowering *lowering, const tn_candidate *candidate, tn_arena *arena,
                           tn_program_step *step) {
    state_subject subject = {0};
    tn_status status = prepare(lowering, step->node, candidate, &subject);
    if (status == TN_OK)
        status =
            tn_prepared_kernel_save(&subject.prepared, arena, &step->state, &step->state_bytes);
    finish(&subject);
    step->has_state = status == TN_OK;
    return status;
}

/* What it made of constants that are to be refitted would stay as it is. */
static bool reads_refit(const tn_graph *graph, const tn_program_step *step) {
    bool reads = tn_graph_refit_of(graph, &graph->nodes[step->node]) != NULL;
    for (uint32_t i = 0; i < step->absorbed_count && !reads; i++)
        reads = tn_graph_refit_of(graph, &graph->nodes[step->absorbed[i]]) != NULL;
    return reads;
}

tn_status tn_lower_states(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_program *program) {
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_program_step *step = &program->steps[s];
        if (step->kind != TN_STEP_KERNEL || step->is_host || !step->kernel ||
            reads_refit(lowering->graph, step))
            continue;
        const tn_candidate *candidate = &lowering->nodes[step->node].candidates[choice[step->node]];
        if (candidate->entry->kernel->save) TN_TRY(save_step(lowering, candidate, arena, step));
    }
    return TN_OK;
}
