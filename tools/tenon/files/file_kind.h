/* SPDX-License-Identifier: Apache-2.0 */
/* What a file on the command line is: a plan, a model of a format that is read, or neither. */
#ifndef TENON_FILE_KIND_H
#define TENON_FILE_KIND_H

#include <stdbool.h>

typedef enum file_kind {
    FILE_NONE, /* none was given */
    FILE_PLAN,
    FILE_MODEL /* of a format that an importer reads */
} file_kind;

/* By the first bytes where they decide, else by the ending; what is nothing of these counts as a
 * plan, whose reader then says what is wrong. */
file_kind file_kind_of(const char *path);
bool file_kind_is_model(file_kind kind);
/* "an ONNX model", "a plan", of a file of this kind. */
const char *file_kind_name(file_kind kind, const char *path);

/* Refuses what is known to be something else (foreign_file.h), a directory, and a file that is
 * neither a plan nor a model: EXIT_DONE, or the exit code after having said what it is and what to
 * do. `needs_model`: a plan will not do. */
int file_kind_check(const char *path, bool needs_model);

#endif
