/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that an engine runs: the stored one that was lowered for this device and number of
 * threads, if its kernels are here and take what it gives them; otherwise the graph is lowered
 * again, by rule, since loading does not measure.
 */
#include "tensor/quantization.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "engine/engine_private.h"
#include "plan/program_fit.h"
#include "program/lower_again.h"

#include <tenon/builder.h>

#include <string.h>

static void release_kernels(tn_engine *engine) {
    for (uint32_t i = 0; engine->steps && i < engine->program->step_count; i++) {
        if (engine->steps[i].entry) tn_library_release(engine->steps[i].entry->library);
        engine->steps[i].entry = NULL;
    }
    engine->steps = NULL;
}

static tn_status find_kernel(const tn_engine *engine, const tn_program_step *step,
                             const tn_kernel_entry **out_entry) {
    if (step->kind != TN_STEP_KERNEL || !step->kernel || step->is_host) return TN_OK;
    const tn_graph_node *node = &engine->graph->nodes[step->node];
    const tn_library_key library = {step->library, step->library_domain, step->library_hash};
    *out_entry = tn_registry_find_kernel(tn_runtime_registry(engine->runtime), node->entry->op,
                                         step->is_device ? engine->device->kind : "cpu",
                                         step->kernel, &library);
    if (*out_entry) return TN_OK;
    return tn_error_in(tn_fail(TN_ERROR_NOT_FOUND,
                               "kernel '%s' of library '%s' is not there for this machine",
                               step->kernel, step->library),
                       .node = node->name, .op = node->entry->op->name);
}

static tn_status check_device(const tn_engine *engine) {
    const tn_program *program = engine->program;
    if (strcmp(program->device, "cpu") != 0 && strcmp(program->device, engine->device->kind) != 0)
        return tn_fail(TN_ERROR_FORMAT, "the stored program is for device '%s', not '%s'",
                       program->device, engine->device->kind);
    return TN_OK;
}

/* Loops of a network with kernels that use OpenMP run on its team, all others on the runtime's
 * workers. */
static void choose_threads(tn_engine *engine) {
    bool is_openmp = false;
    for (uint32_t i = 0; i < engine->program->step_count; i++)
        is_openmp = is_openmp || (engine->steps[i].entry &&
                                  engine->steps[i].entry->kernel->traits & TN_KERNEL_OPENMP);
    tn_cpu_pool_init(&engine->pool, engine->program->threads, tn_runtime_workers(engine->runtime),
                     is_openmp);
}

/* The kernels of all steps of engine->program, each checked. */
static tn_status take_kernels(tn_engine_loading *loading) {
    tn_engine *engine = loading->engine;
    engine->steps =
        tn_arena_allocate(engine->arena, engine->program->step_count + 1u, sizeof(*engine->steps));
    if (!engine->steps) return tn_fail_memory("an engine");
    TN_TRY(tn_engine_check_values(loading));
    TN_TRY(check_device(engine));
    for (uint32_t i = 0; i < engine->program->step_count; i++) {
        tn_engine_step *step = &engine->steps[i];
        step->step = &engine->program->steps[i];
        TN_TRY(find_kernel(engine, step->step, &step->entry));
        TN_TRY(tn_engine_check_step(loading, step));
    }
    choose_threads(engine);
    return tn_engine_mark_isolated(engine);
}

/* Of a stored program whose kernels have changed or are not here, with that reason. */
static tn_status refuse_to_choose(void) {
    return tn_fail(TN_ERROR_UNSUPPORTED,
                   "a run-only library chooses no other kernels than the plan's: %s: %s",
                   tn_last_error()->where, tn_last_error()->message);
}

/* Takes a stored program; answers false where its kernels have changed or are not here, which exact
 * loading refuses. */
