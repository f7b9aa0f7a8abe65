/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the rule about other shapes that change extents by what they are, wherever they
 * stand: extents that are alike, those that are multiples of another one, and the shapes of
 * indices. See rules_shapes.c.
 */
#include "rules/declared/rules_shapes.h"

#include <string.h>
#include <time.h>

/* What runs so long in one shape may take too long in one that is four times as large. */
static const double MOST_SECONDS = 0.004;

/* Whether the first input's extent at an axis is one that it, or another input, has elsewhere. */
static bool has_alike(const tn_shapes *all, uint32_t axis) {
    const int64_t extent = all->base[0].extents[axis];
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < all->base[i].rank && !all->is_fixed[i]; k++)
            if (all->base[i].extents[k] == extent &&
                (k != axis || (i > 0 && all->base[i].rank != all->base[0].rank)))
                return true;
    return false;
}

/* An extent wherever the case has another one; false: that is too much. */
static bool replace_extent(const tn_shapes *all, int64_t extent, int64_t by, tn_shape *out) {
    enum { MOST_OF_TABLES = 1 << 19 };
    memcpy(out, all->base, all->count * sizeof(*out));
    for (uint32_t i = 0; i < all->count; i++) {
        size_t count = 0;
        for (uint32_t k = 0; k < out[i].rank && !all->is_fixed[i]; k++)
            if (out[i].extents[k] == extent) out[i].extents[k] = by;
        if (tn_shape_count(&out[i], &count) != TN_OK || count > MOST_OF_TABLES) return false;
    }
    return true;
}

/* An extent of the first input wherever the case has it, as tables from labels to labels have:
 * more than 8 bits count, where there is time for the cube of it. */
static void try_alike(tn_shapes *all, tn_verdict *verdict) {
    static const int64_t extents[] = {1, 0, 2, 33, 131, 523};
    for (uint32_t axis = 0; all->count > 0 && axis < all->base[0].rank; axis++) {
        const int64_t extent = all->base[0].extents[axis];
        double last = 0;
        for (size_t e = 0; e < TN_COUNT(extents) && has_alike(all, axis); e++) {
            tn_shape of[TN_PROBE_PORTS];
            if (last > MOST_SECONDS || !replace_extent(all, extent, extents[e], of)) break;
            const clock_t begin = clock();
            if (!tn_shapes_try(all, of, verdict) && extents[e] > 1) break;
            last = (double)(clock() - begin) / CLOCKS_PER_SEC;
        }
    }
}

/* ----------------------------------------------------------------------------------------------
 * multiples */

/* Two, three and four times a width, as gates, keys and values that lie in one tensor have. */
enum { MOST_TIMES = 4 };

static int64_t times_of(int64_t extent, int64_t of) {
    const int64_t times = of > 1 && extent % of == 0 ? extent / of : 0;
    return times >= 1 && times <= MOST_TIMES ? times : 0;
}

/* Whether some extent is two to four times this one. */
static bool has_multiple(const tn_shapes *all, int64_t extent) {
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < all->base[i].rank && !all->is_fixed[i]; k++)
            if (times_of(all->base[i].extents[k], extent) > 1) return true;
    return false;
}

static bool scale_extents(const tn_shapes *all, int64_t extent, int64_t by, tn_shape *out) {
    memcpy(out, all->base, all->count * sizeof(*out));
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < out[i].rank && !all->is_fixed[i]; k++) {
            const int64_t times = times_of(out[i].extents[k], extent);
            if (times > 0) out[i].extents[k] = times * by;
        }
    return tn_shapes_are_small(all, out);
}

/* Another width, and with it all that are multiples of it; what one of them is not is refused. */
static void try_multiples_of(tn_shapes *all, int64_t extent, tn_verdict *verdict) {
    const int64_t widths[] = {extent + 1, 1, 2, 13, 33};
    for (size_t e = 0; e < TN_COUNT(widths) && verdict->outcome == TN_PASSED; e++) {
        tn_shape of[TN_PROBE_PORTS];
        if (widths[e] == extent || !scale_extents(all, extent, widths[e], of)) continue;
        if (!tn_shapes_try(all, of, verdict) && e == 0) break;
    }
}

