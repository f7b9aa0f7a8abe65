/* SPDX-License-Identifier: Apache-2.0 */
/* One case, and the time of kernels on it; see bench.h. */
#include "base/status.h"
#include "bench.h"
#include "plugin/fields/combination.h"

#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * a case */

static tn_status infer(tn_bench_subject *subject) {
    const tn_case_options options = {.are_constant = true, .threads = 1};
    TN_TRY(tn_case_graph(subject->runtime, subject->op, &subject->c, &options, &subject->graph));
    TN_TRY(tn_case_infer(subject->graph, &subject->c, subject->arena, &subject->plan,
                         &subject->inference));
    const tn_graph_node *node = &subject->graph->nodes[0];
    for (size_t t = 0; t < subject->graph->tensor_count; t++)
        if (subject->inference.tensors[t].storage.tensor.type == TN_STRING)
            return tn_fail(TN_ERROR_UNSUPPORTED, "nodes with strings are not timed");
    return node->input_count <= TN_STORED_PORTS && node->output_count <= 16
               ? TN_OK
               : tn_fail(TN_ERROR_UNSUPPORTED, "more than %d inputs or 16 outputs",
                         TN_STORED_PORTS);
}

/* What the operator counts, from types and shapes alone. */
static void count_operations(tn_bench_subject *subject) {
    const tn_graph_node *node = &subject->graph->nodes[0];
    const tn_tensor *inputs[TN_STORED_PORTS] = {0};
    tn_tensor *outputs[16] = {0};
    tn_call_scope scope = {.runtime = subject->runtime, .library = ""};
    double operations = 0;
    if (!subject->op->operations) return;
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR)
            inputs[i] = &subject->inference.tensors[node->inputs[i]].storage.tensor;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            outputs[i] = &subject->inference.tensors[node->outputs[i]].storage.tensor;
    tn_call call = {.size = sizeof(call),
                    .input_count = node->input_count,
                    .output_count = node->output_count,
                    .threads = 1,
                    .host = tn_runtime_host(subject->runtime),
                    .op = node->entry->op,
                    .params = node->params,
                    .user = node->entry->op->user,
                    .inputs = inputs,
                    .outputs = outputs,
                    .node = "node",
                    .host_private = &scope};
    if (subject->op->operations(&call, &operations) == TN_OK && operations > 0)
        subject->operations = operations;
}

tn_status tn_bench_subject_create(tn_bench_subject *subject, tn_runtime *runtime,
                                  const tn_operator *op, const char *text) {
    *subject = (tn_bench_subject){.runtime = runtime, .op = op};
    TN_TRY(tn_arena_create(tn_allocator_default(), &subject->arena));
    tn_status status = tn_case_read(subject->arena, op, text, &subject->c);
    if (status == TN_OK) status = infer(subject);
    if (status != TN_OK) {
        tn_bench_subject_destroy(subject);
        return status;
    }
    const tn_graph_node *node = &subject->graph->nodes[0];
    count_operations(subject);
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != TN_NO_TENSOR &&
            !(tn_graph_input_port(op, i)->flags & TN_PORT_SHAPE_ONLY))
            subject->bytes +=
                (size_t)subject->inference.tensors[node->inputs[i]].storage.tensor.bytes;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            subject->bytes +=
                (size_t)subject->inference.tensors[node->outputs[i]].storage.tensor.bytes;
    return TN_OK;
}

void tn_bench_subject_destroy(tn_bench_subject *subject) {
    tn_inference_deinit(&subject->inference);
    tn_graph_destroy(subject->graph);
    tn_arena_destroy(subject->arena);
    *subject = (tn_bench_subject){0};
}

/* ----------------------------------------------------------------------------------------------
 * one kernel */

/* How a combination's port stores a tensor: in its own type, or in a lower one that stands for
 * 32-bit floats. False when it does neither. */
static bool store(const tn_combination_port *port, const tn_tensor_storage *known, bool is_plain,
                  tn_stored_tensor *out) {
    static const tn_type lower[] = {TN_STORED_QI8, TN_STORED_QU8, TN_F16, TN_BF16};
    const tn_type own = known->tensor.type;
    *out =
        (tn_stored_tensor){.is_given = true, .type = own, .own_type = own, .shape = &known->shape};
    if (is_plain) return true;
    if (!port || !tn_format_fits(port->format, known->shape.rank)) return false;
    out->format = port->format;
    if (port->types & TN_TYPE_BIT(own)) return true;
    for (size_t i = 0; own == TN_F32 && i < sizeof(lower) / sizeof(lower[0]); i++) {
        if (!(port->types & TN_TYPE_BIT(lower[i]))) continue;
        const bool is_quantized = lower[i] == TN_STORED_QI8 || lower[i] == TN_STORED_QU8;
        out->type = lower[i] == TN_STORED_QI8   ? TN_I8
                    : lower[i] == TN_STORED_QU8 ? TN_U8
                                                : lower[i];
        out->scale = is_quantized ? 0x1p-6f : 0;
        return true;
    }
    return false;
}

