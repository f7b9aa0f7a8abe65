/* SPDX-License-Identifier: Apache-2.0 */
/* Calling a kernel directly; see stored.h. */
#include "cases/stored/stored.h"
#include "base/clock.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "cases/device_timing.h"
#include "plugin/fields/kernel_fields.h"
#include "plugin/outputs.h"
#include "cases/stored/stored_memory.h"
#include "tensor/convert.h"

#include <tenon/plugin/device.h>

#include <stdlib.h>
#include <string.h>

/* The lives of a kernel's tensors are stored_memory.h's. */
typedef struct stored_call {
    tn_stored_memory inputs[TN_STORED_PORTS], outputs[16], operands[TN_STORED_STEPS], workspace;
    const tn_tensor *input_pointers[TN_STORED_PORTS], *operand_pointers[TN_STORED_STEPS];
    tn_tensor *output_pointers[16];
    const tn_step *step_pointers[TN_STORED_STEPS];
    tn_step steps[TN_STORED_STEPS];
    tn_chain_buffer buffers[TN_STORED_STEPS];
    tn_thread_pool pool;
    tn_prepared_kernel prepared;
    tn_open_kernel opened;
    tn_arena *arena; /* of the kernel's own parameters */
    const void *kernel_params;
    uint32_t unbounded[16]; /* by output: axes whose extents nothing bounds (bit i: axis i) */
    tn_output_source source;
    tn_output_state states[16];
} stored_call;

/* Whether a device's kernel finds this input in the host's memory, or sees its shape alone. */
static void read_port(const tn_stored_run *run, uint32_t input, tn_stored_memory *memory) {
    const tn_operator *op = run->node->entry->op;
    if (op->input_count == 0) return;
    const tn_port *port = &op->inputs[input < op->input_count ? input : op->input_count - 1];
    memory->is_on_host = (port->flags & TN_PORT_VALUE_NEEDED) != 0;
    memory->is_shape_only = run->device && (port->flags & TN_PORT_SHAPE_ONLY);
}

static tn_status describe_all(tn_stored_run *run, stored_call *s) {
    const tn_stored_target target = {run->device, run->stream};
    for (uint32_t i = 0; i < run->input_count; i++) {
        if (!run->inputs[i].is_given) continue;
        s->inputs[i].target = target;
        read_port(run, i, &s->inputs[i]);
        TN_TRY(tn_stored_memory_fill(&s->inputs[i], &run->inputs[i]));
        s->input_pointers[i] = &s->inputs[i].storage.tensor;
    }
    for (uint32_t i = 0; i < run->operand_count; i++) {
        s->operands[i].target = target;
        TN_TRY(tn_stored_memory_fill(&s->operands[i], &run->operands[i]));
        s->operand_pointers[i] = &s->operands[i].storage.tensor;
    }
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (!run->outputs[i].is_given) continue;
        s->outputs[i].target = target;
        TN_TRY(tn_stored_memory_poison(&s->outputs[i], &run->outputs[i]));
        s->output_pointers[i] = &s->outputs[i].storage.tensor;
    }
    for (uint32_t i = 0; i < run->step_count; i++) {
        tn_chain_publish(&run->steps[i], i, NULL, &s->buffers[i], &s->steps[i]);
        s->step_pointers[i] = &s->steps[i];
    }
    return TN_OK;
}

/* Takes the data of what is not constant away, or gives it. On a device constants are host memory
 * until the kernel runs. */
static void show_values(const tn_stored_run *run, stored_call *s, bool is_running) {
    for (uint32_t i = 0; i < run->input_count; i++) {
        if (run->inputs[i].is_given)
            tn_stored_memory_show(&s->inputs[i], is_running, run->inputs[i].is_constant);
    }
    for (uint32_t i = 0; i < run->operand_count; i++)
        tn_stored_memory_show(&s->operands[i], is_running, run->operands[i].is_constant);
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (run->outputs[i].is_given) tn_stored_memory_show(&s->outputs[i], is_running, false);
    }
}

/* ----------------------------------------------------------------------------------------------
 * outputs without a bound: their memory is there, and handed out when it is asked for */

static tn_status allocate_output(tn_output_source *source, tn_call *call, uint32_t index,
                                 uint64_t bytes, void **out_data) {
    stored_call *s = source->user;
    (void)call;
    if (bytes != s->outputs[index].bytes)
        return tn_fail(TN_ERROR_PLUGIN,
                       "%llu bytes were asked for output %u; the reference has %zu",
                       (unsigned long long)bytes, index, s->outputs[index].bytes);
    tn_stored_memory_show(&s->outputs[index], true, false);
    *out_data = s->outputs[index].storage.tensor.data;
    s->outputs[index].storage.tensor.data = NULL;
    return TN_OK;
}

