/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One profile from a caller's ranges: finds the inputs by name and checks that each range is one.
 * What the shapes of the other tensors are is in profile_shapes.c.
 */
#include "program/profile.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static const char *input_name(const tn_graph *graph, size_t input) {
    return graph->tensors[graph->inputs[input]].name;
}

static tn_status find_input(const tn_graph *graph, const char *name, size_t *out_input) {
    tn_nearest nearest;
    if (!name) return tn_fail(TN_ERROR_ARGUMENT, "a profile names no input");
    tn_nearest_init(&nearest, name);
    for (size_t i = 0; i < graph->input_count; i++) {
        if (strcmp(input_name(graph, i), name) == 0) {
            *out_input = i;
            return TN_OK;
        }
        tn_nearest_offer(&nearest, input_name(graph, i));
    }
    if (nearest.best)
        return tn_error_mend(
            tn_fail(TN_ERROR_NOT_FOUND,
                    "a profile is given for input '%s', which the graph does not have", name),
            "; ", "the nearest name is '%s'", nearest.best);
    return tn_fail(TN_ERROR_NOT_FOUND,
                   "a profile is given for input '%s', which the graph does not have; its first "
                   "input is '%s'",
                   name, graph->input_count > 0 ? input_name(graph, 0) : "(it has none)");
}

/* Copies the part of a caller's struct that he knows of. */
static tn_status read_input(const tn_profile_input *given, tn_profile_input *out_input) {
    if (!given || given->size < offsetof(tn_profile_input, minimum_value) ||
        given->size > UINT16_MAX)
        return tn_fail(TN_ERROR_ARGUMENT, "a profile's `size` is not set");
    memset(out_input, 0, sizeof *out_input);
    memcpy(out_input, given, given->size < sizeof *given ? given->size : sizeof *given);
    if (out_input->rank > 0 && (!out_input->minimum || !out_input->optimum || !out_input->maximum))
        return tn_fail(TN_ERROR_ARGUMENT, "a profile lacks one of its three shapes");
    return TN_OK;
}

static tn_status check_order(const char *name, const tn_plan_profile *profile) {
    for (uint32_t axis = 0; axis < profile->optimum.rank; axis++) {
        int64_t low = profile->minimum.extents[axis], best = profile->optimum.extents[axis],
                high = profile->maximum.extents[axis];
        if (low <= best && best <= high) continue;
        return tn_fail(TN_ERROR_RANGE,
                       "the profile of input '%s' is not min <= opt <= max: axis %" PRIu32
                       " has %" PRId64 ", %" PRId64 " and %" PRId64,
                       name, axis, low, best, high);
    }
    return TN_OK;
}

static tn_status check_declared(const tn_graph_tensor *tensor, const tn_plan_profile *profile) {
    char declared[TN_SHAPE_TEXT_BYTES];
    if (!tensor->has_shape) return TN_OK;
    tn_shape_print(tensor->shape.rank, tensor->shape.extents, declared, sizeof declared);
    if (tensor->shape.rank != profile->optimum.rank)
        return tn_fail(TN_ERROR_SHAPE,
                       "the profile of input '%s' has rank %" PRIu32 ", but it is declared as %s",
                       tensor->name, profile->optimum.rank, declared);
    for (uint32_t axis = 0; axis < tensor->shape.rank; axis++) {
        int64_t extent = tensor->shape.extents[axis];
        if (extent < 0 ||
            (profile->minimum.extents[axis] == extent && profile->maximum.extents[axis] == extent))
            continue;
        return tn_fail(TN_ERROR_RANGE,
                       "the profile of input '%s' goes from %" PRId64 " to %" PRId64
                       " at axis %" PRIu32 ", but it is declared as %s",
                       tensor->name, profile->minimum.extents[axis], profile->maximum.extents[axis],
                       axis, declared);
    }
    return TN_OK;
}

static tn_status take_given(const tn_graph_tensor *tensor, const tn_profile_input *given,
                            tn_plan_profile *out_profile) {
    tn_plan_profile profile = {.minimum_value = given->minimum_value,
                               .optimum_value = given->optimum_value,
                               .maximum_value = given->maximum_value};
    TN_TRY(tn_shape_set(&profile.minimum, given->rank, given->minimum));
    TN_TRY(tn_shape_set(&profile.optimum, given->rank, given->optimum));
    TN_TRY(tn_shape_set(&profile.maximum, given->rank, given->maximum));
    TN_TRY(check_order(tensor->name, &profile));
    TN_TRY(check_declared(tensor, &profile));
    bool has_values = profile.optimum_value != NULL;
    if (has_values != (profile.minimum_value != NULL) ||
        has_values != (profile.maximum_value != NULL))
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the profile of input '%s' has values at some of its three points and lacks "
                       "them at others",
                       tensor->name);
    *out_profile = profile;
    return TN_OK;
}

/* What the graph declares, with 1 for each extent that it does not know. */
static void take_declared(const tn_graph_tensor *tensor, tn_plan_profile *out_profile) {
    tn_shape shape = tensor->has_shape ? tensor->shape : (tn_shape){0};
    bool is_free = !tensor->has_shape;
    for (uint32_t axis = 0; axis < shape.rank; axis++) {
        if (shape.extents[axis] >= 0) continue;
        shape.extents[axis] = 1;
        is_free = true;
    }
    *out_profile =
        (tn_plan_profile){.is_free = is_free, .minimum = shape, .optimum = shape, .maximum = shape};
}

tn_status tn_profile_make(const tn_graph *graph, const tn_builder_options *options, tn_arena *arena,
                          tn_plan_profile **out_profiles) {
    return tn_profile_make_of(graph, options->profile_input_count, options->profile_inputs, arena,
                              out_profiles);
}

tn_status tn_profile_make_of(const tn_graph *graph, uint32_t count,
                             const tn_profile_input *const *inputs, tn_arena *arena,
                             tn_plan_profile **out_profiles) {
    tn_plan_profile *profiles = tn_arena_allocate(arena, graph->input_count + 1, sizeof *profiles);
    bool *is_given = tn_arena_allocate(arena, graph->input_count + 1, sizeof *is_given);
    if (!profiles || !is_given) return tn_fail_memory("the profiles");
    for (size_t i = 0; i < graph->input_count; i++)
        take_declared(&graph->tensors[graph->inputs[i]], &profiles[i]);
    for (uint32_t i = 0; i < count; i++) {
        tn_profile_input given;
        size_t input = 0;
        TN_TRY(read_input(inputs[i], &given));
        TN_TRY(find_input(graph, given.name, &input));
        if (is_given[input])
            return tn_fail(TN_ERROR_ARGUMENT, "input '%s' has two profiles", given.name);
        is_given[input] = true;
        TN_TRY(
            tn_error_at(take_given(&graph->tensors[graph->inputs[input]], &given, &profiles[input]),
                        "profile of input '%s'", given.name));
    }
    *out_profiles = profiles;
    return TN_OK;
}

bool tn_profile_is_fixed(const tn_plan_profile *profile) {
    return !profile->is_free && tn_shape_equal(&profile->minimum, &profile->maximum);
}
