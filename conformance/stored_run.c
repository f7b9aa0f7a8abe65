/* SPDX-License-Identifier: Apache-2.0 */
/* Calling a kernel directly; see stored.h. */
#include "stored.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "tensor/convert.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GUARD 256

/* One tensor as the kernel sees it: its memory is exactly as long as it must be, so that address
 * sanitizers see a read past its end; outputs lie between guards. */
typedef struct stored_memory {
    tn_tensor_storage storage;
    tn_quantization quantization;
    char *memory;
} stored_memory;

typedef struct stored_call {
    stored_memory inputs[TN_STORED_PORTS], outputs[16], operands[TN_STORED_STEPS];
    const tn_tensor *input_pointers[TN_STORED_PORTS], *operand_pointers[TN_STORED_STEPS];
    tn_tensor *output_pointers[16];
    const tn_epilogue *epilogue_pointers[TN_STORED_STEPS];
    tn_thread_pool pool;
    tn_prepared_kernel prepared;
    tn_open_kernel opened;
    char *workspace;
} stored_call;

static tn_status describe(const tn_stored_tensor *tensor, stored_memory *memory) {
    TN_TRY(tn_tensor_init(&memory->storage, tensor->type, tensor->format, tensor->shape));
    memory->storage.tensor.name = "";
    memory->quantization = (tn_quantization){
        .size = sizeof(memory->quantization), .count = 1, .scale = &tensor->scale};
    if (tensor->scale != 0) memory->storage.tensor.quantization = &memory->quantization;
    return TN_OK;
}

/* The same numbers, linear and of own_type. */
static tn_status describe_own(const tn_stored_tensor *tensor, void *data,
                              tn_tensor_storage *storage) {
    TN_TRY(tn_tensor_init(storage, tensor->own_type, TN_LINEAR, tensor->shape));
    storage->tensor.data = data;
    return TN_OK;
}

static tn_status fill_input(const tn_stored_tensor *tensor, stored_memory *memory) {
    tn_tensor *to = &memory->storage.tensor;
    tn_tensor_storage own;
    TN_TRY(describe(tensor, memory));
    TN_TRY(describe_own(tensor, (void *)(uintptr_t)tensor->data, &own));
    void *data = NULL;
    if (posix_memalign(&data, 64, (size_t)to->bytes + (to->bytes == 0)) != 0)
        return tn_fail_memory("an input");
    to->data = memory->memory = data;
    return tn_convert(&own.tensor, to, 0, tn_convert_items(&own.tensor, to));
}

static tn_status make_output(const tn_stored_tensor *tensor, stored_memory *memory) {
    TN_TRY(describe(tensor, memory));
    tn_tensor *to = &memory->storage.tensor;
    memory->memory = aligned_alloc(64, ((size_t)to->bytes + 2 * GUARD + 63) / 64 * 64);
    if (!memory->memory) return tn_fail_memory("an output");
    memset(memory->memory, 0xA5, (size_t)to->bytes + 2 * GUARD);
    to->data = memory->memory + GUARD;
    return TN_OK;
}

static tn_status describe_all(tn_stored_run *run, stored_call *s) {
    for (uint32_t i = 0; i < run->input_count; i++) {
        if (!run->inputs[i].is_given) continue;
        TN_TRY(fill_input(&run->inputs[i], &s->inputs[i]));
        s->input_pointers[i] = &s->inputs[i].storage.tensor;
    }
    for (uint32_t i = 0; i < run->operand_count; i++) {
        TN_TRY(fill_input(&run->operands[i], &s->operands[i]));
        s->operand_pointers[i] = &s->operands[i].storage.tensor;
    }
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (!run->outputs[i].is_given) continue;
        TN_TRY(make_output(&run->outputs[i], &s->outputs[i]));
        s->output_pointers[i] = &s->outputs[i].storage.tensor;
    }
    for (uint32_t i = 0; i < run->epilogue_count; i++)
        s->epilogue_pointers[i] = &run->epilogues[i];
    return TN_OK;
}

/* Takes the data of what is not constant away, or gives it. */
static void show_values(const tn_stored_run *run, stored_call *s, bool is_running) {
    for (uint32_t i = 0; i < run->input_count; i++) {
        if (run->inputs[i].is_given && !run->inputs[i].is_constant)
            s->inputs[i].storage.tensor.data = is_running ? s->inputs[i].memory : NULL;
    }
    for (uint32_t i = 0; i < run->operand_count; i++) {
        if (!run->operands[i].is_constant)
            s->operands[i].storage.tensor.data = is_running ? s->operands[i].memory : NULL;
    }
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (run->outputs[i].is_given)
            s->outputs[i].storage.tensor.data = is_running ? s->outputs[i].memory + GUARD : NULL;
    }
}

static tn_status check_guards(const tn_stored_run *run, const stored_call *s,
                              size_t workspace_bytes) {
    for (uint32_t i = 0; i < run->output_count; i++) {
        const stored_memory *output = &s->outputs[i];
        for (size_t k = 0; k < GUARD && run->outputs[i].is_given; k++) {
            const size_t behind = GUARD + (size_t)output->storage.tensor.bytes + k;
            if ((unsigned char)output->memory[k] != 0xA5 ||
                (unsigned char)output->memory[behind] != 0xA5)
                return tn_fail(TN_ERROR_PLUGIN, "output %u was written outside its bytes", i);
        }
    }
    for (size_t k = 0; k < GUARD; k++) {
        if ((unsigned char)s->workspace[workspace_bytes + k] != 0xFF)
            return tn_fail(TN_ERROR_PLUGIN, "the workspace was written past its %zu bytes",
                           workspace_bytes);
    }
    return TN_OK;
}

