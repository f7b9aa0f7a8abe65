/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon plugin bench: the time of each kernel of a library, beside the operator's reference and
 * every other kernel of the operator, against what the machine can do. The measuring is done by
 * tenon-kernel-bench, so that a kernel that crashes is named and not the end of this program.
 */
#include "bench_kernels.h"
#include "cli/cli.h"
#include "plugin_command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char help[] =
    "usage: tenon plugin bench LIB.so|builtin [options]    the time of each kernel of the library\n"
    "      --operator [DOMAIN::]NAME   this operator alone\n"
    "      --case N|'FIELDS | INPUTS'   the author's case of that number, or one of your own\n"
    "  -s, --shape NAME=1x64x56x56   of an input, in the cases\n"
    "      --type f32             cases whose first input has this element type\n"
    "      --all                  every case, not the largest of each list of types\n"
    "      --grow MEBIBYTES       cases are timed grown to so many bytes too (default 4; 0: not)\n"
    "  -t, --threads N            (default 1)\n"
    "      --device cuda|cuda:1   the kernels for a device, on that device, by its own clock\n"
    "      --seconds S            for one kernel, at most (default 0.5)\n"
    "  -p, --plugin LIB.so        a library with kernels to compare\n"
    "      --json                 as one JSON document\n"
    "compared: kernels of Tenon and of each --plugin; /copy: bytes a second against a "
    "copy of as many bytes\n"
    "on the same threads, /peak: operations a second against multiply-add in registers\n"
    "exit: 0 all was measured; 1 a kernel failed or crashed\n"
    "example: tenon plugin bench build/libsoft_clip.so\n";

enum { ARGUMENT_LIMIT = 256 };

typedef struct request {
    const char *arguments[ARGUMENT_LIMIT]; /* of tenon-kernel-bench */
    size_t count;
    bool is_json, is_help;
    char grow[32];
} request;

static int add(request *r, const char *name, const char *value) {
    if (r->count + 3 > ARGUMENT_LIMIT) return cli_usage("plugin bench: too many options");
    r->arguments[r->count++] = name;
    r->arguments[r->count++] = value;
    return EXIT_DONE;
}

static bool is_number(const char *text, double most) {
    char *end;
    const double value = strtod(text, &end);
    return *text && *end == 0 && value >= 0 && value <= most;
}

static int add_number(request *r, const char *name, const char *value, double most) {
    return is_number(value, most)
               ? add(r, name, value)
               : cli_usage("option %s: '%s' is not a number of 0 to %g", name, value, most);
}

static int take(request *r, int letter, const char *value) {
    switch (letter) {
    case 'o':
        return add(r, "--operator", value);
    case 'c':
        return strchr(value, '|') ? add(r, "--case", value) : add_number(r, "--case", value, 1e9);
    case 's':
        return strchr(value, '=')
                   ? add(r, "--shape", value)
                   : cli_usage("option --shape: '%s' is not like NAME=1x3x8x8", value);
    case 'T':
        return add(r, "--type", value);
    case 'a':
        return add(r, "--all", "1");
    case 'g':
        if (!is_number(value, 65536))
            return cli_usage("option --grow: '%s' is not a number of mebibytes", value);
        snprintf(r->grow, sizeof(r->grow), "%.0f", strtod(value, NULL) * 1048576);
        return add(r, "--grow", r->grow);
    case 't':
        return add_number(r, "--threads", value, 1024);
    case 'S':
        return add_number(r, "--seconds", value, 3600);
    case 'p':
        return add(r, "--plugin", value);
    case 'd':
        return add(r, "--device", value);
    case 'j':
        r->is_json = true;
        return EXIT_DONE;
    default:
        r->is_help = true;
        return EXIT_DONE;
    }
}

