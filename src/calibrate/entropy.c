/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entropy calibrator: of all bounds it takes the one whose 128 coarse levels tell least
 * (Kullback-Leibler divergence) from the values themselves.
 *
 * After S. Migacz, "8-bit Inference with TensorRT", GTC 2017, S7310. For each number of bins i from
 * 128 to all: P is the first i bins, with all that lies beyond added to the last of them; Q is the
 * same bins without what lies beyond, merged into 128 groups of about i / 128, each group's sum
 * spread evenly over those of its bins that are not empty. Where the published description leaves a
 * choice, this is:
 *   - bin 0 counts as bin 1 does. Zeros cost nothing at any scale, and after a ReLU they are most
 *     of the values, so that their spike would decide alone (as NVIDIA's open tools do);
 *   - a candidate whose last bin is empty, while something lies beyond, is passed over: Q would be
 *     0 there where P is not;
 *   - of equal candidates the largest bound wins;
 *   - the bound is the right edge of the last bin that is kept, not its centre: no value that was
 *     kept is cut off.
 *
 * Since Q is constant over the bins of a group that are not empty, a candidate takes 128 steps with
 * sums over bins that are made once:
 *     D = (sum P ln P - sum over groups of P_g ln(Q_g / n_g)) / sum P - ln sum P + ln sum Q
 */
#include "calibrate/calibrator.h"

#include <math.h>

#define GROUPS 128

/* Sums over the bins before each. Three of them, so that a group is a difference. */
typedef struct bin_sums {
    double counts[TN_HISTOGRAM_BINS_TOTAL + 1];
    double information[TN_HISTOGRAM_BINS_TOTAL + 1]; /* c ln c */
    uint32_t filled[TN_HISTOGRAM_BINS_TOTAL + 1];    /* bins that are not empty */
} bin_sums;

static double x_ln_x(double x) {
    return x > 0 ? x * log(x) : 0;
}

static void sum_bins(const double *counts, size_t used, bin_sums *sums) {
    *sums = (bin_sums){0};
    for (size_t i = 0; i < used; i++) {
        sums->counts[i + 1] = sums->counts[i] + counts[i];
        sums->information[i + 1] = sums->information[i] + x_ln_x(counts[i]);
        sums->filled[i + 1] = sums->filled[i] + (counts[i] > 0);
    }
}

/* The divergence when the first `kept` bins are kept; the last of them is not empty unless nothing
 * lies beyond. */
static double divergence(const bin_sums *sums, const double *counts, size_t kept, size_t used) {
    const double total = sums->counts[used], inside = sums->counts[kept];
    const double beyond = total - inside, last = counts[kept - 1];
    double cross = 0;
    for (size_t group = 0; group < GROUPS; group++) {
        const size_t from = group * kept / GROUPS, to = (group + 1) * kept / GROUPS;
        const double q = sums->counts[to] - sums->counts[from];
        const uint32_t filled = sums->filled[to] - sums->filled[from];
        if (filled == 0) continue;
        cross += (q + (to == kept ? beyond : 0)) * log(q / (double)filled);
    }
    const double own = sums->information[kept] - x_ln_x(last) + x_ln_x(last + beyond);
    return (own - cross) / total - log(total) + log(inside);
}

double tn_entropy_bound(const tn_histogram *histogram) {
    double counts[TN_HISTOGRAM_BINS_TOTAL] = {0};
    const size_t used = tn_histogram_used_bins(histogram);
    size_t best = used;
    double least = INFINITY;
    bin_sums sums;
    for (size_t i = 0; i < used; i++)
        counts[i] = (double)histogram->counts[i];
    if (used > 1) counts[0] = counts[1];
    sum_bins(counts, used, &sums);
    for (size_t kept = GROUPS; kept <= used; kept++) {
        if (!(sums.counts[kept] > 0) || (counts[kept - 1] == 0 && kept < used)) continue;
        const double candidate = divergence(&sums, counts, kept, used);
        if (candidate <= least) {
            least = candidate;
            best = kept;
        }
    }
    return used == 0 ? 0 : fmin((double)best * histogram->width, histogram->largest);
}