/* What the shape rule says of the outputs that a run sizes. */
static tn_status find_unbounded(const tn_stored_run *run, stored_call *s) {
    const tn_operator *op = run->node->entry->op;
    tn_tensor_storage said[16];
    tn_tensor *outputs[16] = {0};
    tn_call call = s->prepared.call;
    bool is_sized = false;
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (!run->outputs[i].is_given) continue;
        tn_tensor_init_open(&said[i], run->outputs[i].own_type, TN_MAX_RANK);
        outputs[i] = &said[i].tensor;
        is_sized |= (tn_graph_output_port(op, i)->flags & TN_PORT_SIZED_BY_RUN) != 0;
    }
    if (!is_sized) return TN_OK;
    call.outputs = outputs;
    call.user = op->user;
    TN_TRY(tn_call_invoke(&call, op->infer, "infer"));
    for (uint32_t i = 0; i < run->output_count; i++)
        for (uint32_t axis = 0; outputs[i] && axis < outputs[i]->rank; axis++)
            if (outputs[i]->shape[axis] == TN_UNBOUNDED) s->unbounded[i] |= 1u << axis;
    return TN_OK;
}

static void open_outputs(const tn_stored_run *run, stored_call *s) {
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (!s->unbounded[i]) continue;
        tn_tensor_unbound(&s->outputs[i].storage, s->unbounded[i]);
        s->outputs[i].storage.tensor.data = NULL;
    }
}

static tn_status run_kernel(const tn_stored_run *run, stored_call *s) {
    open_outputs(run, s);
    s->source = (tn_output_source){.allocate = allocate_output, .user = s, .states = s->states};
    const bool is_any = tn_outputs_begin(&s->source, &s->opened.call);
    s->opened.scope.outputs = is_any ? &s->source : NULL;
    const tn_status status = tn_open_kernel_run(&s->opened);
    s->opened.scope.outputs = NULL;
    return status == TN_OK && is_any ? tn_outputs_end(&s->source, &s->opened.call, "run") : status;
}

static tn_status wait_for(const tn_stored_run *run) {
    if (!run->device || run->device->stream_wait(run->device, run->stream) == TN_OK) return TN_OK;
    return tn_fail(TN_ERROR_DEVICE, "%s", run->device->last_error(run->device));
}

static tn_status check_guards(const tn_stored_run *run, stored_call *s) {
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (!run->outputs[i].is_given) continue;
        TN_TRY(tn_stored_memory_fetch(&s->outputs[i]));
        if (!tn_stored_memory_is_guarded(&s->outputs[i]))
            return tn_fail(TN_ERROR_PLUGIN, "output %u was written outside its bytes", i);
    }
    for (uint32_t i = 0; i < run->input_count && run->device; i++) {
        if (run->inputs[i].is_given && !tn_stored_memory_is_unchanged(&s->inputs[i]))
            return tn_fail(TN_ERROR_PLUGIN, "input %u was changed", i);
    }
    TN_TRY(tn_stored_memory_fetch(&s->workspace));
    if (!tn_stored_memory_is_guarded(&s->workspace))
        return tn_fail(TN_ERROR_PLUGIN, "the workspace was written outside its %zu bytes",
                       (size_t)s->opened.call.workspace_bytes);
    return TN_OK;
}

/* The second run must do as well as the first, with other rubbish in its workspace. */
static tn_status run_twice(const tn_stored_run *run, stored_call *s) {
    s->workspace.target = (tn_stored_target){run->device, run->stream};
    TN_TRY(tn_stored_memory_rubbish(&s->workspace, (size_t)s->opened.call.workspace_bytes));
    tn_stored_memory_show(&s->workspace, true, false);
    s->opened.call.workspace = s->workspace.storage.tensor.data;
    for (int i = 0; i < 2; i++) {
        TN_TRY(run_kernel(run, s));
        TN_TRY(wait_for(run));
        TN_TRY(check_guards(run, s));
    }
    return TN_OK;
}

enum { REPEATS = 10 }; /* runs between two events */

static tn_status enqueue(void *user) {
    return tn_open_kernel_run(user);
}

/* Between two events; all caches are warm. */
static tn_status time_on_device(tn_stored_run *run, stored_call *s) {
    tn_device_timer timer = {.device = run->device,
                             .stream = run->stream,
                             .enqueue = enqueue,
                             .user = &s->opened,
                             .repeats = REPEATS};
    tn_status status = tn_device_timer_open(&timer, run->kernel->traits & TN_KERNEL_CAPTURABLE);
    const double end = (double)tn_now_ns() + run->timed_seconds * 1e9;
    for (int round = 0; status == TN_OK && (round < 4 || (double)tn_now_ns() < end); round++) {
        double ns = 0;
        status = tn_device_timer_sample(&timer, &ns);
        if (status == TN_OK && round > 0 && (run->best_ns == 0 || ns < run->best_ns))
            run->best_ns = ns;
    }
    tn_device_timer_close(&timer);
    return status;
}

