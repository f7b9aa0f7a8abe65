/* SPDX-License-Identifier: Apache-2.0 */
/* The folders of TENON_PLUGIN_PATH; see plugin_path.h. */
#include "plugin_path.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int is_library(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

/* Calls `visit` with each folder of the path. */
static void each_folder(void (*visit)(void *user, const char *folder), void *user) {
    const char *path = getenv("TENON_PLUGIN_PATH");
    char folder[4096];
    for (; path && *path; path += *path == ':') {
        const size_t length = strcspn(path, ":");
        if (length > 0 && length < sizeof(folder)) {
            memcpy(folder, path, length);
            folder[length] = 0;
            visit(user, folder);
        }
        path += length;
    }
}

typedef struct path_load {
    tn_runtime *runtime;
    const cli_options *options;
} path_load;

/* What does not load is left out, as the log says; so is a folder that is not there. */
static void load_folder(void *user, const char *folder) {
    const path_load *all = user;
    if (cli_may_load_all(all->options, folder))
        (void)tn_runtime_load_directory(all->runtime, folder);
}

void plugin_path_load(tn_runtime *runtime, const cli_options *options) {
    each_folder(load_folder, &(path_load){runtime, options});
}

static void print_folder(void *user, const char *folder) {
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_library, alphasort);
    (void)user;
    if (count < 0)
        printf("  %s: there is no such folder\n", folder);
    else
        printf("  %s: %d %s\n", folder, count, count == 1 ? "library" : "libraries");
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

void plugin_path_print(void) {
    const char *path = getenv("TENON_PLUGIN_PATH");
    printf("TENON_PLUGIN_PATH: %s\n", path && *path ? path : "(not set)");
    each_folder(print_folder, NULL);
}
