/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon plugin build: compiles the project in a folder with CMake and Ninja, into build/ inside it,
 * against the Tenon that this program belongs to. Only what changed is compiled; the compiler's own
 * words come through.
 */
#include "cli/cli.h"
#include "plugin_command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char help[] =
    "usage: tenon plugin build DIR [--rebuild] [--build-type Release|Debug] [--sanitize]\n"
    "    compiles the plugin project in DIR into DIR/build: only what changed; --rebuild: all of "
    "it\n"
    "    --sanitize: with address and undefined sanitizers, into DIR/build-sanitize\n"
    "example: tenon plugin build .\n";

/* Where this program's Tenon is: the build folder, or the prefix that it was installed under. */
static bool find_package(char *text, size_t bytes) {
    char program[PATH_MAX], config[PATH_MAX + 32];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length <= 0) return false;
    program[length] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(program, '/');
        if (!slash) return false;
        *slash = 0;
    }
    snprintf(config, sizeof(config), "%s/tenonConfig.cmake", program);
    const bool is_build_folder = access(config, R_OK) == 0;
    const int written = snprintf(
        text, bytes, is_build_folder ? "-Dtenon_DIR=%s" : "-DCMAKE_PREFIX_PATH=%s", program);
    return written > 0 && (size_t)written < bytes;
}

/* Runs a program with our own outputs, stdout turned to stderr; its exit code, or -1. */
static int run_program(char *const *arguments, bool is_quiet) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0, error;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    error = is_quiet ? posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
                     : posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (error == 0) error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_tool(char *const *arguments, bool is_quiet, const char *what) {
    const int code = run_program(arguments, is_quiet);
    if (code == 0) return EXIT_DONE;
    if (code < 0 || code == 127)
        return cli_fault("%s: cannot run %s: %s (apt-get install cmake ninja-build)", what,
                         arguments[0], code < 0 ? strerror(errno) : "it is not there");
    return cli_fault("%s failed: what %s said is above", what, arguments[0]);
}

/* The folder is configured for another Tenon, or by another CMake: it is made anew. */
static bool is_configured(const char *build, const char *package) {
    char path[PATH_MAX + 32], line[PATH_MAX + 64];
    bool is_same = false;
    snprintf(path, sizeof(path), "%s/tenon-package.txt", build);
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof(line), file)) is_same = strcmp(line, package) == 0;
    if (file) fclose(file);
    snprintf(path, sizeof(path), "%s/build.ninja", build);
    return is_same && access(path, R_OK) == 0;
}

static void note_package(const char *build, const char *package) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/tenon-package.txt", build);
    FILE *file = fopen(path, "w");
    if (!file) return; /* it is then configured again the next time */
    fputs(package, file);
    fclose(file);
}

static int build(const char *folder, const char *type, bool is_rebuild, bool is_sanitized) {
    static char flags[] = "-DCMAKE_C_FLAGS=-fsanitize=address,undefined -fno-omit-frame-pointer -g";
    char lists[PATH_MAX], output[PATH_MAX], package[PATH_MAX + 32], build_type[64];
    snprintf(lists, sizeof(lists), "%s/CMakeLists.txt", folder);
    snprintf(output, sizeof(output), "%s/build%s", folder, is_sanitized ? "-sanitize" : "");
    snprintf(build_type, sizeof(build_type), "-DCMAKE_BUILD_TYPE=%s", type);
    if (access(lists, R_OK) != 0)
        return cli_fault("there is no '%s': expected a plugin project (tenon plugin new makes one)",
                         lists);
    if (!find_package(package, sizeof(package)))
        return cli_fault("cannot tell where this program lies");
    char *configure[] = {
        "cmake", "-G",       "Ninja", "-S",       (char *)(uintptr_t)folder,   "-B",
        output,  build_type, package, "-Wno-dev", is_sanitized ? flags : NULL, NULL};
    char *compile[] = {"cmake", "--build", output, is_rebuild ? "--clean-first" : NULL, NULL};
    int code = EXIT_DONE;
    if (is_rebuild || !is_configured(output, package)) {
        code = run_tool(configure, true, "configuring");
        if (code == EXIT_DONE) note_package(output, package);
    }
    if (code == EXIT_DONE) code = run_tool(compile, false, "compiling");
    if (code == EXIT_DONE) printf("built into %s\n", output);
    return code;
}

int plugin_build(int argc, char **argv) {
    static const struct option longs[] = {{"rebuild", 0, NULL, 'r'},
                                          {"build-type", 1, NULL, 't'},
                                          {"sanitize", 0, NULL, 's'},
                                          {"help", 0, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    const char *type = "Release";
    bool is_rebuild = false, is_sanitized = false;
    optind = 1;
    for (int letter; (letter = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        if (letter == 'h') return fputs(help, stdout) >= 0 ? EXIT_DONE : EXIT_FAULT;
        if (letter == ':')
            return cli_usage("plugin build: option '%s' needs a value", argv[optind - 1]);
        if (letter == '?')
            return cli_usage("plugin build: unknown option '%s' (tenon plugin build -h)",
                             argv[optind - 1]);
        is_rebuild |= letter == 'r';
        is_sanitized |= letter == 's';
        if (letter == 't') type = optarg;
    }
    if (optind + 1 != argc)
        return cli_usage("plugin build takes one folder (tenon plugin build -h)");
    return build(argv[optind], type, is_rebuild, is_sanitized);
}
