/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers, and calls whose callbacks run in the helper; see isolation.h. */
#include "isolation/isolation.h"
#include "base/status.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * buffers */

static tn_status find_number(tn_isolation *isolation, uint32_t *out_number) {
    size_t number = 0;
    while (number < isolation->buffer_count && isolation->buffers[number].memory)
        number++;
    if (number >= TN_ISOLATION_BUFFER_LIMIT)
        return tn_fail(TN_ERROR_MEMORY, "more shared buffers than a helper process takes");
    TN_TRY(tn_grow(isolation->allocator, (void **)&isolation->buffers, &isolation->buffer_capacity,
                   number + 1, sizeof(*isolation->buffers)));
    if (number == isolation->buffer_count) isolation->buffer_count++;
    *out_number = (uint32_t)number;
    return TN_OK;
}

static tn_status hand_over(tn_isolation *isolation, uint32_t number, int descriptor) {
    isolation->page->value = isolation->buffers[number].bytes;
    if (!isolation->is_lost && !tn_isolation_send(isolation->process.socket, descriptor))
        return tn_fail(TN_ERROR_IO, "the helper process takes no more memory");
    TN_TRY(tn_isolation_request(isolation, TN_ISOLATION_MAP, number, NULL));
    return tn_isolation_answered(isolation);
}

tn_status tn_isolation_allocate(tn_isolation *isolation, size_t bytes, void **out_memory) {
    int descriptor = -1;
    uint32_t number = 0;
    void *memory = NULL;
    bytes = bytes ? bytes : 64;
    TN_TRY(find_number(isolation, &number));
    TN_TRY(tn_isolation_share(bytes, &descriptor, &memory));
    isolation->statistics->allocations++;
    isolation->buffers[number] = (tn_isolation_buffer){memory, bytes};
    const tn_status status = hand_over(isolation, number, descriptor);
    close(descriptor);
    if (status != TN_OK) {
        munmap(memory, bytes);
        isolation->buffers[number] = (tn_isolation_buffer){0};
        return status;
    }
    *out_memory = memory;
    return TN_OK;
}

void tn_isolation_free(tn_isolation *isolation, void *memory) {
    tn_error_copy before;
    for (uint32_t i = 0; memory && i < isolation->buffer_count; i++) {
        tn_isolation_buffer *buffer = &isolation->buffers[i];
        if (buffer->memory != memory) continue;
        tn_error_save(&before);
        (void)tn_isolation_request(isolation, TN_ISOLATION_UNMAP, i, NULL);
        tn_error_restore(&before);
        munmap(buffer->memory, buffer->bytes);
        *buffer = (tn_isolation_buffer){0};
        return;
    }
}

/* ----------------------------------------------------------------------------------------------
 * addresses */

static bool find_buffer(const tn_isolation *isolation, const void *data,
                        tn_isolation_address *out_address) {
    const char *at = data;
    for (uint32_t i = 0; i < isolation->buffer_count; i++) {
        const tn_isolation_buffer *buffer = &isolation->buffers[i];
        if (!buffer->memory || at < buffer->memory || at >= buffer->memory + buffer->bytes)
            continue;
        *out_address =
            (tn_isolation_address){TN_ISOLATION_BUFFER, i, (uint64_t)(at - buffer->memory)};
        return true;
    }
    return false;
}

static bool find_constant(const tn_engine *engine, const void *data,
                          tn_isolation_address *out_address) {
    for (size_t t = 0; t < engine->graph->tensor_count; t++) {
        if (!engine->graph->tensors[t].is_constant || engine->graph->tensors[t].data != data)
            continue;
        *out_address = (tn_isolation_address){TN_ISOLATION_CONSTANT, (uint32_t)t, 0};
        return true;
    }
    return false;
}

/* Where the helper finds a tensor's data. What lies in neither is copied behind the extras' first
 * *inout_used bytes; without memory (null) it is counted only. */
static void find_address(const tn_isolated_call *isolated, const tn_tensor *tensor,
                         size_t *inout_used, char *extras, tn_isolation_address *out_address) {
    const tn_isolation *isolation = isolated->isolation;
    *out_address = (tn_isolation_address){TN_ISOLATION_NULL, 0, 0};
    if (!tensor->data) return;
    if (find_buffer(isolation, tensor->data, out_address)) return;
    if (tensor->bytes == 0) {
        out_address->kind = TN_ISOLATION_NOTHING;
        return;
    }
    if (find_constant(isolation->engine, tensor->data, out_address)) return;
    const size_t at = *inout_used, bytes = (size_t)tensor->bytes;
    *inout_used += (bytes + 63) / 64 * 64;
    if (!extras) return;
    memcpy(extras + at, tensor->data, bytes);
    (void)find_buffer(isolation, extras + at, out_address);
}

static uint32_t find_scale(const tn_engine *engine, uint32_t value, const tn_tensor *tensor) {
    const tn_program_value *item = &engine->program->values[value];
    if (!tensor->quantization) return TN_ISOLATION_NO_SCALE;
    return tensor->quantization == item->quantization ? TN_ISOLATION_VALUE_SCALE
                                                      : TN_ISOLATION_TENSOR_SCALE;
}

/* ----------------------------------------------------------------------------------------------
 * calls */