static void try_multiples(tn_shapes *all, tn_verdict *verdict) {
    enum { MOST_WIDTHS = 8 };
    int64_t done[MOST_WIDTHS];
    size_t count = 0;
    for (uint32_t i = 0; i < all->count; i++)
        for (uint32_t k = 0; k < all->base[i].rank && !all->is_fixed[i]; k++) {
            const int64_t extent = all->base[i].extents[k];
            size_t known = 0;
            while (known < count && done[known] != extent)
                known++;
            if (known < count || count == MOST_WIDTHS || !has_multiple(all, extent)) continue;
            done[count++] = extent;
            try_multiples_of(all, extent, verdict);
        }
}

void tn_shapes_try_alike(tn_shapes *all, tn_verdict *verdict) {
    try_alike(all, verdict);
    try_multiples(all, verdict);
}

/* ----------------------------------------------------------------------------------------------
 * indices */

/* Indices in other shapes than the case's: a scalar, one, none, with an axis more. */
static void try_indices(tn_shapes *all, tn_verdict *verdict) {
    for (uint32_t i = 0; i < all->count; i++) {
        const tn_shape own = all->base[i];
        const tn_shape others[] = {
            {.rank = 0}, {.rank = 1, .extents = {1}}, {.rank = 1, .extents = {0}}};
        tn_shape of[TN_PROBE_PORTS];
        const tn_change change = {.axis = -1, .shapes = of, .reshaped_input = i + 1};
        if (!all->is_fixed[i] || all->is_needed[i]) continue;
        for (size_t k = 0; k <= TN_COUNT(others) && verdict->outcome == TN_PASSED; k++) {
            memcpy(of, all->base, all->count * sizeof(*of));
            if (k < TN_COUNT(others)) {
                of[i] = others[k];
            } else if (own.rank < TN_MAX_RANK) {
                of[i].rank++;
                of[i].extents[own.rank] = 2;
            }
            if (!tn_shape_equal(&of[i], &own))
                all->tried += tn_shapes_attempt(all->test, &change, verdict);
        }
        for (uint32_t k = 0; k < 2 * own.rank && own.rank > 1; k++) { /* none, and one of an axis */
            memcpy(of, all->base, all->count * sizeof(*of));
            of[i].extents[k / 2] = k % 2;
            if (verdict->outcome == TN_PASSED && !tn_shape_equal(&of[i], &own))
                all->tried += tn_shapes_attempt(all->test, &change, verdict);
        }
    }
}

/* Many indices, again and again the case's own, with the rows that belong to them. */
static void try_many_indices(tn_shapes *all, tn_verdict *verdict) {
    enum { MANY = 1031 };
    for (uint32_t i = 0; i < all->count && verdict->outcome == TN_PASSED; i++) {
        const tn_shape own = all->base[i];
        const int64_t extent = own.rank > 0 ? own.extents[0] : 0;
        tn_shape of[TN_PROBE_PORTS];
        const tn_change change = {.axis = -1, .shapes = of, .reshaped_input = i + 1};
        if (!all->is_fixed[i] || all->is_needed[i] || extent < 2) continue;
        memcpy(of, all->base, all->count * sizeof(*of));
        of[i].extents[0] = MANY;
        for (uint32_t k = 0; k < all->count; k++)
            for (uint32_t axis = 0; axis < of[k].rank && !all->is_fixed[k]; axis++)
                if (of[k].extents[axis] == extent) of[k].extents[axis] = MANY;
        if (tn_shapes_are_small(all, of))
            all->tried += tn_shapes_attempt(all->test, &change, verdict);
    }
}

void tn_shapes_try_indices(tn_shapes *all, tn_verdict *verdict) {
    try_indices(all, verdict);
    try_many_indices(all, verdict);
}
