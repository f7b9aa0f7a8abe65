/* SPDX-License-Identifier: Apache-2.0 */
/* Scales for `tenon test --precision int8`: each model is calibrated with the inputs of its own
 * test data. */
#ifndef TENON_TEST_CALIBRATION_H
#define TENON_TEST_CALIBRATION_H

#include "files/tensor_file.h"

/* The scales of a graph's tensors over the inputs of all test_data_set_N in a folder; a graph
 * without inputs gets an empty table. `build` has threads and device. False with the reason in
 * `why`, which stays empty where the thread's last error has it. */
bool test_calibrate(tn_runtime *runtime, tn_graph *graph, const char *directory,
                    const cli_options *options, const tn_builder_options *build,
                    tn_calibration **out_calibration, char *why, size_t why_bytes);

#endif
