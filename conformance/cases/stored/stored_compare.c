/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a kernel's outputs lie as near to the reference's as rounding lets a right one come:
 *
 *   8 bits:  |output / s - clamp(y / s, -128, 127)| <= 1/2 + W / s + 2^-23 * |S| / s + 1e-3
 *            (unsigned with a zero point z: clamp(y / s, -z, 255 - z)), where s is the output's
 *            scale, y the reference's real number, S the sum of its terms' magnitudes (a kernel
 *            scales its sum in 32-bit floats, and what a residual or bias takes away from it
 *            leaves that rounding), and W bounds what the weights' rounding does: W =
 *            reference(|x|, d, 0) with d = max|w| / 254 * 1.001 in place of every weight of a
 *            constant of two axes or more (half of the largest step of a symmetric quantisation,
 *            a channel or a tensor), biases zero;
 *   floats:  |output - y| <= W + u * |S| + 2 * u * |y| + 1e-5 * max|y|, as bound.h says; kernels
 * that multiply 32-bit floats as tf32: |output - y| <= T + 1e-6 * |y| + 1e-5 * max|y|.
 */
#include "cases/bound.h"
#include "cases/rounding.h"
#include "cases/stored/stored_private.h"

#include <math.h>
#include <stdio.h>

static bool compare_bytes(const tn_drawn *d, const tn_stored_run *run, uint32_t output,
                          const tn_stored_wanted *wanted, char *why, size_t bytes) {
    const float *found = run->results[output];
    const double scale = (double)run->outputs[output].scale;
    const double low = tn_stored_lowest(&run->outputs[output]);
    const double high = tn_stored_highest(&run->outputs[output]);
    size_t ties = 0, odd = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const double steps = fmin(fmax(wanted->y[i] / scale, low), high);
        const double q = rint((double)found[i] / scale);
        const double sum = fabs((double)wanted->sums[i]);
        const double rounding = isfinite(sum) ? 0x1p-23 * sum : 0;
        const double allowed = 0.5 + ((double)wanted->slack[i] + rounding) / scale + 1e-3;
        if (!(fabs(q - steps) <= allowed)) {
            snprintf(why, bytes, "output %u, element %zu is %g steps, expected %.6g +- %.3g",
                     output, i, q, steps, allowed);
            return false;
        }
        if (fabs(steps - floor(steps) - 0.5) < 1e-9) {
            ties++;
            odd += fmod(fabs(q), 2) == 1;
        }
    }
    /* A kernel that computes a little off may miss some, one that rounds otherwise misses half. */
    if (d->draw == TN_DRAW_EXACT &&
        ((ties >= 16 && odd * 4 > ties) || (ties >= 6 && odd * 5 > ties * 2))) {
        snprintf(why, bytes, "of %zu ties %zu were rounded to odd numbers", ties, odd);
        return false;
    }
    return true;
}

/* Infinity, found where it is expected or where the type has nothing larger. */
static bool is_beyond(tn_type type, double wanted, double found) {
    const double largest = type == TN_F16 ? 65504 : type == TN_BF16 ? 3.38e38 : (double)INFINITY;
    return isinf(found) && fabs(wanted) >= largest && (found > 0) == (wanted > 0);
}

static bool compare_floats(const tn_drawn *d, const tn_stored_run *run, uint32_t output,
                           const tn_stored_wanted *wanted, char *why, size_t bytes) {
    const tn_type type = run->outputs[output].type;
    const float *found = run->results[output];
    tn_rounding rounding = {0};
    for (size_t i = 0; i < wanted->count; i++) {
        const double y = wanted->y[i];
        if (tn_stored_is_special(d) && tn_stored_is_special_near(y, (double)found[i])) continue;
        tn_rounding_add(&rounding, type, y, (double)found[i]);
        const double allowed = tn_bound_of(type, y, (double)wanted->slack[i],
                                           (double)wanted->sums[i], d->largest[output]) +
                               (type == TN_F16 ? 0x1p-24 : 0); /* the step of subnormal ones */
        if (!(fabs((double)found[i] - y) <= allowed) && !is_beyond(type, y, (double)found[i]) &&
            !(isnan(y) && isnan((double)found[i]))) {
            snprintf(why, bytes, "output %u, element %zu is %.9g, expected %.9g +- %.3g", output, i,
                     (double)found[i], y, allowed);
            return false;
        }
    }
    if (tn_rounding_bias(&rounding))
        snprintf(why, bytes, "output %u: its numbers are rounded %s, expected to the nearest",
                 output, tn_rounding_bias(&rounding));
    return !tn_rounding_bias(&rounding);
}

static bool compare_output(const tn_drawn *d, const tn_stored_run *run, uint32_t output, char *why,
                           size_t bytes) {
    tn_stored_wanted wanted;
    bool is_right = tn_stored_wanted_make(d, run, output, &wanted);
    if (!is_right)
        snprintf(why, bytes, "no memory for what is wanted");
    else if (run->outputs[output].scale != 0)
        is_right = compare_bytes(d, run, output, &wanted, why, bytes);
    else
        is_right = compare_floats(d, run, output, &wanted, why, bytes);
    tn_stored_wanted_free(&wanted);
    return is_right;
}

static bool is_tf32(const tn_stored_run *run) {
    return run->kernel->traits & TN_KERNEL_TF32;
}

/* Outputs that are stored as they are and have no epilogues: as near as kernels may be. */
static bool compare_own(const tn_drawn *d, const tn_stored_run *run, char *why, size_t bytes) {
    const uint32_t count =
        run->output_count < d->expected.count ? run->output_count : d->expected.count;
    for (uint32_t i = 0; i < count; i++) {
        if (run->outputs[i].own_type == TN_F32 &&
            (d->stored != TN_NONE || run->step_count || is_tf32(run)))
            continue;
        const tn_outcome wanted = {.count = 1,
                                   .types = {d->expected.types[i]},
                                   .shapes = {d->expected.shapes[i]},
                                   .data = {d->expected.data[i]},
                                   .bytes = {d->expected.bytes[i]}};
        tn_outcome found = wanted;
        found.data[0] = run->results[i];
        if (!tn_results_equal(&wanted, &found, false, why, bytes)) return false;
    }
    return true;
}

bool tn_stored_compare(const tn_drawn *d, const tn_stored_run *run, char *why, size_t bytes) {
    if (!compare_own(d, run, why, bytes)) return false;
    if (d->stored == TN_NONE && run->step_count == 0 && !is_tf32(run)) return true;
    for (uint32_t i = 0; i < d->expected.count && i < run->output_count; i++) {
        if (run->outputs[i].own_type != TN_F32) continue; /* compare_own did that */
        if (!compare_output(d, run, i, why, bytes)) return false;
    }
    return true;
}
