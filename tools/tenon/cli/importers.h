/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The importers as the command line needs them before its runtime is there: which one reads a file,
 * and the options that their tables give it. They are asked of a runtime of their own, which knows
 * the libraries of --plugin where nothing else knows the file or the option.
 */
#ifndef TENON_IMPORTERS_H
#define TENON_IMPORTERS_H

#include "cli.h"

/* The lists of --plugin and --plugin-dir, which must live on; null: none. */
void importers_use(const cli_options *options);
void importers_close(void);

/* The importer of a model, by its ending where it cannot be read; null: it is of no format that is
 * known. The table lives until importers_close. */
const tn_importer *importers_of_file(const char *path);
/* The field of an importer's table; null: it has none of that name. */
const tn_field *importers_field(const tn_importer *importer, const char *name);
/* An importer's field that is an option here, by its name with '-' or '_'; null: there is none.
 * `out_importer` may be null. */
const tn_field *importers_option(const char *name, const tn_importer **out_importer);
/* "an ONNX model (.onnx), a Caffe network (.prototxt)". */
void importers_list(char *text, size_t bytes);
/* Lines of -h: what all importers' tables have. */
void importers_print_options(void);

#endif