static tn_status run_timed(tn_stored_run *run, stored_call *s) {
    run->best_ns = 0;
    for (uint32_t i = 0; i < run->output_count; i++)
        if (s->unbounded[i]) return TN_OK; /* one run is not like another */
    if (run->timed_seconds > 0 && run->device) return time_on_device(run, s);
    const double end = (double)tn_now_ns() + run->timed_seconds * 1e9;
    run->best_ns = 0;
    if (run->timed_seconds <= 0) return TN_OK;
    for (double begin = (double)tn_now_ns(), now = begin; now < end; begin = now) {
        TN_TRY(tn_open_kernel_run(&s->opened));
        now = (double)tn_now_ns();
        if (run->best_ns == 0 || now - begin < run->best_ns) run->best_ns = now - begin;
    }
    return TN_OK;
}

static tn_status keep_results(tn_stored_run *run, stored_call *s) {
    for (uint32_t i = 0; i < run->output_count; i++) {
        tn_tensor_storage own;
        if (!run->outputs[i].is_given) continue;
        TN_TRY(tn_stored_memory_describe_own(&run->outputs[i], NULL, &own));
        tn_tensor *from = &s->outputs[i].storage.tensor;
        from->data = tn_stored_memory_host(&s->outputs[i]);
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
                      .step_count = run->step_count,
                      .threads = run->threads,
                      .host = tn_runtime_host(run->runtime),
                      .op = run->node->entry->op,
                      .params = run->node->params,
                      .user = run->kernel ? run->kernel->user : run->node->entry->op->user,
                      .inputs = s->input_pointers,
                      .outputs = s->output_pointers,
                      .operands = s->operand_pointers,
                      .steps = s->step_pointers,
                      .minimum_inputs = s->input_pointers,
                      .maximum_inputs = s->input_pointers,
                      .device = run->device ? run->device : tn_runtime_cpu(run->runtime),
                      .stream = run->stream,
                      .node = TN_CASE_NODE,
                      .host_private = &s->prepared.scope,
                      .kernel_params = s->kernel_params};
    s->prepared.kernel = run->kernel;
    s->prepared.scope.runtime = run->runtime;
    s->prepared.scope.pool = &s->pool;
    s->prepared.scope.kernel = run->kernel ? run->kernel->name : NULL;
    s->prepared.scope.library = "";
    show_values(run, s, false);
    TN_TRY(find_unbounded(run, s));
    open_outputs(run, s);
    *out_is_taken = !run->kernel || !run->kernel->accepts || run->kernel->accepts(call) == TN_OK;
    if (!*out_is_taken) return TN_OK;
    s->prepared.scope.failed = TN_OK;
    TN_TRY(tn_packed_store_create(tn_runtime_allocator(run->runtime), &s->prepared.scope.packed));
    TN_TRY(tn_prepared_kernel_init(&s->prepared));
    TN_TRY(tn_open_kernel_init(&s->opened, &s->prepared));
    TN_TRY(tn_open_kernel_reshape(&s->opened));
    TN_TRY(wait_for(run));
    show_values(run, s, true);
    TN_TRY(run_twice(run, s));
    if (run->measure) return run->measure(run->measure_user, &s->opened);
    TN_TRY(run_timed(run, s));
    if (run->device && run->timed_seconds > 0) return TN_OK; /* nobody asks for the results */
    return keep_results(run, s);
}

/* The kernel's own parameters; not for this node where they cannot be filled. */
static tn_status fill_params(const tn_stored_run *run, stored_call *s, bool *out_fits) {
    *out_fits = true;
    if (!run->kernel) return TN_OK;
    TN_TRY(tn_arena_create(tn_allocator_default(), &s->arena));
    const tn_status status = tn_kernel_fields_fill(s->arena, run->kernel, run->node->entry->op,
                                                   run->node->params, &s->kernel_params);
    *out_fits = status == TN_OK;
    return status == TN_ERROR_MEMORY ? status : TN_OK;
}

tn_status tn_stored_do(tn_stored_run *run, bool *out_is_taken) {
    stored_call *s = calloc(1, sizeof(*s));
    if (!s) return tn_fail_memory("a kernel's call");
    tn_cpu_pool_init(&s->pool, run->threads, tn_runtime_workers(run->runtime),
                     run->kernel && run->kernel->traits & TN_KERNEL_OPENMP);
    tn_status status = describe_all(run, s);
    *out_is_taken = false;
    bool fits = false;
    if (status == TN_OK) status = fill_params(run, s, &fits);
    if (status == TN_OK && fits) status = live(run, s, out_is_taken);
    tn_open_kernel_deinit(&s->opened);
    tn_prepared_kernel_deinit(&s->prepared);
    tn_packed_store_destroy(s->prepared.scope.packed);
    for (uint32_t i = 0; i < TN_STORED_PORTS; i++)
        tn_stored_memory_free(&s->inputs[i]);
    for (uint32_t i = 0; i < 16; i++)
        tn_stored_memory_free(&s->outputs[i]);
    for (uint32_t i = 0; i < TN_STORED_STEPS; i++)
        tn_stored_memory_free(&s->operands[i]);
    tn_stored_memory_free(&s->workspace);
    tn_arena_destroy(s->arena);
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
