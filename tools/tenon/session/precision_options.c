/* SPDX-License-Identifier: Apache-2.0 */
/* The options about precision and calibration that are more than a text or a list; the others are
 * in options.c. */
#include "precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool read_bounded(const char *text, double least, double most, double *out) {
    char *end;
    *out = strtod(text, &end);
    return *text && *end == 0 && *out >= least && *out <= most;
}

static int read_calibrator(cli_options *options, const char *value) {
    static const char *const names[] = {[TN_CALIBRATOR_ENTROPY] = "entropy",
                                        [TN_CALIBRATOR_MIN_MAX] = "minmax",
                                        [TN_CALIBRATOR_PERCENTILE] = "percentile"};
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(value, names[i]) != 0) continue;
        options->calibrator = i;
        return EXIT_DONE;
    }
    return cli_bad_value("calibrator", value, "entropy, minmax or percentile");
}

bool cli_option_of_precision(cli_options *options, char letter, const char *value, int *out_exit) {
    *out_exit = EXIT_DONE;
    switch (letter) {
    case 'c':
        if (!precision_parse(value, &options->precision, &options->second_precision))
            *out_exit = cli_bad_value("precision", value,
                                      "fp32, tf32, bf16, fp16, int8, int8,fp16 or int8,bf16");
        return true;
    case 'G':
        *out_exit = read_calibrator(options, value);
        return true;
    case 'Q':
        if (!read_bounded(value, 1e-6, 100, &options->percentile))
            *out_exit = cli_bad_value("percentile", value, "a number above 0 and 100 at most");
        return true;
    case 'X':
        options->has_max_loss = true;
        if (!read_bounded(value, 0, HUGE_VAL, &options->max_loss))
            *out_exit = cli_bad_value("max-accuracy-loss", value, "a number from 0, like 0.01");
        return true;
    default:
        return false;
    }
}
