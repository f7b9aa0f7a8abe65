/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon plugin check: runs the rules of conformance on a library, out of process (check_run.c), and
 * says what was found: failures, a table of the rules, JSON, JUnit's XML.
 */
#include "check_report.h"
#include "check_run.h"
#include "cli/cli.h"
#include "plugin_command.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tenon plugin check LIB.so|builtin [options]    every rule of "
    "docs/conformance.md on every case\n"
    "      --rule ID,...  --operator NAME  --only N    those alone; N is a "
    "test's number, as a failure shows it\n"
    "      --device cuda|cuda:1    its kernels for a device, on that device\n"
    "      --time-limit SECONDS    for one test (default 10)\n"
    "      --seed N  --effort N    what values, shapes and chains are drawn (default 1), and how "
    "many "
    "times as many (default 1)\n"
    "      --until RULE,...        ends as soon as each of these was found broken\n"
    "      --json FILE  --junit FILE    the results in a file ('-': on "
    "stdout, in place of the table)\n"
    "      --sanitize DIR    compiles the project in DIR with address and "
    "undefined sanitizers, checks that\n"
    "      --rules           lists the rules\n"
    "exit: 0 all passed, 1 something failed\n"
    "example: tenon plugin check build/libsoft_clip.so\n";

/* Where the library lies in a folder of its architecture's (Debian's /usr/lib/x86_64-linux-gnu). */
static bool find_beside_library(const char *name, char *path, size_t bytes) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)&tn_version, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash) return false;
    const int written =
        snprintf(path, bytes, "%.*s/tenon/%s", (int)(slash - info.dli_fname), info.dli_fname, name);
    return written > 0 && (size_t)written < bytes && access(path, X_OK) == 0;
}

bool plugin_find_program(const char *name, char *path, size_t bytes) {
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) return false;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (!slash) return false;
    *slash = 0;
    static const char *const folders[] = {"", "../lib/tenon/", "../libexec/tenon/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        const int written = snprintf(path, bytes, "%s/%s%s", self, folders[i], name);
        if (written > 0 && (size_t)written < bytes && access(path, X_OK) == 0) return true;
    }
    return find_beside_library(name, path, bytes);
}

static void show_progress(size_t done, size_t count) {
    fprintf(stderr, "\r%zu of %zu", done, count);
}

static int list_rules(const char *program) {
    fflush(stdout);
    execl(program, program, "--rules", (char *)NULL);
    return cli_fault("cannot start '%s': %s", program, strerror(errno));
}

typedef struct request {
    check_options run;
    const char *json, *junit, *sanitize;
    bool lists_rules;
} request;

static bool read_number(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return *text && *end == 0 && *out > 0;
}

enum { MOST_SEED = 1000000000 };

static bool read_count(const char *text, unsigned least, unsigned *out) {
    char *end;
    errno = 0;
    const unsigned long number = strtoul(text, &end, 10);
    *out = (unsigned)number;
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && number >= least &&
           number <= MOST_SEED;
}

/* An option with a number. */
static int read_check_number(int letter, request *r) {
    double number = 0;
    switch (letter) {
    case 'n':
        if (!read_number(optarg, &number))
            return cli_usage("option --only: '%s' is not a test's number", optarg);
        r->run.only = (size_t)number;
        return EXIT_DONE;
    case 'S':
        if (!read_count(optarg, 0, &r->run.seed))
            return cli_usage("option --seed: '%s' is no number from 0 to %u", optarg, MOST_SEED);
        return EXIT_DONE;
    case 'e':
        if (!read_count(optarg, 1, &r->run.effort))
            return cli_usage("option --effort: '%s' is no number from 1 to %u", optarg, MOST_SEED);
        return EXIT_DONE;
    default:
        if (!read_number(optarg, &r->run.time_limit))
            return cli_usage("option --time-limit: '%s' is not a time", optarg);
        return EXIT_DONE;
    }
}

