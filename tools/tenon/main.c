/* SPDX-License-Identifier: Apache-2.0 */
/* tenon: one program, one file a subcommand. */
#include "cli.h"

#include <signal.h>
#include <string.h>

typedef struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
} subcommand;

static const subcommand subcommands[] = {
    {"build", command_build, "turn a model into a plan"},
    {"run", command_run, "run a model or plan on files"},
    {"bench", command_bench, "time a model or plan"},
    {"test", command_test, "run test directories in ONNX's layout"},
    {"inspect", command_inspect, "show what is in a model or plan, without loading code"},
    {"plugin", command_plugin, "list and show operators, kernels and libraries"},
    {"doctor", command_doctor, "show version, processor, devices and libraries"},
};
#define SUBCOMMAND_COUNT (sizeof(subcommands) / sizeof(subcommands[0]))

static void print_help(FILE *file) {
    fprintf(file, "usage: tenon SUBCOMMAND [options]\n\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(file, "  %-8s %s\n", subcommands[i].name, subcommands[i].what);
    fprintf(file, "\n`tenon SUBCOMMAND -h` shows its options and an example.\n");
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is then an error like a full disk */
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("tenon %s\n", tn_version());
        return EXIT_DONE;
    }
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(argv[1], subcommands[i].name) == 0) {
            const int code = subcommands[i].run(argc - 1, argv + 1);
            if (fflush(stdout) != 0 || ferror(stdout)) return cli_fault("cannot write the results");
            return code;
        }
    }
    cli_usage("there is no subcommand '%s'", argv[1]);
    print_help(stderr);
    return EXIT_USAGE;
}
