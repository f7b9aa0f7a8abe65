/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate that is prepared and open, with tensors of its own, as the engine would run it; see
 * timing_private.h. */
#include "base/status.h"
#include "builder/timing/timing_private.h"
#include "guard/checked_call.h"
#include "plugin/devices.h"

/* Once in guarded memory; the numbers are made up, so that what is not finite says nothing. */
static tn_status run_checked(const tn_lowering *lowering, tn_open_kernel *opened) {
    const tn_thread_pool *pool = opened->scope.pool;
    const tn_call *call = &opened->call;
    const tn_checked_options options = {.allocator = lowering->graph->allocator,
                                        .pool = pool,
                                        .most_tensors = (size_t)call->input_count +
                                                        call->output_count + call->operand_count,
                                        .allows_not_finite = true};
    tn_checked *checked = NULL;
    TN_TRY(tn_checked_create(&options, &checked));
    if (pool) opened->scope.pool = &checked->pool;
    opened->call.host_private = &opened->scope;
    tn_checked_enter(checked);
    const tn_status status =
        tn_checked_call(checked, &opened->call, opened->prepared->kernel->run, NULL, NULL);
    tn_checked_leave(checked);
    opened->scope.pool = pool;
    tn_checked_destroy(checked);
    return status;
}

static tn_status run_once(const tn_lowering *lowering, const tn_timing_work *work) {
    (void)lowering;
    return tn_open_kernel_run(work->opened);
}

static tn_status prepare_subject(tn_lowering *lowering, uint32_t index,
                                 const tn_candidate *candidate, tn_timing_subject *subject) {
    tn_prepared_kernel *prepared = &subject->prepared;
    TN_TRY(tn_arena_create(lowering->graph->allocator, &subject->arena));
    TN_TRY(tn_packed_store_create(lowering->graph->allocator, &subject->packed));
    TN_TRY(tn_candidate_call_init(&subject->candidate_call, lowering, index, candidate, 1,
                                  subject->arena));
    TN_TRY(tn_timing_align_constants(lowering, index, &subject->candidate_call));
    prepared->kernel = candidate->entry->kernel;
    prepared->call = subject->candidate_call.call;
    prepared->scope = subject->candidate_call.scope;
    prepared->scope.packed = subject->packed;
    prepared->call.host_private = &prepared->scope;
    if (subject->work.is_remote) TN_TRY(tn_timing_stream(lowering, &prepared->call.stream));
    return tn_prepared_kernel_init(prepared);
}

static tn_status open_on_device(tn_lowering *lowering, uint32_t index, tn_timing_subject *subject) {
    tn_open_kernel *opened = &subject->opened;
    opened->stream = subject->prepared.call.stream;
    TN_TRY(tn_open_kernel_init(opened, &subject->prepared));
    TN_TRY(tn_open_kernel_reshape(opened));
    TN_TRY(tn_timing_device_tensors(lowering, index, &subject->candidate_call, opened));
    return lowering->options->is_checked ? tn_timing_device_checked(lowering, index, opened)
                                         : TN_OK;
}

static tn_status open_on_host(tn_lowering *lowering, uint32_t index, tn_timing_blocks *blocks,
                              tn_timing_subject *subject) {
    tn_open_kernel *opened = &subject->opened;
    void *workspace = NULL;
    TN_TRY(tn_open_kernel_init(opened, &subject->prepared));
    TN_TRY(tn_open_kernel_reshape(opened));
    TN_TRY(tn_timing_give_tensors(lowering, blocks, index, &subject->candidate_call));
    TN_TRY(
        tn_timing_take_block(lowering, blocks, (size_t)opened->call.workspace_bytes, &workspace));
    opened->call.workspace = workspace;
    return lowering->options->is_checked ? run_checked(lowering, opened) : TN_OK;
}

static uint64_t bytes_of(const tn_timing_subject *subject) {
    const tn_call *call = &subject->opened.call;
    uint64_t bytes = call->workspace_bytes;
    for (uint32_t i = 0; i < call->input_count; i++)
        if (call->inputs[i]) bytes += call->inputs[i]->bytes;
    for (uint32_t i = 0; i < call->operand_count; i++)
        bytes += call->operands[i]->bytes;
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) bytes += call->outputs[i]->bytes;
    return bytes;
}

static tn_status add_packed(void *user, const tn_weight_key *key, const void *data) {
    double *bytes = user;
    (void)data;
    *bytes += (double)key->bytes;
    return TN_OK;
}

static tn_status find_grown_bytes(const tn_lowering *lowering, uint32_t index,
                                  tn_timing_subject *subject) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    double bytes = 0;
    TN_TRY(tn_packed_store_visit(subject->packed, 0, add_packed, &bytes));
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR &&
            lowering->graph->tensors[node->inputs[i]].is_constant)
            bytes -= (double)lowering->graph->tensors[node->inputs[i]].bytes;
    subject->grown_bytes = bytes > 0 ? bytes : 0;
    return TN_OK;
}

tn_status tn_timing_subject_open(tn_lowering *lowering, uint32_t index,
                                 const tn_candidate *candidate, tn_timing_blocks *blocks,
                                 tn_timing_subject *subject) {
    const double begin_ns = tn_timing_now_ns(lowering);
    *subject = (tn_timing_subject){.device_mark = lowering->timing->device.block_count};
    subject->work = (tn_timing_work){.once = run_once,
                                     .is_remote = tn_lower_is_on_device(candidate),
                                     .opened = &subject->opened,
                                     .candidate = candidate};
    tn_status status = TN_OK;
    TN_GO(prepare_subject(lowering, index, candidate, subject));
    TN_GO(find_grown_bytes(lowering, index, subject));
    tn_timing_shares_add(&lowering->timing->shares, candidate->entry->kernel, 1,
                         tn_timing_now_ns(lowering) - begin_ns, 0);
    TN_GO(subject->work.is_remote ? open_on_device(lowering, index, subject)
                                  : open_on_host(lowering, index, blocks, subject));
    subject->bytes = bytes_of(subject);
    return TN_OK;
done:
    tn_timing_subject_close(lowering, subject);
    return status;
}

void tn_timing_subject_close(tn_lowering *lowering, tn_timing_subject *subject) {
    const bool is_remote = subject->work.is_remote && lowering->timing->device.stream;
    if (is_remote) tn_timing_device_settle(lowering, &subject->work);
    tn_open_kernel_deinit(&subject->opened);
    if (is_remote) tn_timing_device_release(lowering, subject->device_mark);
    tn_prepared_kernel_deinit(&subject->prepared);
    tn_packed_store_destroy(subject->packed);
    tn_arena_destroy(subject->arena);
    *subject = (tn_timing_subject){0};
}
