/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a plan's profiles has the shapes of a run, and the values that decide shapes; of several
 * the one whose optimum is nearest. What a shape outside of all of them is told is here as well.
 */
#include "base/text.h"
#include "run/context_private.h"

#include <inttypes.h>
#include <math.h>
#include <tenon/profiles.h>

/* ----------------------------------------------------------------------------------------------
 * one profile */

static const tn_plan_profile *range_of(const tn_context *context, uint32_t profile,
                                       uint32_t input) {
    return &tn_engine_at_profile(context->engine, profile)->contents.profiles[input];
}

/* The first axis that is outside, or the rank where that differs; UINT32_MAX: none. */
static uint32_t find_outside(const tn_plan_profile *range, const tn_shape *shape) {
    if (range->is_free) return UINT32_MAX;
    if (shape->rank != range->minimum.rank) return shape->rank;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape->extents[i] < range->minimum.extents[i] ||
            shape->extents[i] > range->maximum.extents[i])
            return i;
    return UINT32_MAX;
}

typedef struct value_range {
    double value, low, high;
} value_range;

static value_range read_value(const tn_plan_profile *range, tn_type type, const void *value,
                              size_t element) {
    const double a = tn_element_get_f64(range->minimum_value, type, element),
                 b = tn_element_get_f64(range->maximum_value, type, element);
    return (value_range){tn_element_get_f64(value, type, element), a < b ? a : b, a < b ? b : a};
}

/* How many elements of an input's value a profile speaks of: all, where it has as many at all three
 * points. */
static size_t count_checked(const tn_context *context, const tn_plan_profile *range,
                            uint32_t input) {
    size_t bytes = 0;
    if (!context->shapes.values[input] || !range->minimum_value || !range->maximum_value ||
        !tn_shape_equal(&range->minimum, &range->maximum) ||
        !tn_shape_equal(&range->minimum, &context->shapes.now[input]) ||
        tn_format_bytes(TN_LINEAR, context->engine->inputs[input].type, &context->shapes.now[input],
                        &bytes) != TN_OK)
        return 0;
    return tn_type_elements(context->engine->inputs[input].type, bytes);
}

/* The first element that is outside; SIZE_MAX: none. */
static size_t find_value_outside(const tn_context *context, const tn_plan_profile *range,
                                 uint32_t input) {
    const tn_type type = context->engine->inputs[input].type;
    const size_t count = count_checked(context, range, input);
    for (size_t i = 0; i < count; i++) {
        const value_range at = read_value(range, type, context->shapes.values[input], i);
        if (at.value < at.low || at.value > at.high) return i;
    }
    return SIZE_MAX;
}

static bool fits_profile(const tn_context *context, uint32_t profile) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_plan_profile *range = range_of(context, profile, i);
        if (find_outside(range, &context->shapes.now[i]) != UINT32_MAX ||
            find_value_outside(context, range, i) != SIZE_MAX)
            return false;
    }
    return true;
}

/* How far a number is from the optimum: half of it is as far as twice. */
static double distance(double value, double optimum) {
    return fabs(log((1 + fabs(value)) / (1 + fabs(optimum))));
}

static double distance_of(const tn_context *context, uint32_t profile) {
    double sum = 0;
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_plan_profile *range = range_of(context, profile, i);
        const tn_shape *shape = &context->shapes.now[i];
        const tn_type type = context->engine->inputs[i].type;
        const size_t count = count_checked(context, range, i);
        for (uint32_t axis = 0; axis < shape->rank && axis < range->optimum.rank; axis++)
            sum += distance((double)shape->extents[axis], (double)range->optimum.extents[axis]);
        for (size_t k = 0; k < count; k++)
            sum += distance(tn_element_get_f64(context->shapes.values[i], type, k),
                            tn_element_get_f64(range->optimum_value, type, k));
    }
    return sum;
}

/* ----------------------------------------------------------------------------------------------
 * what is outside of them */

static void explain_shape(tn_text *text, const tn_context *context, uint32_t input,
                          const tn_plan_profile *range, const tn_shape *shape, uint32_t axis) {
    const char *name = context->engine->inputs[input].name;
    char shown[TN_SHAPE_TEXT_BYTES];
    tn_shape_print(shape->rank, shape->extents, shown, sizeof(shown));
    if (axis >= shape->rank)
        tn_text_add_format(text, "input '%s' has shape %s: expected rank %" PRIu32, name, shown,
                           range->minimum.rank);
    else
        tn_text_add_format(text,
                           "input '%s' has shape %s: axis %" PRIu32 " is %" PRId64
                           ", the plan was built for %" PRId64 " to %" PRId64,
                           name, shown, axis, shape->extents[axis], range->minimum.extents[axis],
                           range->maximum.extents[axis]);
}

static tn_status fail_text(tn_text *text, tn_status status) {
    tn_fail(status, "%s", text->data ? text->data : "outside of the profile");
    tn_text_deinit(text);
    return status;
}

