/* SPDX-License-Identifier: Apache-2.0 */
/* The states of the chosen kernels, whether they were timed or not; see lower_private.h. */
#include "base/status.h"
#include "builder/lower/lower_candidates.h"
#include "builder/timing/timing_private.h"
#include "graph/body.h"
#include "plugin/devices.h"

#include <string.h>

/* A chosen kernel, prepared as an engine does it. */
typedef struct state_subject {
    tn_candidate_call candidate_call;
    tn_prepared_kernel prepared;
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

/* What is known of the constants among a call's inputs. */
static tn_status note_constants(const tn_lowering *lowering, uint32_t index,
                                const tn_candidate *candidate, tn_arena *arena,
                                tn_call_scope *scope) {
    const uint32_t count = lowering->graph->nodes[index].input_count;
    tn_constant_note **notes = tn_arena_allocate(arena, count + 1u, sizeof *notes);
    if (!notes) return tn_fail_memory("packed weights");
    for (uint32_t i = 0; i < count; i++) {
        const tn_tensor_id id = tn_lower_input(lowering, index, candidate, i);
        if (id != TN_NO_TENSOR) notes[i] = lowering->graph->tensors[id].note;
    }
    scope->constants = notes;
    return TN_OK;
}

static tn_status prepare_state(tn_lowering *lowering, uint32_t index, const tn_candidate *candidate,
                               tn_packed_store *packed, state_subject *subject) {
    tn_prepared_kernel *prepared = &subject->prepared;
    TN_TRY(tn_arena_create(lowering->graph->allocator, &subject->arena));
    TN_TRY(tn_candidate_call_init(&subject->candidate_call, lowering, index, candidate, 1,
                                  subject->arena));
    TN_TRY(tn_timing_align_constants(lowering, index, &subject->candidate_call));
    if (tn_lower_is_on_device(candidate)) TN_TRY(open_stream(subject, lowering->options->device));
    prepared->kernel = candidate->entry->kernel;
    prepared->call = subject->candidate_call.call;
    prepared->scope = subject->candidate_call.scope;
    prepared->scope.packed = packed;
    TN_TRY(note_constants(lowering, index, candidate, subject->arena, &prepared->scope));
    return tn_prepared_kernel_init(prepared);
}

static void finish_state(state_subject *subject) {
    if (subject->device) (void)subject->device->stream_wait(subject->device, subject->stream);
    tn_prepared_kernel_deinit(&subject->prepared);
    if (subject->device) subject->device->stream_destroy(subject->device, subject->stream);
    tn_arena_destroy(subject->arena);
}

/* What was packed: in a store that the program's arena owns, so that it is not copied. */
typedef struct packed_list {
    tn_packed_store *store;
    size_t seen; /* of the store */
    tn_arena *arena;
    const tn_allocator *allocator;
    const char *kernel;
    tn_packed_blob *blobs;
    size_t count, capacity;
} packed_list;

static tn_status keep_blob(void *user, const tn_weight_key *key, const void *data) {
    packed_list *list = user;
    for (size_t i = 0; i < list->count; i++) {
        const tn_packed_blob *blob = &list->blobs[i];
        if (blob->content == key->content && blob->packer == key->packer &&
            blob->note->bytes == key->bytes && strcmp(blob->key, key->key) == 0)
            return TN_OK;
    }
    if (key->bytes == 0) return TN_OK;
    TN_TRY(tn_grow(list->allocator, (void **)&list->blobs, &list->capacity, list->count + 1,
                   sizeof(*list->blobs)));
    tn_constant_note *note = tn_arena_allocate(list->arena, 1, sizeof(*note));
    const char *text = tn_arena_text(list->arena, key->key);
    if (!note || !text) return tn_fail_memory("packed weights");
    note->bytes = (size_t)key->bytes;
    note->name = list->kernel;
    note->data = data;
    list->blobs[list->count++] =
        (tn_packed_blob){.content = key->content, .packer = key->packer, .key = text, .note = note};
    return TN_OK;
}

/* What it made of constants that are to be refitted would stay as it is. */
static bool reads_refit(const tn_graph *graph, const tn_program_step *step) {
    bool reads = tn_graph_refit_of(graph, &graph->nodes[step->node]) != NULL;
    for (uint32_t i = 0; i < step->absorbed_count && !reads; i++)
        reads = tn_graph_refit_of(graph, &graph->nodes[step->absorbed[i]]) != NULL;
    return reads;
}

static tn_status keep_step(tn_lowering *lowering, const tn_candidate *candidate, tn_arena *arena,
                           tn_program_step *step, packed_list *packed) {
    state_subject subject = {0};
    tn_error_copy before;
    tn_error_save(&before);
    tn_status status = prepare_state(lowering, step->node, candidate, packed->store, &subject);
    if (status == TN_OK && candidate->entry->kernel->save) {
        status =
            tn_prepared_kernel_save(&subject.prepared, arena, &step->state, &step->state_bytes);
        step->has_state = status == TN_OK;
    }
    packed->kernel = step->kernel;
    if (status == TN_OK && lowering->options->keeps_packed)
        status = tn_packed_store_visit(packed->store, packed->seen, keep_blob, packed);
    packed->seen = tn_packed_store_count(packed->store);
    finish_state(&subject);
    if (status == TN_OK || status == TN_ERROR_MEMORY || candidate->entry->kernel->save)
        return status;
    tn_error_restore(&before); /* whoever loads the plan hears of it */
    return TN_OK;
}

static bool reads_constant(const tn_lowering *lowering, uint32_t node) {
    const tn_graph_node *reader = &lowering->graph->nodes[node];
    for (uint32_t i = 0; i < reader->input_count; i++)
        if (reader->inputs[i] != TN_NO_TENSOR &&
            lowering->graph->tensors[reader->inputs[i]].is_constant)
            return true;
    return false;
}

/* Whether the kernel has to be prepared here for what it saves or packs. Kernels of a device keep
 * what they pack there. */
static bool is_kept(const tn_lowering *lowering, uint32_t node, const tn_candidate *candidate) {
    const tn_kernel *kernel = candidate->entry->kernel;
    return kernel->save || (lowering->options->keeps_packed && kernel->prepare &&
                            !tn_lower_is_on_device(candidate) && reads_constant(lowering, node));
}

static tn_status keep_all(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_program *program, packed_list *packed) {
    for (uint32_t s = 0; s < program->step_count; s++) {
        tn_program_step *step = &program->steps[s];
        if (step->kind != TN_STEP_KERNEL || step->is_host || !step->kernel ||
            reads_refit(lowering->graph, step))
            continue;
        const tn_candidate *candidate = &lowering->nodes[step->node].candidates[choice[step->node]];
        if (is_kept(lowering, step->node, candidate))
            TN_TRY(keep_step(lowering, candidate, arena, step, packed));
    }
    program->packed_count = (uint32_t)packed->count;
    program->packed = tn_arena_copy(arena, packed->blobs, packed->count * sizeof(*packed->blobs));
    return program->packed ? TN_OK : tn_fail_memory("packed weights");
}

static void destroy_store(void *store) {
    tn_packed_store_destroy(store);
}

tn_status tn_lower_states(tn_lowering *lowering, const uint32_t *choice, tn_arena *arena,
                          tn_program *program) {
    packed_list packed = {.arena = arena, .allocator = lowering->graph->allocator};
    TN_TRY(tn_packed_store_create(packed.allocator, &packed.store));
    tn_status status = tn_arena_at_end(arena, destroy_store, packed.store);
    if (status != TN_OK) {
        tn_packed_store_destroy(packed.store);
        return status;
    }
    status = keep_all(lowering, choice, arena, program, &packed);
    tn_deallocate(packed.allocator, packed.blobs);
    return status;
}
