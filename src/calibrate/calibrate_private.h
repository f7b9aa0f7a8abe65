/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of tn_calibrate share: the tensors that are watched, and the report of them. */
#ifndef TN_CALIBRATE_CALIBRATE_PRIVATE_H
#define TN_CALIBRATE_CALIBRATE_PRIVATE_H

#include "calibrate/batch_run.h"
#include "calibrate/calibrator.h"

/* A tensor of 32-bit floats of the network, in the order of its making. */
typedef struct tn_watched_tensor {
    const char *name;       /* lent by the graph's copy */
    const char *node;       /* that makes it; null: an input */
    const char *op;         /* of the node */
    uint32_t output;        /* of the engine that runs */
    tn_histogram histogram; /* counts null: not of 32-bit floats */
    double bound, scale;    /* 0: none */
} tn_watched_tensor;

typedef struct tn_calibration_state {
    const tn_calibrate_options *options;
    const tn_allocator *allocator;
    struct tn_graph *graph; /* a copy, with every tensor as an output */
    tn_batch_run run;
    tn_watched_tensor *watched;
    size_t watched_count;
    float *floats; /* of a tensor that is of 16-bit floats */
    size_t float_capacity;
} tn_calibration_state;

/* calibrate_report.c: the caller frees *out_json by tn_deallocate. TN_ERROR_MEMORY. */
tn_status tn_calibrate_report(const tn_calibration_state *state, char **out_json);
/* "entropy", "minmax" or "percentile". */
const char *tn_calibrate_calibrator_name(uint32_t calibrator);

#endif
