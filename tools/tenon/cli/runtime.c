/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of a subcommand, with the plugins that its options name. */
#include "cli.h"
#include "plugin_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_log(void *user, uint32_t level, const char *text) {
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    (void)user;
    cli_clear_progress();
    fprintf(stderr, "tenon: %s: ", level < 5 ? names[level] : "log");
    cli_print_safe(text); /* it may quote a file */
    fputc('\n', stderr);
}

/* With a list of what is allowed, a folder that is not on it is searched alone: no code of it runs
 * before a plan has asked for it by its content. */
bool cli_may_load_all(const cli_options *options, const char *folder) {
    bool is_allowed = options->allowed.count == 0;
    char *path = realpath(folder, NULL);
    for (size_t i = 0; i < options->allowed.count && path && !is_allowed; i++) {
        char *allowed = realpath(options->allowed.items[i], NULL);
        const size_t length = allowed ? strlen(allowed) : 0;
        is_allowed = allowed && strncmp(path, allowed, length) == 0 &&
                     (path[length] == 0 || path[length] == '/');
        free(allowed);
    }
    free(path);
    return is_allowed;
}

/* LIB.so, or LIB.so@DOMAIN where there is no file of that whole name. */
static tn_status load_plugin(tn_runtime *runtime, const char *value) {
    const char *at = strrchr(value, '@');
    if (!at || at == value || !at[1] || strchr(at, '/') || access(value, F_OK) == 0)
        return tn_runtime_load_library(runtime, value);
    char *path = strndup(value, (size_t)(at - value));
    if (!path) return TN_ERROR_MEMORY;
    const tn_status status = tn_runtime_load_library_as(runtime, path, at + 1);
    free(path);
    return status;
}

tn_runtime *cli_runtime(const cli_options *options, int *out_exit) {
    const tn_runtime_options runtime_options = {
        .size = sizeof(runtime_options),
        .log_level = options->verbose ? TN_LOG_DEBUG : TN_LOG_WARNING,
        .log = print_log,
        .flags = options->no_kernel_libraries ? TN_RUNTIME_NO_KERNEL_LIBRARIES : 0u};
    tn_runtime *runtime = NULL;
    tn_status status = tn_runtime_create(&runtime_options, &runtime);
    const char *what = "tenon";
    for (size_t i = 0; status == TN_OK && i < options->plugins.count; i++) {
        what = options->plugins.items[i];
        status = load_plugin(runtime, what);
    }
    for (size_t i = 0; status == TN_OK && i < options->plugin_dirs.count; i++) {
        what = options->plugin_dirs.items[i];
        status = tn_runtime_add_search_path(runtime, what);
        if (status == TN_OK && cli_may_load_all(options, what))
            status = tn_runtime_load_directory(runtime, what);
    }
    if (status == TN_OK && options->loads_path) plugin_path_load(runtime, options);
    if (status == TN_OK) return runtime;
    *out_exit = cli_fail(what);
    tn_runtime_release(runtime);
    return NULL;
}
