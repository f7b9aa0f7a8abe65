/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles of a plan's inputs; see reader.h. */
#include "plan/read/reader.h"

#include "base/status.h"

#include <inttypes.h>

static tn_status read_point(const tn_plan_reader *reader, const Tenon__Plan__Point *message,
                            tn_type type, tn_shape *out_shape, const void **out_value) {
    if (!message) return tn_plan_reader_fail("a point of the profile is not there");
    TN_TRY(tn_plan_reader_shape(message->n_shape, message->shape, out_shape));
    if (!message->has_value) return TN_OK;
    TN_TRY(tn_plan_reader_check_elements(type, out_shape, message->value.data, message->value.len));
    *out_value = tn_arena_copy(reader->contents.arena, message->value.data, message->value.len);
    return *out_value ? TN_OK : tn_fail_memory("a profile's value");
}

/* Minimum <= optimum <= maximum, each of which the input's declaration allows. */
static tn_status check_profile(const tn_graph_tensor *tensor, const tn_plan_profile *profile) {
    uint32_t rank = profile->optimum.rank;
    if (profile->minimum.rank != rank || profile->maximum.rank != rank ||
        (tensor->has_shape && tensor->shape.rank != rank))
        return tn_plan_reader_fail("the ranks of the profile differ");
    for (uint32_t axis = 0; axis < rank; axis++) {
        int64_t low = profile->minimum.extents[axis], best = profile->optimum.extents[axis],
                high = profile->maximum.extents[axis];
        int64_t declared = tensor->has_shape ? tensor->shape.extents[axis] : -1;
        if (low > best || best > high || (declared >= 0 && (low != declared || high != declared)))
            return tn_plan_reader_fail("axis %" PRIu32 " of the profile goes from %" PRId64
                                       " over %" PRId64 " to %" PRId64,
                                       axis, low, best, high);
    }
    bool has_value = profile->optimum_value != NULL;
    if (has_value != (profile->minimum_value != NULL) ||
        has_value != (profile->maximum_value != NULL))
        return tn_plan_reader_fail("the profile has values at some of its points");
    return TN_OK;
}

static tn_status read_profile(const tn_plan_reader *reader, const Tenon__Plan__Profile *message,
                              const tn_graph_tensor *tensor, tn_plan_profile *profile) {
    profile->is_free = message->is_free;
    TN_TRY(read_point(reader, message->minimum, tensor->type, &profile->minimum,
                      &profile->minimum_value));
    TN_TRY(read_point(reader, message->optimum, tensor->type, &profile->optimum,
                      &profile->optimum_value));
    TN_TRY(read_point(reader, message->maximum, tensor->type, &profile->maximum,
                      &profile->maximum_value));
    return check_profile(tensor, profile);
}

static tn_status read_set(const tn_plan_reader *reader, size_t count,
                          Tenon__Plan__Profile *const *messages, tn_plan_profile *profiles) {
    const tn_graph *graph = reader->contents.graph;
    if (count != graph->input_count)
        return tn_plan_reader_fail("it has %zu profiles for %zu inputs", count, graph->input_count);
    for (size_t i = 0; i < graph->input_count; i++) {
        const tn_graph_tensor *tensor = &graph->tensors[graph->inputs[i]];
        TN_TRY(tn_error_at(read_profile(reader, messages[i], tensor, &profiles[i]),
                           "profile of input '%s'", tensor->name));
    }
    return TN_OK;
}

tn_status tn_plan_read_profiles(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    const size_t input_count = reader->contents.graph->input_count,
                 further = plan->n_further_profiles;
    if (further >= TN_PROFILE_LIMIT)
        return tn_plan_reader_fail("it has %zu profiles; at most %u are possible", further + 1,
                                   TN_PROFILE_LIMIT);
    tn_plan_profile *profiles =
        tn_arena_allocate(reader->contents.arena, (further + 1) * input_count, sizeof(*profiles));
    if (!profiles) return tn_fail_memory("the profiles of a plan");
    TN_TRY(read_set(reader, plan->n_profiles, plan->profiles, profiles));
    for (size_t p = 0; p < further; p++) {
        const Tenon__Plan__ProfileSet *set = plan->further_profiles[p];
        TN_TRY(tn_error_at(
            read_set(reader, set->n_inputs, set->inputs, profiles + (p + 1) * input_count),
            "profile %zu", p + 1));
    }
    reader->contents.profile_count = (uint32_t)further + 1;
    reader->contents.profiles = profiles;
    return TN_OK;
}
