/* SPDX-License-Identifier: Apache-2.0 */
/* Running a network over sample inputs; see batch_run.h. */
#include "calibrate/batch_run.h"
#include "base/status.h"
#include "builder/progress/progress.h"
#include "graph/graph.h"
#include "plugin/runtime.h"
#include "tensor/shape.h"
#include "tensor/type.h"
#include "tune/tune.h"

#include <inttypes.h>
#include <string.h>

/* On the very device that the build is for: a plan alone belongs to a kind of device. */
static tn_status load_plan(tn_batch_run *run, tn_runtime *runtime, tn_plan *plan,
                           const char *device) {
    const tn_engine_options options = {.size = sizeof(options), .device = device};
    *run = (tn_batch_run){.runtime = runtime, .plan = plan};
    TN_TRY(tn_engine_load_plan(runtime, plan, &options, &run->engine));
    TN_TRY(tn_context_create(run->engine, &run->context));
    run->inputs =
        tn_allocate_zero(tn_runtime_allocator(runtime),
                         tn_engine_input_count(run->engine) + (size_t)1, sizeof(*run->inputs));
    return run->inputs ? TN_OK : tn_fail_memory("a batch");
}

void tn_batch_run_deinit(tn_batch_run *run) {
    if (!run->runtime) return;
    tn_deallocate(tn_runtime_allocator(run->runtime), run->inputs);
    tn_context_destroy(run->context);
    tn_engine_release(run->engine);
    tn_plan_destroy(run->plan);
    *run = (tn_batch_run){0};
}

tn_status tn_batches_check(const tn_batches *batches, const tn_builder_options *build) {
    tn_builder_options whole;
    TN_TRY(tn_options_read(&whole, sizeof(whole), build, "the builder options"));
    if (!batches || batches->size < sizeof(*batches) || !batches->read)
        return tn_fail(TN_ERROR_ARGUMENT, "sample inputs need `size` and `read` set");
    if (batches->count == 0)
        return tn_fail(TN_ERROR_ARGUMENT, "there are no sample inputs: at least one batch is "
                                          "needed");
    return TN_OK;
}

tn_status tn_batches_progress(const tn_batches *batches, const char *stage, uint64_t done,
                              uint64_t count) {
    tn_progress progress = {.function = batches->progress, .user = batches->user};
    return tn_progress_tell(&progress, stage, done, count);
}

static tn_status bind_input(tn_batch_run *run, uint32_t index) {
    const tn_port_info *port = tn_engine_input(run->engine, index);
    const tn_tensor *tensor = run->inputs[index];
    if (!tensor) return tn_fail(TN_ERROR_ARGUMENT, "nothing was given");
    if (tensor->type != port->type || tensor->format != TN_LINEAR)
        return tn_fail(TN_ERROR_TYPE, "expected a linear tensor of %s, found %s, %s",
                       tn_type_name(port->type), tn_type_name(tensor->type),
                       tn_format_name(tensor->format));
    if (tensor->rank > TN_MAX_RANK || (tensor->rank > 0 && !tensor->shape))
        return tn_fail(TN_ERROR_SHAPE, "a tensor without a sound shape");
    TN_TRY(tn_context_set_shape(run->context, index, tensor->rank, tensor->shape));
    return tn_context_bind_input(run->context, index, tensor->data, tensor->bytes);
}

static tn_status bind_and_run(tn_batch_run *run) {
    for (uint32_t i = 0; i < tn_engine_input_count(run->engine); i++)
        TN_TRY(
            tn_error_at(bind_input(run, i), "input '%s'", tn_engine_input(run->engine, i)->name));
    return tn_context_run(run->context);
}

tn_status tn_batch_run_batch(tn_batch_run *run, const tn_batches *batches, uint64_t index) {
    const uint32_t count = tn_engine_input_count(run->engine);
    for (uint32_t i = 0; i < count; i++)
        run->inputs[i] = NULL;
    const tn_status status = batches->read(batches->user, index, run->inputs);
    if (status != TN_OK)
        return tn_fail(status, "sample input %" PRIu64 " was not given by the caller", index);
    return tn_error_at(bind_and_run(run), "sample input %" PRIu64, index);
}

tn_status tn_batch_run_again(tn_batch_run *run, const tn_batch_run *other, uint64_t index) {
    for (uint32_t i = 0; i < tn_engine_input_count(run->engine); i++)
        run->inputs[i] = other->inputs[i];
    return tn_error_at(bind_and_run(run), "sample input %" PRIu64, index);
}

tn_builder_options tn_batch_run_whole_options(const tn_builder_options *given) {
    tn_builder_options whole = {.size = sizeof(whole)};
    if (given) memcpy(&whole, given, given->size < sizeof(whole) ? given->size : sizeof(whole));
    whole.size = sizeof(whole);
    return whole;
}

tn_builder_options tn_batch_run_float_options(const tn_builder_options *given) {
    tn_builder_options build = tn_batch_run_whole_options(given);
    build.precision = TN_PRECISION_F32;
    build.second_precision = 0;
    build.calibration = NULL;
    build.keep = NULL;
    build.keep_count = 0;
    build.pins = NULL; /* of types and kernels that floats may not have */
    build.pin_count = 0;
    build.timing_cache = NULL;
    build.flags |= TN_BUILD_NO_TIMING;
    return build;
}

tn_status tn_batch_run_init(tn_batch_run *run, tn_graph *graph, const tn_builder_options *options,
                            tn_timing_cache *cache) {
    tn_plan *plan;
    *run = (tn_batch_run){0};
    TN_TRY(tn_tune_build(graph, options, cache, &plan));
    return load_plan(run, graph->runtime, plan, options ? options->device : NULL);
}