static int read_check_options(int argc, char **argv, request *r) {
    static const struct option longs[] = {
        {"rule", 1, NULL, 'r'},  {"operator", 1, NULL, 'o'}, {"only", 1, NULL, 'n'},
        {"seed", 1, NULL, 'S'},  {"effort", 1, NULL, 'e'},   {"time-limit", 1, NULL, 't'},
        {"json", 1, NULL, 'j'},  {"junit", 1, NULL, 'u'},    {"sanitize", 1, NULL, 's'},
        {"rules", 0, NULL, 'l'}, {"device", 1, NULL, 'd'},   {"until", 1, NULL, 'U'},
        {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    int code = EXIT_DONE;
    optind = 1;
    r->run.time_limit = 10;
    r->run.seed = r->run.effort = 1;
    for (int letter; (letter = getopt_long(argc, argv, ":h", longs, NULL)) != -1;) {
        switch (letter) {
        case 'r':
            r->run.rule = optarg;
            break;
        case 'o':
            r->run.op = optarg;
            break;
        case 'd':
            r->run.device = optarg;
            break;
        case 'U':
            r->run.until = optarg;
            break;
        case 'j':
            r->json = optarg;
            break;
        case 'u':
            r->junit = optarg;
            break;
        case 's':
            r->sanitize = optarg;
            break;
        case 'l':
            r->lists_rules = true;
            break;
        case 'h':
            fputs(help, stdout);
            return -1;
        case 'n':
        case 'S':
        case 'e':
        case 't':
            code = read_check_number(letter, r);
            if (code != EXIT_DONE) return code;
            break;
        default:
            return cli_usage(letter == ':'
                                 ? "plugin check: option '%s' needs a value"
                                 : "plugin check: unknown option '%s' (tenon plugin check -h)",
                             argv[optind - 1]);
        }
    }
    if (!r->lists_rules && optind + 1 != argc)
        return cli_usage("plugin check takes one library (tenon plugin check -h)");
    r->run.library = r->lists_rules ? "" : argv[optind];
    return EXIT_DONE;
}

static int check(const request *r) {
    check_results results = {0};
    struct stat there;
    char path[PATH_MAX + 8];
    check_options run = r->run;
    if (strcmp(run.library, "builtin") != 0) {
        if (stat(run.library, &there) != 0)
            return cli_fault("there is no library '%s'", run.library);
        if (!strchr(run.library, '/')) { /* the loader would search its own folders */
            snprintf(path, sizeof(path), "./%s", run.library);
            run.library = path;
        }
    }
    if (isatty(STDERR_FILENO)) run.progress = show_progress;
    int code = check_run(&run, &results);
    if (run.progress) fprintf(stderr, "\r%20s\r", "");
    const bool is_table =
        !(r->json && strcmp(r->json, "-") == 0) && !(r->junit && strcmp(r->junit, "-") == 0);
    if (code == EXIT_DONE && r->json) code = check_report_json(&results, run.library, r->json);
    if (code == EXIT_DONE && r->junit) code = check_report_junit(&results, run.library, r->junit);
    char named[PATH_MAX + 160]; /* for the command that repeats a test */
    size_t length = (size_t)snprintf(named, sizeof(named), "%s%s%.60s", r->run.library,
                                     run.device ? " --device " : "", run.device ? run.device : "");
    if (run.seed != 1)
        length += (size_t)snprintf(named + length, sizeof(named) - length, " --seed %u", run.seed);
    if (run.effort != 1)
        snprintf(named + length, sizeof(named) - length, " --effort %u", run.effort);
    if (code == EXIT_DONE && is_table) check_report_table(&results, named);
    if (code == EXIT_DONE && results.totals[CHECK_FAILED] > 0)
        code = EXIT_FAULT;
    else if (code == EXIT_DONE && results.totals[CHECK_PASSED] == 0)
        code = cli_fault("plugin check: nothing could be tried: all rules were skipped");
    check_results_free(&results);
    return code;
}

/* Compiles the project with sanitizers; the checker then runs with their libraries loaded first. */
static int check_sanitized(const request *r) {
    char *build[] = {"build", (char *)(uintptr_t)r->sanitize, "--sanitize", NULL};
    char asan[PATH_MAX], command[] = "cc -print-file-name=libasan.so";
    request again = *r;
    const int code = plugin_build(3, build);
    if (code != EXIT_DONE) return code;
    FILE *answer = popen(command, "r");
    if (!answer || !fgets(asan, sizeof(asan), answer)) asan[0] = 0;
    if (answer) pclose(answer);
    asan[strcspn(asan, "\n")] = 0;
    if (!strchr(asan, '/')) return cli_fault("the compiler has no address sanitizer (libasan.so)");
    setenv("LD_PRELOAD", asan, 1);
    setenv("ASAN_OPTIONS",
           "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_abort=0:abort_on_error=1", 0);
    setenv("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=0", 0);
    again.sanitize = NULL;
    return check(&again);
}

int plugin_check(int argc, char **argv) {
    char program[PATH_MAX + 64];
    request r = {0};
    const int code = read_check_options(argc, argv, &r);
    if (code != EXIT_DONE) return code < 0 ? EXIT_DONE : code;
    if (!plugin_find_program("tenon-check", program, sizeof(program)))
        return cli_fault("there is no tenon-check beside this program: install the package whole");
    r.run.program = program;
    if (r.lists_rules) return list_rules(program);
    return r.sanitize ? check_sanitized(&r) : check(&r);
}
