/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a cache whose files are loaded as code: the user's own, which nobody else writes.
 */
#ifndef TN_BASE_CODE_CACHE_CACHE_FOLDER_H
#define TN_BASE_CODE_CACHE_CACHE_FOLDER_H

#include "base/memory.h"

/* Makes the folder, and those above it, where they are not there (mode 0700). `given` null: `part`
 * of $XDG_CACHE_HOME or $HOME/.cache, where the environment may be read; TN_ERROR_ARGUMENT when
 * there is none. TN_ERROR_IO when it cannot be made or written, is another user's, or may be
 * written by others. The path is `given` or lies in the arena. */
tn_status tn_cache_folder_open(tn_arena *arena, const char *given, const char *part,
                               bool reads_environment, const char **out_folder);

#endif
