/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a cache; see cache_folder.h. */
#include "base/code_cache/cache_folder.h"

#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tn_status default_folder(tn_arena *arena, const char *part, const char **out_folder) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *folder = NULL;
    if (base && base[0] == '/')
        folder = tn_path_join(arena, base, part);
    else if (home && home[0] == '/')
        folder = tn_arena_format(arena, "%s/.cache/%s", home, part);
    else
        return tn_fail(TN_ERROR_ARGUMENT, "there is no cache folder: neither is one given nor "
                                          "are XDG_CACHE_HOME or HOME set to one");
    *out_folder = folder;
    return folder ? TN_OK : tn_fail_memory("a path");
}

static tn_status make_folders(tn_arena *arena, const char *folder) {
    char *path = tn_arena_text(arena, folder);
    if (!path) return tn_fail_memory("a path");
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at) continue;
        const char kept = *at;
        *at = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return tn_fail(TN_ERROR_IO, "cannot make the cache folder '%s': %s", path,
                           strerror(errno));
        if (!kept) return TN_OK;
        *at = kept;
    }
}

/* What lies in it will be run: nobody else may put it there. */
static tn_status check_folder(const char *folder) {
    struct stat info;
    if (stat(folder, &info) != 0)
        return tn_fail(TN_ERROR_IO, "cannot use the cache folder '%s': %s", folder,
                       strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return tn_fail(TN_ERROR_IO, "the cache folder '%s' is not a folder", folder);
    if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)))
        return tn_fail(TN_ERROR_IO,
                       "the cache folder '%s' may be written by others, who could put code there: "
                       "expected one of the user's own (chmod go-w)",
                       folder);
    if (access(folder, W_OK | X_OK) != 0)
        return tn_fail(TN_ERROR_IO, "cannot write in the cache folder '%s': %s", folder,
                       strerror(errno));
    return TN_OK;
}

tn_status tn_cache_folder_open(tn_arena *arena, const char *given, const char *part,
                               bool reads_environment, const char **out_folder) {
    const char *folder = given;
    if (!folder && !reads_environment)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "there is no cache folder: without the environment it must be given");
    if (!folder) TN_TRY(default_folder(arena, part, &folder));
    if (!folder[0]) return tn_fail(TN_ERROR_ARGUMENT, "the path of the cache folder is empty");
    TN_TRY(make_folders(arena, folder));
    TN_TRY(check_folder(folder));
    *out_folder = folder;
    return TN_OK;
}
