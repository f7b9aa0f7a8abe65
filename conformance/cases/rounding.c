/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of rounding errors; see rounding.h. */
#include "rounding.h"

#include <math.h>

/* Fewer elements say nothing. Of what is cut off many may be exact: the mean is half of the share
 * of the others. */
enum { FEWEST = 24 };
static const double LEAST_MEAN = 0.15, MOST_OTHERS = 0.02 /* of all */, TINY = 0.05;
/* What is rounded to the nearest is off by half a unit at most: few numbers, repeated, may all be
 * off to one side. Of what is cut off a good part is off by more. */
static const double LEAST_BEYOND = 0.05; /* of all */

/* The distance of two neighbours at a number, or 0 where it is not a normal one of the type. */
static double unit_at(tn_type type, double value) {
    const int lowest = type == TN_F16 ? -14 : -126, digits = type == TN_F16 ? 10 : 7;
    int exponent = 0;
    if ((type != TN_F16 && type != TN_BF16) || !isfinite(value) || value == 0) return 0;
    (void)frexp(value, &exponent); /* the fraction is from 0.5 to 1 */
    return exponent - 1 < lowest ? 0 : ldexp(1, exponent - 1 - digits);
}

/* The last digit of an even one is 0. */
static void add_half(tn_rounding *rounding, double unit, double wanted, double found) {
    const double steps = fabs(wanted / unit);
    if (steps - floor(steps) != 0.5) return;
    rounding->halves++;
    rounding->odd += fmod(rint(fabs(found / unit)), 2) == 1;
    rounding->up += found > wanted;
    rounding->away += fabs(found) > fabs(wanted);
}

void tn_rounding_add(tn_rounding *rounding, tn_type type, double wanted, double found) {
    const double unit = unit_at(type, wanted);
    if (unit == 0 || !isfinite(found)) return;
    const double error = (found - wanted) / unit;
    const double magnitude = wanted < 0 ? -error : error;
    rounding->count++;
    add_half(rounding, unit, wanted, found);
    rounding->beyond += fabs(error) > 0.5 + TINY;
    rounding->values += error;
    rounding->magnitudes += magnitude;
    rounding->larger += magnitude > TINY;
    rounding->smaller += magnitude < -TINY;
    rounding->above += error > TINY;
    rounding->below += error < -TINY;
    rounding->is_other = rounding->is_other || fabs(error) > 1.01;
}

static bool is_biased(const tn_rounding *rounding, double sum, size_t others) {
    const double count = (double)rounding->count;
    if ((double)rounding->beyond < LEAST_BEYOND * count) return false;
    return sum > LEAST_MEAN * count && (double)others <= MOST_OTHERS * count;
}

/* What computes a little off rounds some halves up and others down; that all go alike is a rule,
 * but where they are halves by chance: what is wanted has 24 digits, so that one of 8,192 numbers
 * whose digits are any seems to be a half of f16's, and a kernel whose errors all have one sign
 * rounds these alike. */
static const char *bias_of_halves(const tn_rounding *rounding) {
    enum { FEWEST_HALVES = 12, MOST_OTHERS_A_HALF = 1024 };
    const size_t halves = rounding->halves;
    if (halves < FEWEST_HALVES || halves < rounding->count / MOST_OTHERS_A_HALF ||
        rounding->odd * 4 < halves)
        return NULL;
    if (rounding->up == halves) return "up where they are halves";
    if (rounding->away == halves) return "away from zero where they are halves";
    if (rounding->up == 0) return "down where they are halves";
    return rounding->away == 0 ? "towards zero where they are halves" : NULL;
}

const char *tn_rounding_bias(const tn_rounding *rounding) {
    if (rounding->count < FEWEST || rounding->is_other) return NULL;
    if (bias_of_halves(rounding)) return bias_of_halves(rounding);
    if (is_biased(rounding, -rounding->magnitudes, rounding->larger)) return "towards zero";
    if (is_biased(rounding, rounding->magnitudes, rounding->smaller)) return "away from zero";
    if (is_biased(rounding, -rounding->values, rounding->above)) return "down";
    return is_biased(rounding, rounding->values, rounding->below) ? "up" : NULL;
}
