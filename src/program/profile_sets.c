/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several profiles of one graph: from the builder's options, and the range that holds them all,
 * which is what passes may rely on, since all profiles have one graph. Ranges of one input are
 * profile.c's.
 */
#include "program/profile.h"
#include "base/status.h"
#include "tensor/type.h"

#include <inttypes.h>
#include <string.h>

static tn_status read_set(const tn_profile *given, tn_profile *out_set) {
    if (!given || given->size < offsetof(tn_profile, inputs) + sizeof given->inputs ||
        given->size > UINT16_MAX)
        return tn_fail(TN_ERROR_ARGUMENT, "its `size` is not set");
    memset(out_set, 0, sizeof *out_set);
    memcpy(out_set, given, given->size < sizeof *given ? given->size : sizeof *given);
    if (out_set->input_count > 0 && !out_set->inputs)
        return tn_fail(TN_ERROR_ARGUMENT, "its inputs are counted but not given");
    return TN_OK;
}

/* Kernels, and the range that holds all profiles, know an input by one rank. */
static tn_status check_ranks(const tn_graph *graph, const tn_plan_profile *first,
                             const tn_plan_profile *set) {
    for (size_t i = 0; i < graph->input_count; i++) {
        if (first[i].is_free || set[i].is_free || first[i].optimum.rank == set[i].optimum.rank)
            continue;
        return tn_fail(TN_ERROR_SHAPE,
                       "input '%s' has rank %" PRIu32 ", and rank %" PRIu32
                       " in profile 0: expected one rank in all profiles",
                       graph->tensors[graph->inputs[i]].name, set[i].optimum.rank,
                       first[i].optimum.rank);
    }
    return TN_OK;
}

static tn_status make_set(const tn_graph *graph, const tn_profile *given, tn_arena *arena,
                          tn_plan_profile *sets, uint32_t index) {
    tn_plan_profile *set = &sets[index * graph->input_count], *made = NULL;
    tn_profile known;
    TN_TRY(read_set(given, &known));
    TN_TRY(tn_profile_make_of(graph, known.input_count, known.inputs, arena, &made));
    memcpy(set, made, graph->input_count * sizeof *set);
    return check_ranks(graph, sets, set);
}

tn_status tn_profile_sets_make(const tn_graph *graph, const tn_builder_options *options,
                               tn_arena *arena, tn_profile_sets *out_sets) {
    const uint32_t count = options->profile_count;
    if (count == 0 && options->profiles)
        return tn_fail(TN_ERROR_ARGUMENT, "profiles are given but not counted");
    if (count > 0 && !options->profiles)
        return tn_fail(TN_ERROR_ARGUMENT, "profiles are counted but not given");
    if (count > 0 && (options->profile_input_count > 0 || options->profile_inputs))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "both `profiles` and `profile_inputs` are given: expected one of them");
    if (count > TN_PROFILE_LIMIT)
        return tn_fail(TN_ERROR_RANGE, "%" PRIu32 " profiles: expected at most %u", count,
                       TN_PROFILE_LIMIT);
    if (count == 0) {
        tn_plan_profile *made = NULL;
        TN_TRY(tn_profile_make(graph, options, arena, &made));
        *out_sets = (tn_profile_sets){1, (uint32_t)graph->input_count, made};
        return TN_OK;
    }
    tn_plan_profile *sets =
        tn_arena_allocate(arena, (size_t)count * graph->input_count + 1, sizeof *sets);
    if (!sets) return tn_fail_memory("the profiles");
    for (uint32_t p = 0; p < count; p++)
        TN_TRY(tn_error_at(make_set(graph, options->profiles[p], arena, sets, p),
                           "profile %" PRIu32, p));
    *out_sets = (tn_profile_sets){count, (uint32_t)graph->input_count, sets};
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * the range that holds them all */

static void widen_shape(tn_plan_profile *hull, const tn_plan_profile *profile) {
    for (uint32_t axis = 0; axis < hull->optimum.rank; axis++) {
        if (profile->minimum.extents[axis] < hull->minimum.extents[axis])
            hull->minimum.extents[axis] = profile->minimum.extents[axis];
        if (profile->maximum.extents[axis] > hull->maximum.extents[axis])
            hull->maximum.extents[axis] = profile->maximum.extents[axis];
    }
}

static void forget_values(tn_plan_profile *hull) {
    hull->minimum_value = hull->optimum_value = hull->maximum_value = NULL;
}

static bool has_one_shape(const tn_plan_profile *a, const tn_plan_profile *b) {
    return tn_shape_equal(&a->minimum, &a->maximum) && tn_shape_equal(&a->minimum, &b->minimum) &&
           tn_shape_equal(&b->minimum, &b->maximum);
}

/* The lesser (sign -1) or the greater (1) of two values, element by element. */
static tn_status widen_value(tn_arena *arena, tn_type type, const tn_shape *shape, int sign,
                             const void **inout_value, const void *other) {
    size_t bytes = 0;
    TN_TRY(tn_format_bytes(TN_LINEAR, type, shape, &bytes));
    char *wider = tn_arena_copy(arena, *inout_value, bytes);
    if (!wider) return tn_fail_memory("the profiles");
    const size_t count = tn_type_elements(type, bytes), each = count > 0 ? bytes / count : 0;
    for (size_t i = 0; i < count; i++) {
        const double a = tn_element_get_f64(wider, type, i), b = tn_element_get_f64(other, type, i);
        if (sign * b > sign * a) memcpy(wider + i * each, (const char *)other + i * each, each);
    }
    *inout_value = wider;
    return TN_OK;
}

/* Values stay known where all profiles have them, of one shape; else nothing is known of them. */
static tn_status widen_hull(tn_arena *arena, tn_type type, tn_plan_profile *hull,
                            const tn_plan_profile *profile) {
    if (hull->is_free) return TN_OK;
    if (profile->is_free) {
        *hull = *profile;
        forget_values(hull);
        return TN_OK;
    }
    const bool has_values = hull->optimum_value && profile->optimum_value &&
                            has_one_shape(hull, profile) && tn_type_bits(type) % 8 == 0;
    if (!has_values) {
        forget_values(hull);
        widen_shape(hull, profile);
        return TN_OK;
    }
    TN_TRY(
        widen_value(arena, type, &hull->minimum, -1, &hull->minimum_value, profile->minimum_value));
    return widen_value(arena, type, &hull->minimum, 1, &hull->maximum_value,
                       profile->maximum_value);
}

tn_status tn_profile_sets_hull(const tn_graph *graph, const tn_profile_sets *sets, tn_arena *arena,
                               tn_plan_profile **out_hull) {
    tn_plan_profile *hull = tn_arena_allocate(arena, sets->input_count + 1u, sizeof *hull);
    if (!hull) return tn_fail_memory("the profiles");
    memcpy(hull, sets->inputs, sets->input_count * sizeof *hull);
    for (uint32_t p = 1; p < sets->count; p++)
        for (uint32_t i = 0; i < sets->input_count; i++)
            TN_TRY(widen_hull(arena, graph->tensors[graph->inputs[i]].type, &hull[i],
                              &tn_profile_sets_at(sets, p)[i]));
    *out_hull = hull;
    return TN_OK;
}
