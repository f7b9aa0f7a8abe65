/* SPDX-License-Identifier: Apache-2.0 */
/* Which number stands for which open extent at which point: see probe.h. */
#include "program/probe.h"
#include "base/status.h"

#include <string.h>

/* What free extents are multiples of, by round, and that multiple at the maximum: one that others
 * divide, so that a branch which takes even extents alone is met. */
static const int64_t bases[TN_PROBE_ROUNDS] = {1, 60, 480};
enum { OTHER_MULTIPLE = 12, FIRST_PRIME = 11 };
/* From which on free extents are at the last shape of the first round: behind strides of 32 and
 * more small ones are all 1, and look fixed. Multiples of later rounds are as large by themselves.
 */
enum { FIRST_LARGE_PRIME = 1009, LARGE = 1 + TN_PROBE_FURTHER };

static bool is_prime(int64_t number) {
    for (int64_t divisor = 2; divisor * divisor <= number; divisor++)
        if (number % divisor == 0) return false;
    return number >= 2;
}

static bool is_open(const tn_probe *probe, size_t input, uint32_t axis) {
    const tn_graph_tensor *tensor = &probe->graph->tensors[probe->graph->inputs[input]];
    const tn_plan_profile *profile = &probe->profiles[input];
    if (profile->is_free) return tensor->has_shape && tensor->shape.extents[axis] < 0;
    return profile->minimum.extents[axis] != profile->maximum.extents[axis] ||
           (tensor->has_shape && tensor->extent_names[axis]);
}

static uint32_t find_extent(tn_probe *probe, const char *name) {
    for (uint32_t i = 0; name && i < probe->count; i++)
        if (probe->extents[i].name && strcmp(probe->extents[i].name, name) == 0) return i;
    probe->extents[probe->count] = (tn_probe_extent){.name = name};
    return probe->count++;
}

/* The first profile that bounds an extent counts; that others differ is found by inference. */
static void note_axis(tn_probe *probe, size_t input, uint32_t axis) {
    const tn_graph_tensor *tensor = &probe->graph->tensors[probe->graph->inputs[input]];
    const tn_plan_profile *profile = &probe->profiles[input];
    const uint32_t index =
        find_extent(probe, tensor->has_shape ? tensor->extent_names[axis] : NULL);
    tn_probe_extent *extent = &probe->extents[index];
    probe->numbers[input * TN_MAX_RANK + axis] = index + 1;
    if (profile->is_free || extent->is_bounded) return;
    extent->is_bounded = true;
    extent->minimum = profile->minimum.extents[axis];
    extent->optimum = profile->optimum.extents[axis];
    extent->maximum = profile->maximum.extents[axis];
}

/* Whether an earlier extent is this number at the same shape. */
static bool is_taken(const tn_probe *probe, uint32_t before, uint32_t shape, int64_t number) {
    for (uint32_t i = 0; i < before; i++)
        if (probe->extents[i].apart[shape] == number) return true;
    return false;
}

/* Whether the extent was tried at this number before. */
static bool is_tried(const tn_probe_extent *extent, uint32_t shape, int64_t number) {
    for (uint32_t i = 0; i < shape; i++)
        if (extent->apart[i] == number) return true;
    return shape > 0 &&
           (number == extent->minimum || number == extent->optimum || number == extent->maximum);
}

/* A number within the profile that no earlier extent has and that was not tried, a prime where
 * there is one. */
static int64_t bounded_apart(const tn_probe *probe, uint32_t index, uint32_t shape) {
    const tn_probe_extent *extent = &probe->extents[index];
    int64_t any = extent->optimum;
    bool is_new = false;
    /* Primes are dense: among so many numbers there is a free one, or no need for one. */
    const int64_t range = 16 * ((int64_t)index + 4);
    const int64_t last =
        extent->maximum - extent->minimum < range ? extent->maximum : extent->minimum + range;
    for (int64_t number = last; number >= extent->minimum; number--) {
        if (is_taken(probe, index, shape, number)) continue;
        const bool is_known = is_tried(extent, shape, number);
        if (!is_known && number > 2 && is_prime(number)) return number;
        if (is_known && is_new) continue;
        any = number;
        is_new = !is_known;
    }
    return any;
}

