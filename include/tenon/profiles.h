/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several profiles in one plan (tn_builder_options.profiles): each is a range of shapes with
 * kernels of its own, chosen for its optimum. A context runs whatever shapes some profile has.
 *
 * The engine prepares the kernels of all of them when it is loaded; constants and packed weights
 * are there once. A context opens the kernels of a profile when it runs with it first; tensors and
 * workspaces of all profiles lie in one arena (not so in isolated engines).
 */
#ifndef TENON_PROFILES_H
#define TENON_PROFILES_H

#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many profiles the plan has, at least 1; 0 for null. [thread: any] */
TN_EXPORT uint32_t tn_engine_profile_count(const tn_engine *engine);
/* As tn_engine_profile, which is that of profile 0, of any profile. Has the lifetime of the engine.
 * Null past the end, and for an input that accepts any shape there. [thread: any] */
TN_EXPORT const tn_profile_input *tn_engine_profile_of(const tn_engine *engine, uint32_t profile,
                                                       uint32_t input);

/* The profile is chosen at each reshape: of those that have all shapes (and the values that decide
 * shapes, where the profile has such) within their ranges, the one whose optimum is nearest. The
 * distance is the sum of |ln((1 + extent) / (1 + optimum))| over all extents and values, so that
 * half and double are equally far; of equally near ones it is the first. */
#define TN_PROFILE_AUTOMATIC UINT32_MAX

/* Chooses the profile of the runs to come, from reshape on: its index, or TN_PROFILE_AUTOMATIC, as
 * it is at first. Inputs that have one shape in that profile get it; others keep theirs, and where
 * they are outside of the profile reshape and run answer TN_ERROR_RANGE. Going from one profile to
 * another and back allocates nothing, and shapes are found again as within one: each keeps the last
 * eight. TN_ERROR_ARGUMENT: there is no such profile. */
TN_EXPORT tn_status tn_context_set_profile(tn_context *context, uint32_t profile);
/* The profile of the present shapes, after reshape or run; before, and for other shapes since, the
 * chosen one or TN_PROFILE_AUTOMATIC. */
TN_EXPORT uint32_t tn_context_get_profile(const tn_context *context);

#ifdef __cplusplus
}
#endif
#endif
