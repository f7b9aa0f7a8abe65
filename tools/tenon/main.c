/* SPDX-License-Identifier: Apache-2.0 */
/* tenon: one program, one file a subcommand. */
#include "cli/cli.h"
#include "text/nearest.h"

#include <signal.h>
#include <string.h>

typedef struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
    const char *after_crash; /* how to find out more; null: nothing of its own */
} subcommand;

#define AFTER_A_RUN                                                                                \
    "  to find out more: the same command with --checked (which memory it touched), or with "      \
    "--isolate (its crash is then an error of its own)"
#define AFTER_A_BUILD                                                                              \
    "  to find out more: the same command with --checked (kernels run in guarded memory first; "   \
    "those that crash are passed over), or tenon plugin check LIB.so"
#define AFTER_ANOTHER "  to find out more: tenon plugin check LIB.so"

static const subcommand subcommands[] = {
    {"build", command_build, "turn a model into a plan", AFTER_A_BUILD},
    {"run", command_run, "run a model or plan on files", AFTER_A_RUN},
    {"bench", command_bench, "time a model or plan", AFTER_A_RUN},
    {"test", command_test, "run test directories in ONNX's layout", AFTER_A_RUN},
    {"inspect", command_inspect, "show what is in a model or plan, without loading code", NULL},
    {"refit", command_refit, "put other weights into a plan, without building it again", NULL},
    {"plugin", command_plugin, "make, compile, check, time, list and show layers", AFTER_ANOTHER},
    {"doctor", command_doctor, "show what this machine has, or what a plan or model lacks",
     AFTER_ANOTHER},
};
#define SUBCOMMAND_COUNT (sizeof(subcommands) / sizeof(subcommands[0]))

static void print_help(FILE *file) {
    fprintf(file, "usage: tenon SUBCOMMAND [options]\n\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(file, "  %-8s %s\n", subcommands[i].name, subcommands[i].what);
    fprintf(file, "\n`tenon SUBCOMMAND -h` shows its options and an example; `tenon --version` the "
                  "version.\n");
}

static int run_subcommand(const subcommand *chosen, int argc, char **argv) {
    const tn_crash_report_options crashes = {
        .size = sizeof(crashes), .descriptor = 2, .title = "tenon", .advice = chosen->after_crash};
    tn_crash_report_start(&crashes); /* without it a crash is a bare one: no reason to stop */
    return chosen->run(argc, argv);
}

static int print_version(void) {
    printf("tenon %s\n", tn_version());
    return EXIT_DONE;
}

static int run_named(int argc, char **argv) {
    nearest_word nearest;
    nearest_init(&nearest, argv[0]);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        nearest_offer(&nearest, subcommands[i].name);
        if (strcmp(argv[0], subcommands[i].name) == 0)
            return run_subcommand(&subcommands[i], argc, argv);
    }
    cli_usage("there is no subcommand '%s'%s%s%s", argv[0],
              nearest.best ? "; the nearest is '" : "", nearest.best ? nearest.best : "",
              nearest.best ? "'" : "");
    print_help(stderr);
    return EXIT_USAGE;
}

/* tenon help SUBCOMMAND is tenon SUBCOMMAND -h. */
static int help_of(const char *name) {
    static char option[] = "-h";
    char *arguments[] = {(char *)(uintptr_t)name, option, NULL};
    return run_named(2, arguments);
}

static bool is_one_of(const char *text, const char *a, const char *b, const char *c) {
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static int run_words(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (is_one_of(argv[1], "--version", "-V", "version")) return print_version();
    if (!is_one_of(argv[1], "-h", "--help", "help")) return run_named(argc - 1, argv + 1);
    if (argc > 2) return help_of(argv[2]);
    print_help(stdout);
    return EXIT_DONE;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is then an error like a full disk */
    const int code = run_words(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) return cli_fault("cannot write the results");
    return code;
}