static int64_t free_apart(const tn_probe *probe, uint32_t index, uint32_t shape) {
    int64_t number = shape == LARGE ? FIRST_LARGE_PRIME : FIRST_PRIME;
    while (!is_prime(number) || is_taken(probe, index, shape, number) ||
           is_tried(&probe->extents[index], shape, number))
        number++;
    return number;
}

tn_status tn_probe_init(tn_probe *probe, const tn_graph *graph, const tn_plan_profile *profiles,
                        tn_arena *arena) {
    const size_t axes = graph->input_count * TN_MAX_RANK + 1;
    *probe = (tn_probe){.graph = graph, .profiles = profiles};
    probe->numbers = tn_arena_allocate(arena, axes, sizeof *probe->numbers);
    probe->extents = tn_arena_allocate(arena, axes, sizeof *probe->extents);
    if (!probe->numbers || !probe->extents) return tn_fail_memory("the extents of a profile");
    for (size_t i = 0; i < graph->input_count; i++)
        for (uint32_t axis = 0; axis < profiles[i].optimum.rank; axis++)
            if (is_open(probe, i, axis)) note_axis(probe, i, axis);
    for (uint32_t shape = 0; shape < TN_PROBE_APART; shape++)
        for (uint32_t i = 0; i < probe->count; i++)
            probe->extents[i].apart[shape] = probe->extents[i].is_bounded
                                                 ? bounded_apart(probe, i, shape)
                                                 : free_apart(probe, i, shape);
    return TN_OK;
}

static int64_t extent_at(const tn_probe_extent *extent, int point, int round) {
    if (extent->is_bounded) {
        const int64_t numbers[TN_POINTS] = {extent->minimum, extent->optimum, extent->maximum,
                                            extent->apart[0]};
        return numbers[point];
    }
    if (point == TN_POINT_MAXIMUM) return OTHER_MULTIPLE * bases[round];
    return (point == TN_POINT_APART ? extent->apart[0] : 1) * bases[round];
}

tn_shape tn_probe_shape(const tn_probe *probe, size_t input, int point, int round) {
    const tn_plan_profile *profile = &probe->profiles[input];
    tn_shape shape = profile->optimum;
    /* Values are there for the three points alone, and for their shapes. */
    if (point == TN_POINT_MINIMUM) shape = profile->minimum;
    if (point == TN_POINT_MAXIMUM) shape = profile->maximum;
    for (uint32_t axis = 0; axis < shape.rank; axis++) {
        const uint32_t number = probe->numbers[input * TN_MAX_RANK + axis];
        if (number == 0 || (profile->optimum_value && point == TN_POINT_APART)) continue;
        if (profile->is_free || point == TN_POINT_APART)
            shape.extents[axis] = extent_at(&probe->extents[number - 1], point, round);
    }
    return shape;
}

tn_shape tn_probe_further(const tn_probe *probe, size_t input, uint32_t number, int round) {
    const tn_plan_profile *profile = &probe->profiles[input];
    const uint32_t at = round == 0 && number + 1 == TN_PROBE_FURTHER ? LARGE : 1 + number;
    tn_shape shape = profile->optimum;
    for (uint32_t axis = 0; axis < shape.rank && !profile->optimum_value; axis++) {
        const uint32_t extent = probe->numbers[input * TN_MAX_RANK + axis];
        if (extent == 0) continue;
        const tn_probe_extent *open = &probe->extents[extent - 1];
        shape.extents[axis] = open->apart[at] * (open->is_bounded ? 1 : bases[round]);
    }
    return shape;
}

bool tn_probe_is_apart(const tn_probe *probe) {
    return probe->count > 1;
}

bool tn_probe_is_varying(const tn_probe *probe) {
    for (size_t i = 0; i < probe->graph->input_count; i++) {
        const tn_plan_profile *profile = &probe->profiles[i];
        if (!profile->is_free && !tn_shape_equal(&profile->minimum, &profile->maximum)) return true;
        for (uint32_t axis = 0; profile->is_free && axis < profile->optimum.rank; axis++)
            if (probe->numbers[i * TN_MAX_RANK + axis]) return true;
    }
    return false;
}
