/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparing an engine's kernels: each is told the shapes of the profile, the constants and the
 * steps of their chain, once. Descriptors of tensors live during prepare; steps and parameters as
 * long as the engine.
 */
#include "base/status.h"
#include "engine/engine_private.h"

#include <stdatomic.h>

/* The descriptors are gone after prepare: contexts have their own. */
static void forget_descriptors(tn_call *call) {
    call->inputs = call->operands = call->minimum_inputs = call->maximum_inputs = NULL;
    call->outputs = NULL;
}

/* What the plan keeps of it may be of other data than a constant has by now. */
static bool reads_refit(const tn_engine *engine, const tn_program_step *step) {
    bool reads = tn_graph_refit_of(engine->graph, &engine->graph->nodes[step->node]) != NULL;
    for (uint32_t i = 0; i < step->absorbed_count && !reads; i++)
        reads = tn_graph_refit_of(engine->graph, &engine->graph->nodes[step->absorbed[i]]) != NULL;
    return reads;
}

/* From the state that the plan keeps of it, if any. Where the kernel does not load that, since the
 * bytes are damaged or of another version of the library, it is prepared anew. */
static tn_status prepare_kernel(tn_engine_loading *loading, tn_engine_step *step) {
    tn_prepared_kernel *prepared = &step->prepared;
    tn_error_copy before;
    if (!step->step->has_state || !prepared->kernel || !prepared->kernel->load ||
        loading->is_refit || reads_refit(loading->engine, step->step))
        return tn_prepared_kernel_init(prepared);
    TN_TRY(tn_constant_note_verify(step->step->state_note));
    tn_error_save(&before);
    const tn_status status = tn_prepared_kernel_load(prepared, loading->arena, step->step->state,
                                                     step->step->state_bytes);
    if (status == TN_OK || status == TN_ERROR_MEMORY || loading->is_exact) return status;
    tn_runtime_log(loading->engine->runtime, TN_LOG_WARNING,
                   "the state that the plan keeps of a kernel is not used: %s: %s",
                   tn_last_error()->where, tn_last_error()->message);
    tn_error_restore(&before);
    return tn_prepared_kernel_init(prepared);
}

/* Whether the plan has what the step's kernel packed of this constant. */
static bool is_packed(const tn_engine *engine, const tn_engine_step *step,
                      const tn_program_value *value, const tn_constant_note *note) {
    tn_tensor_storage storage;
    const tn_graph_tensor *tensor = &engine->graph->tensors[value->tensor];
    if (!step || !step->entry || engine->program->packed_count == 0 ||
        tn_tensor_init(&storage, tensor->type, TN_LINEAR, &tensor->shape) != TN_OK)
        return false;
    const uint64_t content = tn_constant_content(&storage.tensor, note->checksum);
    const uint64_t packer = tn_packer_hash(step->entry);
    for (uint32_t i = 0; i < engine->program->packed_count; i++)
        if (engine->program->packed[i].content == content &&
            engine->program->packed[i].packer == packer)
            return true;
    return false;
}

static tn_status verify_values(tn_engine *engine, const tn_engine_step *step,
                               const uint32_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] == TN_NO_VALUE) continue;
        const tn_program_value *value = &engine->program->values[values[i]];
        tn_constant_note *note = engine->graph->tensors[value->tensor].note;
        if (note && !note->is_verified && !is_packed(engine, step, value, note))
            TN_TRY(tn_constant_note_verify(note));
    }
    return TN_OK;
}

/* Before anybody reads them: the constants of all steps but those of which the plan has what a
 * kernel packed, which are verified if it packs them anew, and those that no step reads. */
static tn_status verify_constants(tn_engine *engine) {
    const tn_program *program = engine->program;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const tn_engine_step *step = &engine->steps[i];
        TN_TRY(verify_values(engine, step, step->step->inputs, step->step->input_count));
        TN_TRY(verify_values(engine, step, step->step->operands, step->step->operand_count));
    }
    return verify_values(engine, NULL, program->output_values,
                         (uint32_t)engine->graph->output_count);
}

typedef struct blob_queue {
    const tn_program *program;
    atomic_uint left; /* blobs that nobody has taken */
} blob_queue;

/* Each thread takes the next one: they differ by a thousand times in size, and the large ones come
 * late in a network, so the last is first. */
static tn_status try_blobs(void *user, int64_t begin, int64_t end, uint32_t thread) {
    blob_queue *queue = user;
    (void)begin, (void)end, (void)thread;
    for (unsigned left = atomic_load(&queue->left); left > 0;)
        if (atomic_compare_exchange_weak(&queue->left, &left, left - 1)) {
            tn_constant_note_try(queue->program->packed[left - 1].note);
            left = atomic_load(&queue->left);
        }
    return TN_OK;
}

/* All that a plan has packed for the program, by all threads, since the kernels are going to ask
 * for it one after another; what is damaged fails then. */
static tn_status verify_packed(const tn_engine *engine) {
    blob_queue queue = {.program = engine->program};
    if (engine->is_isolated || engine->is_serving || engine->program->packed_count == 0)
        return TN_OK;
    atomic_init(&queue.left, engine->program->packed_count);
    return engine->pool.parallel_for(&engine->pool, engine->pool.threads, 1, try_blobs, &queue);
}

tn_status tn_engine_prepare_step(tn_engine_loading *loading, tn_engine_step *step) {
    tn_engine *engine = loading->engine;
    tn_prepared_kernel *prepared = &step->prepared;
    if (step->step->kind != TN_STEP_KERNEL || step->step->is_host) return TN_OK;
    prepared->kernel = step->entry ? step->entry->kernel : NULL;
    TN_TRY(tn_engine_call_init(loading, step, 1, engine->arena, &prepared->scope, &step->chain,
                               &prepared->call));
    prepared->scope.packed = engine->packed;
    if (step->step->is_device) prepared->call.stream = engine->stream;
    const bool is_here = engine->is_serving == step->is_isolated;
    if (loading->note && is_here)
        loading->note(loading->note_user, (uint32_t)(step - engine->steps));
    const tn_status status = is_here ? prepare_kernel(loading, step) : TN_OK;
    forget_descriptors(&prepared->call);
    prepared->scope.packed = NULL;
    prepared->scope.constants = NULL; /* the loading's */
    return status;
}

tn_status tn_engine_prepare(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    TN_TRY(verify_constants(engine));
    TN_TRY(verify_packed(engine));
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        TN_TRY(tn_engine_prepare_step(loading, &engine->steps[i]));
    return TN_OK;
}

void tn_engine_unprepare(tn_engine *engine) {
    const uint32_t count = engine->steps ? engine->program->step_count : 0;
    for (uint32_t i = count; i-- > 0;) {
        tn_prepared_kernel_deinit(&engine->steps[i].prepared);
        if (engine->steps[i].entry) tn_library_release(engine->steps[i].entry->library);
    }
}