static int read_bench_options(int argc, char **argv, request *r) {
    static const struct option longs[] = {
        {"operator", 1, NULL, 'o'}, {"case", 1, NULL, 'c'},    {"shape", 1, NULL, 's'},
        {"type", 1, NULL, 'T'},     {"all", 0, NULL, 'a'},     {"grow", 1, NULL, 'g'},
        {"threads", 1, NULL, 't'},  {"seconds", 1, NULL, 'S'}, {"plugin", 1, NULL, 'p'},
        {"device", 1, NULL, 'd'},   {"json", 0, NULL, 'j'},    {"help", 0, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int code = EXIT_DONE;
    optind = 1;
    opterr = 0;
    r->count = 2; /* the program and the library */
    for (int letter;
         code == EXIT_DONE && (letter = getopt_long(argc, argv, ":hs:t:p:", longs, NULL)) != -1;) {
        if (letter == ':' || letter == '?')
            return cli_usage(letter == ':'
                                 ? "plugin bench: option '%s' needs a value"
                                 : "plugin bench: unknown option '%s' (tenon plugin bench -h)",
                             argv[optind - 1]);
        code = take(r, letter, optarg);
    }
    if (code == EXIT_DONE && !r->is_help && optind + 1 != argc)
        code = cli_usage("plugin bench takes one library (tenon plugin bench -h)");
    r->arguments[1] = code == EXIT_DONE && !r->is_help ? argv[optind] : "";
    return code;
}

/* The process, with its lines to be read from *out_lines. */
static int start(const request *r, pid_t *out_process, FILE **out_lines) {
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return cli_fault("cannot make a pipe: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        error = posix_spawn(out_process, r->arguments[0], &actions, NULL,
                            (char *const *)(uintptr_t)r->arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    *out_lines = error == 0 ? fdopen(ends[0], "r") : NULL;
    if (*out_lines) return EXIT_DONE;
    close(ends[0]);
    return cli_fault("cannot start '%s': %s", r->arguments[0], strerror(error ? error : errno));
}

static void show_progress(const bench_kernels *all) {
    if (!isatty(STDERR_FILENO)) return;
    const bench_case *c = &all->current;
    fprintf(stderr, "\r\033[K%.40s %.30s\r", c->op ? c->op : "",
            c->count > 0 ? c->rows[c->count - 1].kernel : "");
    fflush(stderr);
}

/* What is said of a process that did not come to its end. */
static int fail_lost(const bench_kernels *all, int status, const char *library) {
    const bench_case *c = &all->current;
    const bench_row *row = c->count > 0 ? &c->rows[c->count - 1] : NULL;
    char how[100];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof(how), "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof(how), "ended with %d", WEXITSTATUS(status));
    if (!all->has_open || !row) return cli_fault("the process that times kernels %s", how);
    return cli_fault("%s: case \"%s\": the process that timed %s %s%s%s %s: tenon plugin check %s "
                     "finds out why",
                     c->op ? c->op : "", c->text ? c->text : "",
                     row->kernel[0] ? "kernel" : "the reference", row->kernel,
                     row->combination[0] ? ", " : "", row->combination, how, library);
}

/* Times beside other programs' work are not worth much, least of all those of several threads. */
static void warn_of_load(void) {
    cpu_set_t cores;
    double load;
    if (getloadavg(&load, 1) != 1 || sched_getaffinity(0, sizeof(cores), &cores) != 0) return;
    if (load > 0.5 * CPU_COUNT(&cores))
        fprintf(stderr,
                "tenon: warning: other programs keep this machine busy (load %.1f on %d cores): "
                "times vary\n",
                load, CPU_COUNT(&cores));
}

static int bench(const request *r) {
    bench_kernels all = {.is_json = r->is_json};
    pid_t process = 0;
    FILE *lines = NULL;
    char *line = NULL;
    size_t capacity = 0;
    int status = 0, code = start(r, &process, &lines);
    if (code != EXIT_DONE) return code;
    bool is_taken = true;
    while (is_taken && getline(&line, &capacity, lines) > 0) {
        line[strcspn(line, "\n")] = 0;
        is_taken = bench_kernels_take(&all, line);
        show_progress(&all);
    }
    fclose(lines); /* a process that is not done ends when it writes next */
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
    if (!is_taken)
        code = cli_fault("no memory for the times");
    else if (all.error)
        code = cli_fault("%s: %s", r->arguments[1], all.error);
    else if (!all.is_done)
        code = fail_lost(&all, status, r->arguments[1]);
    else if (all.has_failed)
        code = EXIT_FAULT;
    bench_kernels_end(&all);
    bench_kernels_free(&all);
    free(line);
    return code;
}

int plugin_bench(int argc, char **argv) {
    char program[PATH_MAX + 64];
    struct stat there;
    request r = {0};
    const int code = read_bench_options(argc, argv, &r);
    if (code != EXIT_DONE) return code;
    if (r.is_help) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (strcmp(r.arguments[1], "builtin") != 0 && stat(r.arguments[1], &there) != 0)
        return cli_fault("there is no library '%s'", r.arguments[1]);
    if (!plugin_find_program("tenon-kernel-bench", program, sizeof(program)))
        return cli_fault(
            "there is no tenon-kernel-bench beside this program: install the package whole");
    r.arguments[0] = program;
    warn_of_load();
    return bench(&r);
}
