/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what bodies compute to the outputs of their node; see control.h. */
#include "control.h"

#include <string.h>

tn_status tn_control_reserve(tn_call *call, tn_control_buffer *buffer, uint64_t bytes) {
    const tn_host *host = call->host;
    if (buffer->memory && buffer->bytes >= bytes) return TN_OK;
    uint64_t more = bytes < 64 ? 64 : bytes;
    if (buffer->bytes <= UINT64_MAX / 2 && more < 2 * buffer->bytes) more = 2 * buffer->bytes;
    unsigned char *grown = host->allocate(host, more, 64);
    if (!grown) return host->fail(call, TN_ERROR_MEMORY, "no memory for what is stacked");
    if (buffer->used > 0) memcpy(grown, buffer->memory, buffer->used);
    host->deallocate(host, buffer->memory);
    buffer->memory = grown;
    buffer->bytes = more;
    return TN_OK;
}

static tn_control_state *make_state(tn_call *call) {
    tn_control_state *state = call->host->allocate(call->host, sizeof(*state), 64);
    if (state) memset(state, 0, sizeof(*state));
    return state;
}

static void free_state(const tn_host *host, tn_control_state *state) {
    for (uint32_t i = 0; state && i < TN_BODY_MAX_PORTS; i++) {
        host->deallocate(host, state->inputs[i].memory);
        host->deallocate(host, state->outputs[i].memory);
    }
    host->deallocate(host, state);
}

tn_status tn_control_open(tn_call *call) {
    call->context = make_state(call);
    return call->context ? TN_OK : TN_ERROR_MEMORY;
}

void tn_control_close(tn_call *call) {
    free_state(call->host, call->context);
    call->context = NULL;
}

tn_status tn_control_with_state(tn_call *call,
                                tn_status (*run)(tn_call *call, tn_control_state *state)) {
    tn_control_state *state = make_state(call);
    if (!state) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a state");
    const tn_status status = run(call, state);
    free_state(call->host, state);
    return status;
}

static tn_status check_shape(tn_call *call, uint32_t output, uint32_t rank,
                             const int64_t *extents) {
    char is[TN_INFER_SHAPE_TEXT_BYTES], was[TN_INFER_SHAPE_TEXT_BYTES];
    const tn_tensor *to = call->outputs[output];
    if (to->rank == rank && (rank == 0 || memcmp(to->shape, extents, rank * sizeof(*extents)) == 0))
        return TN_OK;
    return call->host->fail(call, TN_ERROR_SHAPE, "output %u became %s: %s was expected", output,
                            tn_infer_shape_text(rank, extents, is, sizeof(is)),
                            tn_infer_shape_text(to->rank, to->shape, was, sizeof(was)));
}

tn_status tn_control_memory(tn_call *call, uint32_t output, uint32_t rank, const int64_t *extents,
                            void **out_data) {
    tn_tensor *to = call->outputs[output];
    if (to->data) {
        TN_TRY(check_shape(call, output, rank, extents));
        *out_data = to->data;
        return TN_OK;
    }
    const tn_output_memory *memory =
        (const tn_output_memory *)call->host->extension(call->host, TN_OUTPUT_MEMORY);
    return memory->allocate(call, output, rank, extents, out_data);
}

static tn_status hand_out_items(tn_call *call, tn_tensor *output, const tn_tensor *made) {
    const tn_sequence_service *lists =
        (const tn_sequence_service *)call->host->extension(call->host, TN_SEQUENCES);
    uint64_t length = 0;
    bool has_element = false;
    if (made->kind == TN_KIND_OPTIONAL_SEQUENCE)
        TN_TRY(lists->has_element(call, made, &has_element));
    if (has_element) TN_TRY(lists->set_element(call, output));
    TN_TRY(lists->length(call, made, &length));
    for (uint64_t i = 0; i < length; i++)
        TN_TRY(lists->append_item(call, output, made, i));
    return TN_OK;
}

tn_status tn_control_hand_out(tn_call *call, uint32_t output, const tn_tensor *made) {
    void *data = NULL;
    if (output >= call->output_count || !call->outputs[output]) return TN_OK;
    if (made->kind) return hand_out_items(call, call->outputs[output], made);
    TN_TRY(tn_control_memory(call, output, made->rank, made->shape, &data));
    if (made->type == TN_STRING) return tn_strings_append_all(call, output, made, data);
    if (made->bytes > 0 && data != made->data) memcpy(data, made->data, made->bytes);
    return TN_OK;
}
