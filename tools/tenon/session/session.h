/* SPDX-License-Identifier: Apache-2.0 */
/* From a model or plan on the command line to an engine, and inputs and outputs by name. */
#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include "files/tensor_file.h"
#include "precision.h"

/* Builds a plan from a model file (model.h) with the options' shapes. Null after having said why
 * (*out_exit). */
tn_plan *session_build(tn_runtime *runtime, const char *model, const cli_options *options,
                       int *out_exit);
/* The same, and what calibration and measurements said. */
tn_plan *session_build_reported(tn_runtime *runtime, const char *model, const cli_options *options,
                                precision_reports *out_reports, int *out_exit);
/* What the options say of an engine; lends their texts. */
tn_engine_options session_engine_options(const cli_options *options);
/* Loads what the options trust of a plan's embedded libraries, before the plan. */
tn_status session_load_embedded(tn_runtime *runtime, const char *path, const cli_options *options);
/* An engine from a model (built first, by rule unless `with_timing`) or a plan. */
tn_engine *session_engine(tn_runtime *runtime, const char *path, const cli_options *options,
                          bool with_timing, int *out_exit);

/* NAME=VALUE; false (having said so) when there is no '='. `*out_name` is freed by the caller. A
 * VALUE alone is taken for the only port there is (*out_name null). */
bool split_assignment(const char *text, char **out_name, const char **out_value);

/* Runs a plan once, guarded, on sample values, where the options want it checked. */
int session_check_plan(tn_runtime *runtime, const tn_plan *plan, const cli_options *options);

/* A context's inputs read from the options' --input NAME=FILE and bound; those without a file get
 * the shape of --shape, of the profile's optimum, or extents of 1, and when `fill_missing` zeros.
 * `tensors` has room for the engine's inputs. */
int session_bind_inputs(tn_engine *engine, tn_context *context, const cli_options *options,
                        bool fill_missing, file_tensor *tensors);
/* After a run that failed; where an input had no values, with what gives them. */
int session_fail_run(const char *what);
/* Whether an --output goes to stdout, where then nothing else may go. */
bool session_writes_stdout(const cli_options *options);
int session_write_outputs(tn_engine *engine, tn_context *context, const cli_options *options);

#endif
