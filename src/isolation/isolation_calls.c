/* SPDX-License-Identifier: Apache-2.0 */
/* The helper's buffers and calls: descriptors as the asker says, pointers into the shared memory.
 * Declared in isolation_serve.h. */
#include "base/status.h"
#include "helper/helper_process.h"
#include "isolation/isolation_serve.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static tn_status fail_request(const char *what) {
    return tn_fail(TN_ERROR_INTERNAL, "the helper process was asked for %s", what);
}

/* ----------------------------------------------------------------------------------------------
 * buffers */

static tn_status map_descriptor(int descriptor, uint64_t bytes, void **out_memory) {
    struct stat about;
    if (fstat(descriptor, &about) != 0 || bytes == 0 || (uint64_t)about.st_size < bytes)
        return fail_request("a buffer that is not there");
    void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) return tn_fail_memory("a shared buffer in the helper process");
    *out_memory = memory;
    return TN_OK;
}

tn_status tn_server_map(tn_server *server, uint32_t number) {
    const uint64_t bytes = server->page->value;
    int descriptor = -1;
    void *memory = NULL;
    if (!tn_isolation_receive(TN_HELPER_SOCKET, &descriptor))
        return fail_request("a buffer without a descriptor");
    tn_status status = TN_OK;
    if (number >= TN_ISOLATION_BUFFER_LIMIT ||
        (number < server->buffer_count && server->buffers[number].memory))
        status = fail_request("a buffer twice");
    if (status == TN_OK)
        status = tn_grow(server->allocator, (void **)&server->buffers, &server->buffer_capacity,
                         (size_t)number + 1, sizeof(*server->buffers));
    if (status == TN_OK) status = map_descriptor(descriptor, bytes, &memory);
    close(descriptor);
    TN_TRY(status);
    if (number >= server->buffer_count) server->buffer_count = (size_t)number + 1;
    server->buffers[number] = (tn_served_buffer){memory, (size_t)bytes};
    return TN_OK;
}

