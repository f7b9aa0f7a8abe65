/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context of an engine with several profiles runs the first one itself, and hands the shapes of
 * another over to a context of that profile's engine, with the same memory bound. Those contexts
 * are made when they are needed first, and keep what they have for the shapes that they saw: going
 * from one to the other and back allocates nothing.
 */
#include "run/context_private.h"

#include <tenon/profiles.h>

tn_status tn_profiles_create(tn_context *context) {
    const uint32_t count = context->engine->profile_count;
    context->profiles.chosen = TN_PROFILE_AUTOMATIC;
    if (count == 1) return TN_OK;
    context->profiles.contexts =
        tn_allocate_zero(&context->allocator, count, sizeof(*context->profiles.contexts));
    return context->profiles.contexts ? TN_OK : tn_fail_memory("a context");
}

void tn_profiles_destroy(tn_context *context) {
    for (uint32_t p = 1; context->profiles.contexts && p < context->engine->profile_count; p++)
        tn_context_destroy(context->profiles.contexts[p]);
    tn_deallocate(&context->allocator, context->profiles.contexts);
}

/* With the allocators and the arena of this one: a run of one of them is over, or on the same
 * stream, before another begins. What a helper process sees is that process's alone. */
static tn_status open_profile(tn_context *context, uint32_t profile) {
    tn_context *made = NULL;
    tn_engine *engine = tn_engine_at_profile(context->engine, profile);
    TN_TRY(
        tn_error_at(tn_context_create_part(context, engine, false, &made), "profile %u", profile));
    if (!context->isolation && !made->isolation) made->arena.owner = context;
    context->profiles.contexts[profile] = made;
    return TN_OK;
}

tn_status tn_profiles_reshape(tn_context *context, uint32_t profile) {
    if (profile > 0 && !context->profiles.contexts[profile]) TN_TRY(open_profile(context, profile));
    context->profiles.now = profile;
    tn_context *other = tn_profiles_other(context);
    if (!other) return TN_OK;
    TN_TRY(tn_context_hand_over(context, other));
    TN_TRY(tn_context_reshape(other));
    context->ports.are_set = true;
    return TN_OK;
}

/* Values decide shapes, and may have left the profile; where they have not, its own context sees
 * what has changed. */
static tn_status look_at_values(tn_context *context) {
    uint32_t profile = 0;
    TN_TRY(tn_device_ports_check_capture(context));
    TN_TRY(tn_device_ports_fetch(context));
    if (!context->shapes.are_set) return TN_OK;
    TN_TRY(tn_reshape_gather(context));
    TN_TRY(tn_profiles_choose(context, &profile));
    context->shapes.are_set = profile == context->profiles.now;
    return TN_OK;
}

tn_status tn_profiles_update(tn_context *context) {
    if (context->engine->has_value_inputs) TN_TRY(look_at_values(context));
    return context->shapes.are_set ? TN_OK : tn_reshape_run(context);
}

tn_status tn_profiles_run(tn_context *context, tn_context *other) {
    if (!context->ports.are_set) TN_TRY(tn_context_hand_over(context, other));
    context->ports.are_set = true;
    if (other->profile.is_on != context->profile.is_on)
        TN_TRY(tn_context_set_profiling(other, context->profile.is_on));
    return tn_context_run(other);
}

/* ----------------------------------------------------------------------------------------------
 * the caller's choice */

tn_status tn_context_set_profile(tn_context *context, uint32_t profile) {
    if (!context) return tn_fail(TN_ERROR_ARGUMENT, "the context is null");
    tn_engine *engine = context->engine;
    if (profile != TN_PROFILE_AUTOMATIC && profile >= engine->profile_count)
        return tn_fail(TN_ERROR_ARGUMENT,
                       engine->profile_count == 1
                           ? "there is no profile %u: the plan has one, profile 0"
                           : "there is no profile %u: the plan has %u",
                       profile, engine->profile_count);
    if (context->profiles.chosen == profile) return TN_OK;
    context->profiles.chosen = profile;
    context->shapes.are_set = false;
    if (profile == TN_PROFILE_AUTOMATIC) return TN_OK;
    const tn_plan_profile *ranges = tn_engine_at_profile(engine, profile)->contents.profiles;
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        if (!tn_profile_is_fixed(&ranges[i])) continue;
        context->ports.inputs[i].shape = ranges[i].minimum;
        context->ports.inputs[i].has_shape = true;
    }
    return TN_OK;
}

uint32_t tn_context_get_profile(const tn_context *context) {
    if (!context) return TN_PROFILE_AUTOMATIC;
    return context->shapes.are_set ? context->profiles.now : context->profiles.chosen;
}