static tn_status try_program(tn_engine_loading *loading, const tn_program *program, bool is_exact,
                             bool *out_is_taken) {
    tn_engine *engine = loading->engine;
    tn_error_copy before;
    tn_error_save(&before);
    engine->program = program;
    tn_cpu_pool_init(&engine->pool, program->threads, tn_runtime_workers(engine->runtime), false);
    const tn_status status = take_kernels(loading);
    *out_is_taken = status == TN_OK;
    if (status == TN_OK || status == TN_ERROR_MEMORY || is_exact) return status;
    if (!tn_can_lower_again()) return refuse_to_choose();
    tn_runtime_log(engine->runtime, TN_LOG_WARNING,
                   "kernels are chosen again, without timing: %s: %s", tn_last_error()->where,
                   tn_last_error()->message);
    tn_error_restore(&before);
    release_kernels(engine);
    engine->program = NULL;
    return TN_OK;
}

static tn_program_target target_of(const tn_program *program) {
    return (tn_program_target){program->fingerprint, program->threads};
}

static tn_program_target target_on(const tn_device *device, uint32_t threads) {
    return (tn_program_target){device->fingerprint(device), threads};
}

static tn_program_target target_here(const tn_engine *engine, uint32_t threads) {
    return target_on(engine->device, threads);
}

static tn_status find_for(tn_engine_loading *loading, tn_program_target here, bool is_exact,
                          bool *out_has_tried) {
    tn_engine *engine = loading->engine;
    bool is_taken = false;
    for (uint32_t i = 0; i < engine->contents.program_count && !is_taken; i++) {
        const tn_program *program = engine->contents.programs[i];
        const tn_program_target target = target_of(program);
        if (program->profile != engine->profile || !tn_program_fits(&target, &here)) continue;
        *out_has_tried = true;
        TN_TRY(try_program(loading, program, is_exact, &is_taken));
    }
    return TN_OK;
}

/* Plans before counted extents have networks that their data sizes on the processor, whatever
 * device was asked for. */
static tn_status find_stored(tn_engine_loading *loading, uint32_t threads, bool is_exact,
                             bool *out_has_tried) {
    const tn_engine *engine = loading->engine;
    TN_TRY(find_for(loading, target_here(engine, threads), is_exact, out_has_tried));
    if (engine->program || !engine->plan.is_sized_by_run || !tn_device_is_remote(engine->device))
        return TN_OK;
    return find_for(loading, target_on(tn_runtime_cpu(engine->runtime), threads), is_exact,
                    out_has_tried);
}

/* The stored program that differs least from what there is: the device counts before the threads.
 * Null: there is none. */
static const tn_program *find_nearest(const tn_engine *engine) {
    const tn_program *nearest = NULL;
    const tn_device *device = engine->device;
    const char *fingerprint = device->fingerprint(device);
    for (uint32_t i = engine->contents.program_count; i-- > 0;) {
        const tn_program *program = engine->contents.programs[i];
        if (program->profile != engine->profile) continue;
        if (strcmp(program->fingerprint, fingerprint) == 0) return program;
        if (!nearest || strcmp(program->device, device->kind) == 0) nearest = program;
    }
    return nearest;
}

/* No stored program is for this machine: an error, or a line of the log. */
static tn_status report_misfit(const tn_engine *engine, uint32_t threads, bool is_exact) {
    const tn_program *nearest = find_nearest(engine);
    tn_text text;
    tn_text_init(&text, engine->allocator);
    if (nearest) {
        const tn_program_target built = target_of(nearest), here = target_here(engine, threads);
        tn_program_fit_explain(&text, &built, &here);
    }
    const char *difference = text.data ? text.data : "for no device";
    tn_status status = TN_OK;
    if (is_exact || !tn_can_lower_again())
        status = tn_fail(is_exact ? TN_ERROR_NOT_FOUND : TN_ERROR_UNSUPPORTED,
                         "the plan has no kernels chosen for this machine, and %s "
                         "chooses none: it was built %s",
                         is_exact ? "exact loading" : "a run-only library", difference);
    else if (!engine->is_serving && !engine->contents.is_elsewhere)
        tn_runtime_log(engine->runtime, TN_LOG_WARNING,
                       "kernels are chosen again, without timing: the plan was built %s",
                       difference);
    tn_text_deinit(&text);
    return status;
}