tn_status tn_server_unmap(tn_server *server, uint32_t number) {
    if (number >= server->buffer_count || !server->buffers[number].memory)
        return fail_request("the end of a buffer that is not there");
    munmap(server->buffers[number].memory, server->buffers[number].bytes);
    server->buffers[number] = (tn_served_buffer){0};
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * tensors */

static tn_status find_data(const tn_server *server, const tn_isolation_address *address,
                           uint64_t bytes, void **out_data) {
    static _Alignas(64) const char nothing[64];
    const tn_graph *graph = server->engine->graph;
    *out_data = NULL;
    switch (address->kind) {
    case TN_ISOLATION_NULL:
        return TN_OK;
    case TN_ISOLATION_NOTHING:
        *out_data = (void *)(uintptr_t)nothing;
        return bytes == 0 ? TN_OK : fail_request("a tensor without memory");
    case TN_ISOLATION_CONSTANT:
        if (address->index >= graph->tensor_count || !graph->tensors[address->index].is_constant)
            return fail_request("a constant that is none");
        *out_data = (void *)(uintptr_t)graph->tensors[address->index].data;
        return TN_OK;
    default:
        break;
    }
    if (address->index >= server->buffer_count || !server->buffers[address->index].memory)
        return fail_request("a tensor in a buffer that is not there");
    const tn_served_buffer *buffer = &server->buffers[address->index];
    if (address->offset > buffer->bytes || bytes > buffer->bytes - address->offset)
        return fail_request("a tensor beyond its buffer");
    *out_data = buffer->memory + address->offset;
    return TN_OK;
}

static tn_status read_tensor(const tn_server *server, const tn_isolation_tensor *said,
                             tn_tensor_storage *out_storage) {
    const tn_engine *engine = server->engine;
    tn_shape shape;
    if (said->value >= engine->program->value_count) return fail_request("a value beyond the plan");
    const tn_program_value *value = &engine->program->values[said->value];
    const tn_graph_tensor *tensor = &engine->graph->tensors[value->tensor];
    TN_TRY(tn_shape_set(&shape, said->rank, said->shape));
    TN_TRY(tn_tensor_init(out_storage, said->type, said->format, &shape));
    out_storage->tensor.name = tensor->name;
    out_storage->tensor.quantization = said->scale == TN_ISOLATION_VALUE_SCALE ? value->quantization
                                       : said->scale == TN_ISOLATION_TENSOR_SCALE
                                           ? tensor->quantization
                                           : NULL;
    return find_data(server, &said->address, out_storage->tensor.bytes, &out_storage->tensor.data);
}

static tn_status read_tensors(const tn_server *server, const unsigned char **inout_at,
                              uint32_t count, tn_arena *arena, tn_tensor ***out_tensors) {
    tn_tensor **tensors = tn_arena_allocate(arena, count + 1u, sizeof(*tensors));
    tn_tensor_storage *storages = tn_arena_allocate(arena, count + 1u, sizeof(*storages));
    if (!tensors || !storages) return tn_fail_memory("a call in the helper process");
    for (uint32_t i = 0; i < count; i++) {
        tn_isolation_tensor said;
        memcpy(&said, *inout_at, sizeof(said));
        *inout_at += sizeof(said);
        if (!said.is_given) continue;
        TN_TRY(read_tensor(server, &said, &storages[i]));
        tensors[i] = &storages[i].tensor;
    }
    *out_tensors = tensors;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * calls */

static bool is_sized_by_run(const tn_server *server, uint32_t step, uint32_t output_count) {
    const tn_program_step *program = &server->engine->program->steps[step];
    const tn_operator *op = server->engine->graph->nodes[program->node].entry->op;
    for (uint32_t i = 0; i < output_count; i++) {
        const tn_port *port = tn_graph_output_port(op, i);
        if (port && (port->flags & TN_PORT_SIZED_BY_RUN)) return true;
    }
    return false;
}

static tn_status read_call(tn_server *server, const tn_isolation_call *said, tn_served_call *made) {
    tn_open_kernel *kernel = &server->kernels[said->step];
    const unsigned char *at = server->page->payload + sizeof(*said);
    tn_tensor **inputs = NULL, **operands = NULL, **outputs = NULL;
    made->step = said->step;
    made->call = kernel->call;
    made->call.host_private = &kernel->scope;
    TN_TRY(read_tensors(server, &at, made->call.input_count, made->arena, &inputs));
    TN_TRY(read_tensors(server, &at, made->call.operand_count, made->arena, &operands));
    TN_TRY(read_tensors(server, &at, made->call.output_count, made->arena, &outputs));
    made->call.inputs = (const tn_tensor *const *)inputs;
    made->call.operands = (const tn_tensor *const *)operands;
    made->call.outputs = outputs;
    made->call.workspace_bytes = said->workspace_bytes;
    made->is_sized_by_run = is_sized_by_run(server, said->step, made->call.output_count);
    return find_data(server, &said->workspace, said->workspace_bytes, &made->call.workspace);
}

/* A call that is defined again gets new addresses. */
static void drop(tn_served_call *call) {
    tn_arena_destroy(call->arena);
    *call = (tn_served_call){0};
}

tn_status tn_server_define(tn_server *server, uint32_t number) {
    tn_isolation_call said;
    memcpy(&said, server->page->payload, sizeof(said));
    const tn_engine *engine = server->engine;
    if (said.step >= engine->program->step_count || !server->kernels[said.step].is_open)
        return fail_request("a kernel that is not open");
    const tn_call *kernel = &server->kernels[said.step].call;
    if (said.tensor_count != kernel->input_count + kernel->operand_count + kernel->output_count ||
        said.tensor_count > (TN_ISOLATION_PAYLOAD - sizeof(said)) / sizeof(tn_isolation_tensor))
        return fail_request("a call with other tensors than the plan's");
    TN_TRY(tn_grow(server->allocator, (void **)&server->calls, &server->call_capacity,
                   (size_t)number + 1, sizeof(*server->calls)));
    if (number >= server->call_count) server->call_count = (size_t)number + 1;
    tn_served_call *made = &server->calls[number];
    drop(made);
    TN_TRY(tn_arena_create(server->allocator, &made->arena));
    const tn_status status = read_call(server, &said, made);
    if (status != TN_OK) drop(made);
    return status;
}

tn_status tn_server_forget(tn_server *server, uint32_t number) {
    if (number >= server->call_count || !server->calls[number].arena)
        return fail_request("the end of a call that is not there");
    drop(&server->calls[number]);
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * callbacks */

static tn_status find_call(const tn_server *server, uint32_t number, tn_served_call **out_call) {
    if (number >= server->call_count || !server->calls[number].arena)
        return fail_request("a call that is not defined");
    *out_call = &server->calls[number];
    return TN_OK;
}

tn_status tn_server_reshape(tn_server *server, uint32_t number, tn_status *out_failed) {
    tn_served_call *served = NULL;
    *out_failed = find_call(server, number, &served);
    TN_TRY(*out_failed);
    tn_open_kernel *opened = &server->kernels[served->step];
    const tn_kernel *kernel = opened->prepared->kernel;
    const uint64_t planned = served->call.workspace_bytes;
    served->call.workspace_bytes = 0;
    opened->scope.failed = TN_OK;
    tn_server_note(server, TN_ISOLATION_IN_RESHAPE, served->step);
    const tn_status status = kernel && kernel->reshape ? kernel->reshape(&served->call) : TN_OK;
    *out_failed = status == TN_OK ? TN_OK : opened->scope.failed;
    server->page->value = served->call.workspace_bytes;
    served->call.workspace_bytes = planned ? planned : server->page->value;
    return status;
}

static tn_status call_back(tn_server *server, tn_served_call *served, tn_status *out_failed) {
    tn_open_kernel *opened = &server->kernels[served->step];
    const tn_program_step *step = &server->engine->program->steps[served->step];
    const tn_kernel *kernel = opened->prepared->kernel;
    const tn_callback run = kernel ? kernel->run : served->call.op->reference;
    opened->scope.failed = TN_OK;
    if (server->checked) {
        tn_checked_enter(server->checked);
        const tn_status checked =
            tn_checked_call(server->checked, &served->call, run, step->inputs, step->operands);
        tn_checked_leave(server->checked);
        *out_failed = checked;
        return checked;
    }
    const tn_status status = run(&served->call);
    *out_failed = status == TN_OK ? TN_OK : opened->scope.failed;
    return status;
}

tn_status tn_server_run(tn_server *server, uint32_t number, tn_status *out_failed) {
    tn_served_call *served = NULL;
    *out_failed = find_call(server, number, &served);
    TN_TRY(*out_failed);
    tn_server_note(server, TN_ISOLATION_IN_RUN, served->step);
    TN_TRY(call_back(server, served, out_failed));
    for (uint32_t i = 0; served->is_sized_by_run && i < served->call.output_count; i++) {
        int64_t shape[TN_MAX_RANK] = {0};
        const tn_tensor *output = served->call.outputs[i];
        if (!output || output->rank > TN_MAX_RANK || (i + 1) * sizeof(shape) > TN_ISOLATION_PAYLOAD)
            continue;
        memcpy(shape, output->shape, output->rank * sizeof(*shape));
        memcpy(server->page->payload + i * sizeof(shape), shape, sizeof(shape));
    }
    return TN_OK;
}
