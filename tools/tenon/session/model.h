/* SPDX-License-Identifier: Apache-2.0 */
/* Models on the command line: files of the formats that are read, with the inputs and outputs that
 * the options choose. */
#ifndef TENON_MODEL_H
#define TENON_MODEL_H

#include "cli/cli.h"

/* Whether it is a model (file_kind.h); all else is taken for a plan. */
bool model_is_named(const char *path);
/* How models are read: in a helper process with --isolate. */
tn_import_options model_import_options(const cli_options *options);
/* Reads a model. Outputs are those of --output NAME=FILE, and of --output NAME where a plan is
 * built; inputs those of --input NAME. Null after having said why (*out_exit). */
tn_graph *model_load(tn_runtime *runtime, const char *path, const cli_options *options,
                     int *out_exit);

#endif