/* The profile that would have a shape, for people: the choice of the caller's has not. */
static void add_hint(tn_text *text, const tn_context *context, uint32_t input,
                     const tn_shape *shape) {
    for (uint32_t p = 0; p < context->engine->profile_count; p++) {
        if (find_outside(range_of(context, p, input), shape) != UINT32_MAX) continue;
        tn_text_add_format(text, "; profile %" PRIu32 " has it, and profile %" PRIu32 " is chosen",
                           p, context->profiles.chosen);
        return;
    }
}

static tn_status fail_shape(const tn_context *context, uint32_t profile, uint32_t input,
                            const tn_shape *shape) {
    const tn_plan_profile *range = range_of(context, profile, input);
    const uint32_t axis = find_outside(range, shape);
    tn_text text;
    tn_text_init(&text, context->engine->allocator);
    explain_shape(&text, context, input, range, shape, axis);
    if (context->profiles.chosen != TN_PROFILE_AUTOMATIC) add_hint(&text, context, input, shape);
    return fail_text(&text, axis >= shape->rank ? TN_ERROR_SHAPE : TN_ERROR_RANGE);
}

static void explain_value(tn_text *text, const tn_context *context, uint32_t profile,
                          uint32_t input, size_t element) {
    const value_range at =
        read_value(range_of(context, profile, input), context->engine->inputs[input].type,
                   context->shapes.values[input], element);
    tn_text_add_format(
        text, "element %zu of the value of input '%s' is %g, the plan was built for %g to %g",
        element, context->engine->inputs[input].name, at.value, at.low, at.high);
}

/* What of a run is outside of a profile, the first thing; the status that says so. */
static tn_status explain(tn_text *text, const tn_context *context, uint32_t profile) {
    for (uint32_t i = 0; i < tn_context_input_count(context); i++) {
        const tn_plan_profile *range = range_of(context, profile, i);
        const uint32_t axis = find_outside(range, &context->shapes.now[i]);
        const size_t element = find_value_outside(context, range, i);
        if (axis != UINT32_MAX) {
            explain_shape(text, context, i, range, &context->shapes.now[i], axis);
            return axis >= context->shapes.now[i].rank ? TN_ERROR_SHAPE : TN_ERROR_RANGE;
        }
        if (element != SIZE_MAX) {
            explain_value(text, context, profile, i, element);
            return TN_ERROR_RANGE;
        }
    }
    return TN_OK;
}

static tn_status fail_run(const tn_context *context) {
    const uint32_t count = context->engine->profile_count;
    const bool is_chosen = context->profiles.chosen != TN_PROFILE_AUTOMATIC;
    tn_status status = TN_ERROR_RANGE;
    tn_text text;
    tn_text_init(&text, context->engine->allocator);
    if (is_chosen || count == 1) {
        status = explain(&text, context, is_chosen ? context->profiles.chosen : 0);
        if (count > 1)
            tn_text_add_format(&text, " in profile %" PRIu32 ", which is chosen",
                               context->profiles.chosen);
        return fail_text(&text, status);
    }
    tn_text_add(&text, "no profile has all that the inputs have");
    for (uint32_t p = 0; p < count; p++) {
        tn_text_add_format(&text, "; profile %" PRIu32 ": ", p);
        (void)explain(&text, context, p);
    }
    return fail_text(&text, status);
}

/* ----------------------------------------------------------------------------------------------
 * choices */

tn_status tn_profiles_check_shape(const tn_context *context, uint32_t input,
                                  const tn_shape *shape) {
    const uint32_t count = context->engine->profile_count;
    const bool is_chosen = context->profiles.chosen != TN_PROFILE_AUTOMATIC;
    tn_text text;
    if (is_chosen || count == 1) {
        const uint32_t profile = is_chosen ? context->profiles.chosen : 0;
        return find_outside(range_of(context, profile, input), shape) == UINT32_MAX
                   ? TN_OK
                   : fail_shape(context, profile, input, shape);
    }
    for (uint32_t p = 0; p < count; p++)
        if (find_outside(range_of(context, p, input), shape) == UINT32_MAX) return TN_OK;
    tn_text_init(&text, context->engine->allocator);
    tn_text_add(&text, "no profile has this shape");
    for (uint32_t p = 0; p < count; p++) {
        const tn_plan_profile *range = range_of(context, p, input);
        tn_text_add_format(&text, "; profile %" PRIu32 ": ", p);
        explain_shape(&text, context, input, range, shape, find_outside(range, shape));
    }
    return fail_text(&text, TN_ERROR_RANGE);
}

tn_status tn_profiles_choose(const tn_context *context, uint32_t *out_profile) {
    const uint32_t count = context->engine->profile_count;
    uint32_t best = UINT32_MAX;
    double least = 0;
    *out_profile = 0;
    if (count == 1 && !context->engine->has_value_inputs) return TN_OK; /* shapes were checked */
    for (uint32_t p = 0; p < count; p++) {
        const bool is_allowed =
            context->profiles.chosen == TN_PROFILE_AUTOMATIC || context->profiles.chosen == p;
        if (!is_allowed || !fits_profile(context, p)) continue;
        const double here = count > 1 ? distance_of(context, p) : 0;
        if (best != UINT32_MAX && here >= least) continue;
        best = p;
        least = here;
    }
    if (best == UINT32_MAX) return fail_run(context);
    *out_profile = best;
    return TN_OK;
}