static bool store_inputs(const tn_bench_subject *subject, const tn_combination *combination,
                         tn_stored_run *run) {
    const tn_graph_node *node = run->node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_combination_port *port = combination ? tn_combination_input(combination, i) : NULL;
        if (node->inputs[i] == TN_NO_TENSOR) {
            if (port && !port->is_optional) return false;
            continue;
        }
        const tn_graph_tensor *tensor = &subject->graph->tensors[node->inputs[i]];
        tn_stored_tensor *stored = &run->inputs[i];
        if (!store(port, &subject->inference.tensors[node->inputs[i]].storage, !combination,
                   stored))
            return false;
        stored->is_constant = tensor->is_constant;
        stored->data = subject->c.inputs[atoi(tensor->name + 2)].data;
        if (stored->is_constant &&
            (stored->format != TN_LINEAR || stored->type != stored->own_type))
            return false;
    }
    return true;
}

static bool store_outputs(const tn_bench_subject *subject, const tn_combination *combination,
                          tn_stored_run *run) {
    const tn_graph_node *node = run->node;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_combination_port *port =
            combination ? tn_combination_output(combination, i) : NULL;
        if (node->outputs[i] == TN_NO_TENSOR ||
            subject->graph->tensors[node->outputs[i]].use_count == 0) {
            if (port && !port->is_optional && i == 0) return false;
            continue;
        }
        if (!store(port, &subject->inference.tensors[node->outputs[i]].storage, !combination,
                   &run->outputs[i]))
            return false;
    }
    return true;
}

static tn_status count_stored(const tn_bench_subject *subject, const tn_stored_run *run,
                              size_t *out_bytes) {
    size_t bytes = 0, all = 0;
    for (uint32_t i = 0; i < run->input_count; i++) {
        const tn_stored_tensor *it = &run->inputs[i];
        if (!it->is_given || (tn_graph_input_port(subject->op, i)->flags & TN_PORT_SHAPE_ONLY))
            continue;
        TN_TRY(tn_format_bytes(it->format, it->type, it->shape, &bytes));
        all += bytes;
    }
    for (uint32_t i = 0; i < run->output_count; i++) {
        if (!run->outputs[i].is_given) continue;
        TN_TRY(tn_format_bytes(run->outputs[i].format, run->outputs[i].type, run->outputs[i].shape,
                               &bytes));
        all += bytes;
    }
    *out_bytes = all;
    return TN_OK;
}

static tn_status run_once(void *user) {
    return tn_open_kernel_run(user);
}

/* Where a kernel is timed, and by what. */
typedef struct measuring {
    tn_stopwatch *watch;
    const tn_bench_target *target; /* null: on the processor */
    bool is_capturable;
} measuring;

static tn_status measure(void *user, tn_open_kernel *opened) {
    const measuring *m = user;
    if (!m->target) return tn_stopwatch_measure(m->watch, run_once, opened);
    return tn_bench_on_device(m->watch, m->target, m->is_capturable, run_once, opened);
}

static tn_status measure_stored(const tn_bench_subject *subject, const char *combination,
                                tn_stored_run *run, tn_arena *arena, size_t *out_bytes,
                                const char **out_why) {
    tn_combination parsed = {0};
    bool is_taken = false;
    if (combination) TN_TRY(tn_combination_parse(arena, combination, TN_ABI_MINOR, &parsed));
    if (!store_inputs(subject, combination ? &parsed : NULL, run) ||
        !store_outputs(subject, combination ? &parsed : NULL, run)) {
        *out_why = "not of these types or formats";
        return TN_OK;
    }
    for (uint32_t i = 0; i < run->node->output_count; i++)
        if (run->outputs[i].is_given &&
            subject->inference.tensors[run->node->outputs[i]].unbounded) {
            *out_why = "an output has no bound: a run alone has its size";
            return TN_OK;
        }
    TN_TRY(count_stored(subject, run, out_bytes));
    TN_TRY(tn_stored_do(run, &is_taken));
    if (!is_taken) *out_why = "the kernel does not accept this node";
    return TN_OK;
}

tn_status tn_bench_subject_measure(const tn_bench_subject *subject, const tn_kernel *kernel,
                                   const char *combination, uint32_t threads,
                                   const tn_bench_target *target, tn_stopwatch *watch,
                                   size_t *out_bytes, const char **out_why) {
    if (!combination && kernel && !kernel->combination) combination = TN_COMBINATION_ANY;
    const bool is_on_device = kernel && strcmp(kernel->device, "cpu") != 0;
    measuring how = {.watch = watch,
                     .target = is_on_device ? target : NULL,
                     .is_capturable = kernel && (kernel->traits & TN_KERNEL_CAPTURABLE)};
    tn_stored_run *run = calloc(1, sizeof(*run));
    tn_arena *arena = NULL;
    if (!run) return tn_fail_memory("a kernel's run");
    tn_status status = tn_arena_create(tn_allocator_default(), &arena);
    *out_why = NULL;
    *run = (tn_stored_run){.runtime = subject->runtime,
                           .kernel = kernel,
                           .node = &subject->graph->nodes[0],
                           .input_count = subject->graph->nodes[0].input_count,
                           .output_count = subject->graph->nodes[0].output_count,
                           .threads = threads,
                           .measure = measure,
                           .measure_user = &how,
                           .device = is_on_device ? target->device.device : NULL,
                           .stream = is_on_device ? target->stream : NULL};
    if (status == TN_OK)
        status = measure_stored(subject, combination, run, arena, out_bytes, out_why);
    tn_arena_destroy(arena);
    free(run);
    return status;
}
