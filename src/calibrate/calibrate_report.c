/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a calibration, one JSON document: what each tensor's values are and what 8 bits
 * make of them. */
#include "base/status.h"
#include "base/text.h"
#include "calibrate/calibrate_private.h"

#include <inttypes.h>

#define BARS 64 /* of the coarse histogram */

/* Values that are not zero, in BARS steps up to the largest magnitude; a bin that lies across two
 * bars counts by its parts. */
static void sum_bars(const tn_histogram *histogram, double *bars) {
    const size_t used = tn_histogram_used_bins(histogram);
    const double bars_per_bin =
        histogram->largest > 0 ? histogram->width * BARS / histogram->largest : 0;
    for (size_t i = 0; i < used; i++) {
        const uint64_t zeros = i == 0 ? histogram->zero_count : 0;
        const double count = (double)(histogram->counts[i] - zeros);
        const double from = (double)i * bars_per_bin, to = from + bars_per_bin;
        const size_t bar = (size_t)from < BARS ? (size_t)from : BARS - 1;
        const double inside = to > (double)(bar + 1) && bar + 1 < BARS
                                  ? ((double)(bar + 1) - from) / bars_per_bin
                                  : 1;
        bars[bar] += count * inside;
        if (inside < 1) bars[bar + 1] += count * (1 - inside);
    }
}

static void add_histogram(tn_text *text, const tn_histogram *histogram) {
    double bars[BARS] = {0};
    sum_bars(histogram, bars);
    tn_text_add(text, ", \"histogram\": [");
    for (size_t i = 0; i < BARS; i++)
        tn_text_add_format(text, "%s%.0f", i ? ", " : "", bars[i]);
    tn_text_add(text, "]");
}

static void add_text_or_null(tn_text *text, const char *key, const char *value) {
    tn_text_add_format(text, ", \"%s\": ", key);
    if (value)
        tn_text_add_json(text, value);
    else
        tn_text_add(text, "null");
}

static void add_scale(tn_text *text, const tn_watched_tensor *watched) {
    if (watched->scale == 0) {
        tn_text_add(text, ", \"scale\": null");
        add_text_or_null(text, "why",
                         watched->histogram.value_count == 0 ? "no values" : "zero throughout");
        return;
    }
    tn_text_add_member_number(text, "scale", watched->scale);
    tn_text_add_member_number(text, "bound", watched->bound);
    tn_text_add_member_number(text, "clipped",
                              tn_histogram_clipped_share(&watched->histogram, watched->scale));
    tn_text_add_member_number(text, "error",
                              tn_histogram_quantization_error(&watched->histogram, watched->scale));
}

static void add_tensor(tn_text *text, const tn_watched_tensor *watched) {
    const tn_histogram *histogram = &watched->histogram;
    const double count = (double)histogram->value_count;
    tn_text_add(text, "{\"tensor\": ");
    tn_text_add_json(text, watched->name);
    add_text_or_null(text, "node", watched->node);
    add_text_or_null(text, "op", watched->op);
    tn_text_add_format(text, ", \"values\": %" PRIu64, histogram->value_count);
    tn_text_add_member_number(text, "zeros", count > 0 ? (double)histogram->zero_count / count : 0);
    tn_text_add_member_number(text, "largest", histogram->largest);
    tn_text_add_member_number(text, "lowest", histogram->lowest);
    add_scale(text, watched);
    add_histogram(text, histogram);
    tn_text_add(text, "}");
}

tn_status tn_calibrate_report(const tn_calibration_state *state, char **out_json) {
    const tn_calibrate_options *options = state->options;
    const char *between = "\n    ";
    tn_text text;
    tn_text_init(&text, state->allocator);
    tn_text_add_format(&text, "{\n  \"calibrator\": \"%s\"",
                       tn_calibrate_calibrator_name(options->calibrator));
    if (options->calibrator == TN_CALIBRATOR_PERCENTILE)
        tn_text_add_member_number(&text, "percentile", options->percentile);
    tn_text_add_format(&text, ",\n  \"batches\": %" PRIu64 ",\n  \"tensors\": [",
                       options->batches->count);
    for (size_t i = 0; i < state->watched_count; i++) {
        if (!state->watched[i].histogram.counts) continue;
        tn_text_add(&text, between);
        add_tensor(&text, &state->watched[i]);
        between = ",\n    ";
    }
    tn_text_add(&text, "]\n}\n");
    const tn_status status = tn_text_take(&text, out_json);
    if (status != TN_OK) tn_text_deinit(&text);
    return status;
}
