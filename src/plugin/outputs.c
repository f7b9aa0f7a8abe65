/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked for of outputs without a bound, and what has to be; see outputs.h. */
#include "plugin/outputs.h"

#include <tenon/plugin/sequence.h>

#include <inttypes.h>
#include <string.h>

bool tn_outputs_begin(tn_output_source *source, const tn_call *call) {
    bool is_any = false;
    source->thread = pthread_self();
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *output = call->outputs[i];
        tn_output_state *state = &source->states[i];
        *state = (tn_output_state){0};
        if (!output || output->kind != TN_KIND_DENSE) continue;
        state->is_rank_open = output->rank == TN_RANK_UNKNOWN;
        state->is_unbounded = state->is_rank_open;
        state->rank = state->is_rank_open ? 0 : output->rank;
        state->type = output->type;
        state->format = output->format;
        for (uint32_t axis = 0; axis < state->rank; axis++) {
            state->extents[axis] = output->shape[axis];
            state->is_unbounded |= state->extents[axis] == TN_UNBOUNDED;
        }
        is_any |= state->is_unbounded;
    }
    return is_any;
}

static const char *print(const tn_output_state *state, char *text) {
    if (state->is_rank_open && !state->is_asked) return "any rank";
    return tn_shape_print(state->rank, state->extents, text, TN_SHAPE_TEXT_BYTES);
}

/* ----------------------------------------------------------------------------------------------
 * asking */

static tn_status check_extents(tn_call *call, const tn_output_state *state, const char *name,
                               uint32_t rank, const int64_t *extents) {
    char rule[TN_SHAPE_TEXT_BYTES], asked[TN_SHAPE_TEXT_BYTES];
    if (rank != state->rank && !state->is_rank_open)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "memory for output '%s' of rank %" PRIu32
                                " was asked for; the shape rule answered %s",
                                name, rank, print(state, rule));
    for (uint32_t axis = 0; axis < rank && rank <= TN_MAX_RANK; axis++)
        if (extents[axis] < 0 || (!state->is_rank_open && state->extents[axis] != TN_UNBOUNDED &&
                                  state->extents[axis] != extents[axis]))
            return call->host->fail(call, TN_ERROR_SHAPE,
                                    "memory for output '%s' of shape %s was asked for; the shape "
                                    "rule answered %s, and extents are at least 0",
                                    name, tn_shape_print(rank, extents, asked, sizeof(asked)),
                                    print(state, rule));
    return TN_OK;
}

static tn_status check_request(tn_call *call, const tn_output_source *source, uint32_t index,
                               uint32_t rank, const int64_t *extents, void *const *out_data) {
    const tn_host *host = call->host;
    if (!pthread_equal(source->thread, pthread_self()))
        return host->fail(call, TN_ERROR_STATE,
                          "memory for an output was asked for on another thread than that of the "
                          "callback");
    if (index >= call->output_count || !call->outputs[index] || !out_data || (rank && !extents))
        return host->fail(call, TN_ERROR_ARGUMENT,
                          "memory was asked for without a shape, a result or output %" PRIu32
                          " (of %" PRIu32 "), which may be absent",
                          index, call->output_count);
    const tn_output_state *state = &source->states[index];
    const char *name = call->outputs[index]->name;
    if (!state->is_unbounded)
        return host->fail(call, TN_ERROR_ARGUMENT,
                          "memory for output '%s' was asked for, which the shape rule has bounded: "
                          "its memory is there",
                          name);
    if (state->is_asked)
        return host->fail(call, TN_ERROR_STATE, "memory for output '%s' was asked for twice", name);
    return check_extents(call, state, name, rank, extents);
}

/* The shape's and the strides' arrays are the host's. */
static void write_shape(tn_tensor *output, const tn_tensor_storage *storage) {
    int64_t *strides = (int64_t *)(uintptr_t)output->strides;
    for (uint32_t axis = 0; axis < storage->shape.rank; axis++) {
        output->shape[axis] = storage->shape.extents[axis];
        strides[axis] = storage->strides[axis];
    }
}

static tn_status allocate_output(tn_call *call, uint32_t index, uint32_t rank,
                                 const int64_t *extents, void **out_data) TN_NOEXCEPT {
    if (!call || !call->host_private) return tn_fail(TN_ERROR_ARGUMENT, "a call is needed");
    tn_output_source *source = ((tn_call_scope *)call->host_private)->outputs;
    tn_tensor_storage storage;
    tn_shape shape;
    void *data = NULL;
    if (!source)
        return call->host->fail(call, TN_ERROR_STATE,
                                "memory for an output can be asked for in run and the reference "
                                "alone, of a node with an output without a bound");
    TN_TRY(check_request(call, source, index, rank, extents, out_data));
    tn_tensor *output = call->outputs[index];
    tn_output_state *state = &source->states[index];
    TN_TRY(tn_call_keep(call, tn_shape_set(&shape, rank, extents)));
    TN_TRY(tn_call_keep(call, tn_tensor_init(&storage, state->type, state->format, &shape)));
    const uint32_t rank_before = output->rank;
    output->rank = rank;
    const tn_status status =
        tn_call_keep(call, source->allocate(source, call, index, storage.tensor.bytes, &data));
    if (status != TN_OK) output->rank = rank_before;
    TN_TRY(status);
    write_shape(output, &storage);
    output->bytes = storage.tensor.bytes;
    output->data = data;
    memcpy(state->extents, shape.extents, rank * sizeof(*extents));
    state->rank = rank;
    state->is_asked = true;
    *out_data = data;
    return TN_OK;
}

const tn_output_memory *tn_output_memory_table(void) {
    static const tn_output_memory table = {.size = sizeof(table), .allocate = allocate_output};
    return &table;
}

/* ----------------------------------------------------------------------------------------------
 * afterwards */

static tn_status check_output(const tn_output_state *state, const tn_tensor *output) {
    char asked[TN_SHAPE_TEXT_BYTES], is[TN_SHAPE_TEXT_BYTES];
    if (!state->is_asked)
        return tn_fail(TN_ERROR_PLUGIN,
                       "output '%s' of shape %s has no bound, and no memory was had for it: "
                       "expected one call of allocate (" TN_OUTPUT_MEMORY ")",
                       output->name, print(state, asked));
    if (output->rank == state->rank &&
        memcmp(output->shape, state->extents, state->rank * sizeof(*output->shape)) == 0)
        return TN_OK;
    const uint32_t rank = output->rank < TN_MAX_RANK ? output->rank : TN_MAX_RANK;
    return tn_fail(TN_ERROR_PLUGIN, "output '%s' became %s after memory for %s was asked for",
                   output->name, tn_shape_print(rank, output->shape, is, sizeof(is)),
                   print(state, asked));
}

tn_status tn_outputs_end(const tn_output_source *source, tn_call *call, const char *callback_name) {
    tn_call_scope *scope = call->host_private;
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!source->states[i].is_unbounded) continue;
        const tn_status status = check_output(&source->states[i], call->outputs[i]);
        if (status == TN_OK) continue;
        scope->failed = status;
        return tn_call_failed(call, status, callback_name);
    }
    return TN_OK;
}
