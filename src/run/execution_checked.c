/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded runs: the execution loop of a context whose engine was loaded to be checked. It is a loop
 * of its own, so that the plain one pays nothing for it. What is done with one call is
 * guard/checked_call.c's matter; conversions between formats are Tenon's own and run as they are,
 * and isolated kernels are guarded in their helper process. Steps on a device are waited for one by
 * one, so that an error is that of the step that made it; its kernels are guarded in its memory.
 */
#include "engine/checked.h"
#include "base/clock.h"
#include "run/execution_private.h"

tn_status tn_checked_context_create(tn_context *context) {
    const tn_engine *engine = context->engine;
    const tn_program *program = engine->program;
    tn_checked_options options = {.allocator = &context->allocator,
                                  .pool = &engine->pool,
                                  .dump_directory = engine->checked_dump,
                                  .allows_not_finite = engine->allows_not_finite};
    TN_TRY(tn_checked_describe(engine, &context->allocator, &options, &context->is_constant));
    TN_TRY(tn_checked_create(&options, &context->checked));
    for (uint32_t i = 0; i < program->step_count; i++)
        if (context->kernels[i].is_open && context->kernels[i].scope.pool)
            context->kernels[i].scope.pool = &context->checked->pool;
    return TN_OK;
}

void tn_checked_context_destroy(tn_context *context) {
    tn_checked_destroy(context->checked);
    tn_deallocate(&context->allocator, context->is_constant);
}

/* Inputs of a device's step that the processor has: of those whose values decide shapes. */
static uint64_t host_inputs(const tn_context *context, const tn_program_step *step) {
    const tn_program_value *values = context->engine->program->values;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < step->input_count && i < 64; i++)
        if (step->inputs[i] != TN_NO_VALUE && values[step->inputs[i]].space == TN_SPACE_HOST)
            bits |= (uint64_t)1 << i;
    return bits;
}

tn_status tn_checked_step(tn_context *context, uint32_t index, tn_call *call, tn_callback run) {
    const tn_program_step *step = &context->engine->program->steps[index];
    tn_crash_set_call(&context->crash, call);
    tn_checked_enter(context->checked);
    const tn_status status =
        step->is_device
            ? tn_checked_device_call(context->checked, call, run, host_inputs(context, step))
            : tn_checked_call(context->checked, call, run, step->inputs, step->operands);
    tn_checked_leave(context->checked);
    return status;
}

static tn_status run_on_device(tn_context *context, uint32_t index) {
    const tn_shape_state *state = context->shapes.current;
    const tn_execution_item *item = &state->items[index];
    const tn_program_step *step = &context->engine->program->steps[state->item_steps[index]];
    if (step->kind == TN_STEP_REFORMAT) {
        const tn_status status = tn_execution_call(context, item);
        return status == TN_OK ? tn_execution_settle(context, index)
                               : tn_execution_failed(item, status);
    }
    return tn_checked_step(context, state->item_steps[index], item->call, item->run);
}

tn_status tn_execution_run_checked(tn_context *context) {
    const tn_shape_state *state = context->shapes.current;
    for (uint32_t i = 0; i < state->item_count; i++) {
        const tn_execution_item *item = &state->items[i];
        TN_TRY(tn_run_check(context->run));
        const uint64_t before = context->profile.is_on ? tn_now_ns() : 0;
        const bool is_on_device = tn_shape_state_is_on_device(context, state, i);
        if (is_on_device) {
            TN_TRY(run_on_device(context, i));
        } else if (item->run == tn_execution_reformat || item->run == tn_isolated_run) {
            const tn_status status = tn_execution_call(context, item);
            if (status != TN_OK) return tn_execution_failed(item, status);
        } else {
            TN_TRY(tn_checked_step(context, state->item_steps[i], item->call, item->run));
        }
        if (context->profile.is_on)
            tn_execution_note_time(context, state->item_steps[i], tn_now_ns() - before);
    }
    return TN_OK;
}