/* What the stored programs say of precision and scales, for a lowering of the same graph. */
static tn_status read_storages(const tn_engine_loading *loading, tn_lower_again_options *options) {
    const tn_plan_contents *contents = &loading->engine->contents;
    float *scales = tn_arena_allocate(loading->arena, loading->engine->graph->tensor_count + 1,
                                      sizeof(*scales));
    if (!scales) return tn_fail_memory("an engine");
    options->scales = scales;
    for (uint32_t p = contents->program_count; p-- > 0;) {
        for (uint32_t v = 0; v < contents->programs[p]->value_count; v++) {
            const tn_program_value *value = &contents->programs[p]->values[v];
            const tn_tensor *known = loading->linear[value->tensor];
            const bool is_float = known && known->type == TN_F32;
            if (is_float && value->type == TN_F16)
                options->second_precision = TN_PRECISION_F16;
            else if (is_float && value->type == TN_BF16)
                options->second_precision = TN_PRECISION_BF16;
            if (is_float && value->quantization) {
                options->precision = TN_PRECISION_I8;
                scales[value->tensor] = (float)tn_quantization_scale(value->quantization, 0);
            } else if (is_float && options->precision == TN_PRECISION_F32) {
                options->precision = value->type == TN_F16    ? TN_PRECISION_F16
                                     : value->type == TN_BF16 ? TN_PRECISION_BF16
                                                              : TN_PRECISION_F32;
            }
        }
    }
    return TN_OK;
}

/* Lowering reads them. */
static tn_status verify_all_constants(const tn_engine *engine) {
    for (size_t i = 0; i < engine->graph->tensor_count; i++)
        TN_TRY(tn_constant_note_verify(engine->graph->tensors[i].note));
    return TN_OK;
}

tn_status tn_engine_lower(tn_engine_loading *loading, uint32_t threads) {
    tn_engine *engine = loading->engine;
    tn_program *program = tn_arena_allocate(engine->arena, 1, sizeof(*program));
    if (!program) return tn_fail_memory("a program");
    TN_TRY(tn_runtime_load_companions(engine->runtime, tn_graph_has_operator, engine->graph));
    tn_cpu_pool_init(&engine->pool, threads, tn_runtime_workers(engine->runtime), false);
    tn_lower_again_options options = {.device = engine->device,
                                      .threads = threads,
                                      .pool = &engine->pool,
                                      .forced = tn_runtime_forced_kernels(engine->runtime),
                                      .is_unfused = engine->is_unfused};
    TN_TRY(read_storages(loading, &options));
    TN_TRY(verify_all_constants(engine));
    TN_TRY(tn_lower_again(engine->graph, &loading->shapes.plan, loading->shapes.points, &options,
                          engine->arena, program));
    engine->program = program;
    return take_kernels(loading);
}

/* 0: as the plan was built. */
static uint32_t thread_count(const tn_engine *engine, const tn_engine_options *options) {
    const uint32_t shared = tn_threads_count(engine->shared_threads);
    const uint32_t stored = engine->contents.program_count ? engine->contents.programs[0]->threads
                                                           : tn_cpu_core_count();
    return options->threads || shared == 0 || stored <= shared ? options->threads : shared;
}

/* Programs that were tried, or left out since their libraries are missing, have their own lines. */
tn_status tn_engine_choose_program(tn_engine_loading *loading, const tn_engine_options *options) {
    tn_engine *engine = loading->engine;
    const uint32_t threads = thread_count(engine, options);
    const bool is_exact = loading->is_exact;
    bool has_tried = engine->contents.left_out_count > 0;
    TN_TRY(find_stored(loading, threads, is_exact, &has_tried));
    if (engine->program) return TN_OK;
    if (!has_tried) TN_TRY(report_misfit(engine, threads, is_exact));
    const uint32_t stored =
        engine->contents.program_count ? engine->contents.programs[0]->threads : 0;
    return tn_engine_lower(loading, threads ? threads : stored ? stored : tn_cpu_core_count());
}