/* The second run must do as well as the first, with other rubbish in its workspace. */
static tn_status run_twice(const tn_stored_run *run, stored_call *s) {
    const size_t bytes = (size_t)s->opened.call.workspace_bytes;
    s->workspace = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    if (!s->workspace) return tn_fail_memory("a workspace");
    memset(s->workspace, 0xFF, bytes + GUARD);
    s->opened.call.workspace = s->workspace;
    for (int i = 0; i < 2; i++) {
        TN_TRY(tn_open_kernel_run(&s->opened));
        TN_TRY(check_guards(run, s, bytes));
    }
    return TN_OK;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static tn_status run_timed(tn_stored_run *run, stored_call *s) {
    const double end = now_ns() + run->timed_seconds * 1e9;
    run->best_ns = 0;
    if (run->timed_seconds <= 0) return TN_OK;
    for (double begin = now_ns(), now = begin; now < end; begin = now) {
        TN_TRY(tn_open_kernel_run(&s->opened));
        now = now_ns();
        if (run->best_ns == 0 || now - begin < run->best_ns) run->best_ns = now - begin;
    }
    return TN_OK;
}

static tn_status keep_results(tn_stored_run *run, stored_call *s) {
    for (uint32_t i = 0; i < run->output_count; i++) {
        tn_tensor_storage own;
        if (!run->outputs[i].is_given) continue;
        TN_TRY(describe_own(&run->outputs[i], NULL, &own));
        const tn_tensor *from = &s->outputs[i].storage.tensor;
        run->results[i] = aligned_alloc(64, ((size_t)own.tensor.bytes + 64) / 64 * 64);
        if (!run->results[i]) return tn_fail_memory("a result");
        own.tensor.data = run->results[i];
        TN_TRY(tn_convert(from, &own.tensor, 0, tn_convert_items(from, &own.tensor)));
    }
    return TN_OK;
}

static tn_status live(tn_stored_run *run, stored_call *s, bool *out_is_taken) {
    tn_call *call = &s->prepared.call;
    *call = (tn_call){.size = sizeof(*call),
                      .input_count = run->input_count,
                      .output_count = run->output_count,
                      .operand_count = run->operand_count,
                      .epilogue_count = run->epilogue_count,
                      .threads = run->threads,
                      .host = tn_runtime_host(run->runtime),
                      .op = run->node->entry->op,
                      .params = run->node->params,
                      .user = run->kernel ? run->kernel->user : run->node->entry->op->user,
                      .inputs = s->input_pointers,
                      .outputs = s->output_pointers,
                      .operands = s->operand_pointers,
                      .epilogues = s->epilogue_pointers,
                      .minimum_inputs = s->input_pointers,
                      .maximum_inputs = s->input_pointers,
                      .device = tn_runtime_cpu(run->runtime),
                      .node = "node",
                      .host_private = &s->prepared.scope};
    s->prepared.kernel = run->kernel;
    s->prepared.scope.runtime = run->runtime;
    s->prepared.scope.pool = &s->pool;
    s->prepared.scope.kernel = run->kernel ? run->kernel->name : NULL;
    s->prepared.scope.library = "";
    show_values(run, s, false);
    *out_is_taken = !run->kernel || !run->kernel->accepts || run->kernel->accepts(call) == TN_OK;
    if (!*out_is_taken) return TN_OK;
    s->prepared.scope.failed = TN_OK;
    TN_TRY(tn_packed_store_create(tn_runtime_allocator(run->runtime), &s->prepared.scope.packed));
    TN_TRY(tn_prepared_kernel_init(&s->prepared));
    TN_TRY(tn_open_kernel_init(&s->opened, &s->prepared));
    TN_TRY(tn_open_kernel_reshape(&s->opened));
    show_values(run, s, true);
    TN_TRY(run_twice(run, s));
    if (run->measure) return run->measure(run->measure_user, &s->opened);
    TN_TRY(run_timed(run, s));
    return keep_results(run, s);
}

tn_status tn_stored_do(tn_stored_run *run, bool *out_is_taken) {
    stored_call *s = calloc(1, sizeof(*s));
    if (!s) return tn_fail_memory("a kernel's call");
    tn_cpu_pool_init(&s->pool, run->threads);
    tn_status status = describe_all(run, s);
    if (status == TN_OK) status = live(run, s, out_is_taken);
    tn_open_kernel_deinit(&s->opened);
    tn_prepared_kernel_deinit(&s->prepared);
    tn_packed_store_destroy(s->prepared.scope.packed);
    for (uint32_t i = 0; i < TN_STORED_PORTS; i++)
        free(s->inputs[i].memory);
    for (uint32_t i = 0; i < 16; i++)
        free(s->outputs[i].memory);
    for (uint32_t i = 0; i < TN_STORED_STEPS; i++)
        free(s->operands[i].memory);
    free(s->workspace);
    free(s);
    if (status != TN_OK) tn_stored_free(run);
    return status;
}

void tn_stored_free(tn_stored_run *run) {
    for (uint32_t i = 0; i < 16; i++) {
        free(run->results[i]);
        run->results[i] = NULL;
    }
}
