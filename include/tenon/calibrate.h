/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibrating and measuring with sample inputs: finds the scales that a build with 8-bit precision
 * needs, and builds with a bound on what a lower precision may cost. Both run the network here.
 *
 *     tn_calibrate -> tn_calibration (kept by tn_calibration_write) -> tn_build_accurate -> tn_plan
 */
#ifndef TENON_CALIBRATE_H
#define TENON_CALIBRATE_H

#include <tenon/builder.h>
#include <tenon/calibration.h>
#include <tenon/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sample inputs, a batch at a time. */
typedef struct tn_batches {
    uint32_t size;
    uint32_t reserved; /* 0 */
    uint64_t count;    /* at least 1 */
    /* Gives batch `index`, below `count`: sets a pointer for each of the graph's inputs, in their
     * order, to a linear tensor of the input's type with its data; shapes may differ from batch to
     * batch. What is given must live until the next call or the end of the calibration. Batches may
     * be asked for in any order, and again. Any status but TN_OK ends the calibration with it.
     * [thread: the caller's] */
    tn_status (*read)(void *user, uint64_t index, const tn_tensor **out_inputs);
    /* Told how far `stage` ("calibrate", "measure", "probe", "search": text for people) has come;
     * false ends it with TN_ERROR_CANCELLED. Null: nobody is told. [thread: the caller's] */
    bool (*progress)(void *user, const char *stage, uint64_t done, uint64_t count);
    void *user;
} tn_batches;

enum {
    TN_CALIBRATOR_ENTROPY = 0,   /* least loss of information (Kullback-Leibler) over a histogram of
                                    2048 bins or more */
    TN_CALIBRATOR_MIN_MAX = 1,   /* the largest magnitude: nothing is cut off */
    TN_CALIBRATOR_PERCENTILE = 2 /* the magnitude below which `percentile` of 100 values lie */
};

typedef struct tn_calibrate_options {
    uint32_t size;
    uint32_t calibrator;             /* TN_CALIBRATOR_... */
    double percentile;               /* above 0, 100 at most; 0: 99.99 */
    const tn_builder_options *build; /* threads, device and profiles; null: as tn_build has them */
    const tn_batches *batches;
} tn_calibrate_options;

/* Runs the network in 32-bit floats over the batches, every tensor of such floats kept as an
 * output, and finds a scale for each from the magnitudes that it took. The graph is not changed. A
 * tensor that was zero throughout, or had no elements, gets no scale. `out_report_json` (may be
 * null), to be freed by tn_text_free, says for each tensor in the order of the network: largest and
 * lowest value, share of zeros, scale, share of values cut off, error of storing it in 8 bits as
 * the root of summed squares over that of the values, and a coarse histogram. Errors name tensor
 * and batch: TN_ERROR_RANGE (a value is infinite or no number), TN_ERROR_TYPE and TN_ERROR_SHAPE
 * (an input is not as the graph says), TN_ERROR_CANCELLED, TN_ERROR_ARGUMENT, and what building and
 * running answer. The caller destroys the table. [thread: one at a time for one graph; runs on as
 * many threads as `build` says] */
TN_EXPORT tn_status tn_calibrate(tn_graph *graph, const tn_calibrate_options *options,
                                 tn_calibration **out_calibration, char **out_report_json);

typedef struct tn_accuracy_options {
    uint32_t size;
    uint32_t probe_count; /* batches for measuring single nodes; 0: 16 */
    double max_loss;      /* bound on the loss; below 0: none, the loss is only measured */
    const tn_builder_options *build; /* what to build, with precision, calibration and keep */
    const tn_batches *batches;
} tn_accuracy_options;

/* Builds a plan and compares its outputs with those of the same network in 32-bit floats over the
 * batches. The loss of an output is sum |y - y32| / sum |y32|; that of the network is its worst
 * output's. While it is above max_loss, the nodes that lose most when they alone have the lower
 * precision go back to 32-bit floats (as if they were named in `keep`); of how many are needed, the
 * least is sought by halving. With all of them back the loss is that of another choice of kernels,
 * about 1e-6; a bound that even this does not hold is TN_ERROR_RANGE. `out_report_json` (may be
 * null), to be freed by tn_text_free, says what was measured and decided. Errors as tn_build,
 * tn_calibrate and running. The caller destroys the plan. [thread: as tn_calibrate] */
TN_EXPORT tn_status tn_build_accurate(tn_graph *graph, const tn_accuracy_options *options,
                                      tn_plan **out_plan, char **out_report_json);

#ifdef __cplusplus
}
#endif
#endif
