/* SPDX-License-Identifier: Apache-2.0 */
/* A working folder for a moment; see folder.h. */
#define _XOPEN_SOURCE 700
#include "folder.h"
#include "watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DESCRIPTORS = 8 };

bool tn_folder_enter(tn_folder *folder) {
    const char *temporary = getenv("TMPDIR");
    const char *base = temporary && temporary[0] == '/' ? temporary : "/tmp";
    snprintf(folder->before, sizeof(folder->before), "%s", temporary ? temporary : "");
    if (snprintf(folder->path, sizeof(folder->path), "%s/tenon-check.XXXXXX", base) >= PATH_MAX)
        return false;
    folder->working = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->working < 0) return false;
    if (!mkdtemp(folder->path) || chdir(folder->path) != 0) {
        close(folder->working);
        return false;
    }
    setenv("TMPDIR", folder->path, 1);
    tn_watch_moved();
    return true;
}

static int take_away(const char *path, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void tn_folder_leave(tn_folder *folder, char *out_name, size_t bytes) {
    DIR *entries = opendir(folder->path);
    out_name[0] = 0;
    for (const struct dirent *it; entries && !out_name[0] && (it = readdir(entries)) != NULL;)
        if (strcmp(it->d_name, ".") != 0 && strcmp(it->d_name, "..") != 0)
            snprintf(out_name, bytes, "%s", it->d_name);
    if (entries) closedir(entries);
    if (fchdir(folder->working) != 0 && !out_name[0])
        snprintf(out_name, bytes, "(the working folder is gone)");
    close(folder->working);
    if (folder->before[0])
        setenv("TMPDIR", folder->before, 1);
    else
        unsetenv("TMPDIR");
    nftw(folder->path, take_away, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
    tn_watch_moved();
}
