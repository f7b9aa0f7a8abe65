/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a folder of sample inputs, and of the sub-folders of a network with several inputs;
 * what is in them is samples.c's matter. */
#ifndef TENON_SAMPLE_FILES_H
#define TENON_SAMPLE_FILES_H

#include "cli/cli.h"

/* Whether an image lies in a folder or in a folder of it. */
bool sample_files_have_image(const char *path);
/* The names of a folder's sample files, sorted; what else lies there is counted on top of
 * `*out_others`. False after having said why (*out_exit). The names are freed by the caller. */
bool sample_files_list(const char *path, text_list *names, size_t *out_others, int *out_exit);
void sample_files_free(text_list *names);

bool sample_files_is_directory(const char *path);
/* Paths, freed by the caller; null: no memory, or no such file. */
char *sample_files_join(const char *folder, const char *name);
/* The sub-folder of an input: its name, with '_' for each '/'. */
char *sample_files_folder_of(const char *path, const char *input);
/* The file of `names` in `folder` that differs from `name` at most in its ending. */
char *sample_files_find_twin(const char *folder, const char *name, const text_list *names);

#endif