static tn_status put_tensors(const tn_isolated_call *isolated, const tn_tensor *const *tensors,
                             uint32_t count, const uint32_t *values, size_t *inout_used,
                             char *extras) {
    for (uint32_t i = 0; i < count; i++) {
        tn_isolation_tensor put = {0};
        const tn_tensor *tensor = tensors[i];
        if (tensor) {
            put = (tn_isolation_tensor){.is_given = 1,
                                        .value = values[i],
                                        .type = tensor->type,
                                        .format = tensor->format,
                                        .rank = tensor->rank};
            put.scale = find_scale(isolated->isolation->engine, values[i], tensor);
            for (uint32_t axis = 0; axis < tensor->rank; axis++)
                put.shape[axis] = tensor->shape[axis];
            find_address(isolated, tensor, inout_used, extras, &put.address);
        }
        TN_TRY(tn_isolation_put(isolated->isolation, &put, sizeof(put)));
    }
    return TN_OK;
}

static size_t count_extras(const tn_isolated_call *isolated, const tn_tensor *const *tensors,
                           uint32_t count) {
    tn_isolation_address address;
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        if (tensors[i]) find_address(isolated, tensors[i], &used, NULL, &address);
    return used;
}

static tn_status reserve_extras(tn_isolated_call *isolated, const tn_call *call) {
    const size_t bytes = count_extras(isolated, call->inputs, call->input_count) +
                         count_extras(isolated, call->operands, call->operand_count);
    if (bytes <= isolated->extras_bytes) return TN_OK;
    tn_isolation_free(isolated->isolation, isolated->extras);
    isolated->extras = NULL;
    isolated->extras_bytes = 0;
    TN_TRY(tn_isolation_allocate(isolated->isolation, bytes, &isolated->extras));
    isolated->extras_bytes = bytes;
    return TN_OK;
}

void tn_isolated_call_init(tn_isolation *isolation, uint32_t step, tn_isolated_call *out_isolated,
                           tn_call *call) {
    *out_isolated =
        (tn_isolated_call){.isolation = isolation, .number = isolation->call_count++, .step = step};
    call->user = out_isolated;
}

tn_status tn_isolated_call_define(tn_call *call) {
    tn_isolated_call *isolated = call->user;
    tn_isolation *isolation = isolated->isolation;
    const tn_program_step *step = &isolation->engine->program->steps[isolated->step];
    tn_isolation_call put = {.step = isolated->step,
                             .tensor_count =
                                 call->input_count + call->operand_count + call->output_count,
                             .workspace_bytes = call->workspace_bytes};
    size_t used = 0;
    if (call->workspace) (void)find_buffer(isolation, call->workspace, &put.workspace);
    TN_TRY(reserve_extras(isolated, call));
    isolation->used = 0;
    TN_TRY(tn_isolation_put(isolation, &put, sizeof(put)));
    TN_TRY(put_tensors(isolated, call->inputs, call->input_count, step->inputs, &used,
                       isolated->extras));
    TN_TRY(put_tensors(isolated, call->operands, call->operand_count, step->operands, &used,
                       isolated->extras));
    TN_TRY(put_tensors(isolated, (const tn_tensor *const *)call->outputs, call->output_count,
                       step->outputs, &used, NULL));
    TN_TRY(tn_isolation_request(isolation, TN_ISOLATION_DEFINE, isolated->number, NULL));
    isolated->is_defined = true;
    return tn_isolation_answered(isolation);
}

void tn_isolated_call_forget(tn_isolated_call *isolated) {
    tn_error_copy before;
    if (!isolated->is_defined) return;
    tn_error_save(&before);
    (void)tn_isolation_request(isolated->isolation, TN_ISOLATION_FORGET, isolated->number, NULL);
    tn_error_restore(&before);
    isolated->is_defined = false;
    tn_isolation_free(isolated->isolation, isolated->extras);
    isolated->extras = NULL;
    isolated->extras_bytes = 0;
}

/* ----------------------------------------------------------------------------------------------
 * callbacks */

/* A failure that happened in between becomes the callback's own. */
static tn_status own_failure(const tn_call *call, tn_status status) {
    if (status != TN_OK) ((tn_call_scope *)call->host_private)->failed = status;
    return status;
}

/* What the helper's callback answered, as if it had been called here. */
static tn_status callback_answer(const tn_call *call) {
    const tn_isolated_call *isolated = call->user;
    const tn_isolation_page *page = isolated->isolation->page;
    const tn_status status = page->status;
    if (status == TN_OK) return TN_OK;
    if (page->failed != TN_OK) return own_failure(call, tn_isolation_answered(isolated->isolation));
    return status;
}

tn_status tn_isolated_reshape(tn_call *call) TN_NOEXCEPT {
    const tn_isolated_call *isolated = call->user;
    tn_isolation *isolation = isolated->isolation;
    if (!isolated->is_defined) TN_TRY(own_failure(call, tn_isolated_call_define(call)));
    TN_TRY(tn_isolation_request(isolation, TN_ISOLATION_RESHAPE, isolated->number, call));
    call->workspace_bytes = isolation->page->value;
    return callback_answer(call);
}

/* Outputs sized by their run: the shapes that it wrote, to be checked by whoever reads them. */
static void take_shapes(const tn_call *call, const tn_isolation *isolation) {
    int64_t shape[TN_MAX_RANK];
    for (uint32_t i = 0; i < call->output_count; i++) {
        if (!call->outputs[i]) continue;
        memcpy(shape, isolation->page->payload + i * sizeof(shape), sizeof(shape));
        memcpy(call->outputs[i]->shape, shape, call->outputs[i]->rank * sizeof(*shape));
    }
}

tn_status tn_isolated_run(tn_call *call) TN_NOEXCEPT {
    const tn_isolated_call *isolated = call->user;
    tn_isolation *isolation = isolated->isolation;
    TN_TRY(tn_isolation_request(isolation, TN_ISOLATION_RUN, isolated->number, call));
    isolation->statistics->isolated_calls++;
    TN_TRY(callback_answer(call));
    if (isolation->engine->plan.is_sized_by_run) take_shapes(call, isolation);
    return TN_OK;
}
