/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subcommands share: exit codes, errors, and the common options. Results go to stdout, all
 * else to stderr.
 */
#ifndef TENON_CLI_H
#define TENON_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <tenon/tenon.h>

enum { EXIT_DONE = 0, EXIT_FAULT = 1, EXIT_USAGE = 2, EXIT_UNSUPPORTED = 3 };

/* Prints the last error and answers its exit code. */
int cli_fail(const char *what);
/* How far a long work has come, as one line of a terminal that is there until the next message; for
 * tn_builder_options.progress and its like. False: the user asked to stop (interrupt.h). */
bool cli_show_progress(void *user, const char *stage, uint64_t done, uint64_t count);
/* Before anything else is written there. */
void cli_clear_progress(void);
/* Prints a text of others to stderr, without what could steer a terminal. */
void cli_print_safe(const char *text);
/* Prints a sentence of the command line's own and answers EXIT_FAULT, EXIT_USAGE or
 * EXIT_UNSUPPORTED. */
int cli_fault(const char *format, ...) TN_PRINTF(1, 2);
int cli_usage(const char *format, ...) TN_PRINTF(1, 2);
int cli_unsupported(const char *format, ...) TN_PRINTF(1, 2);

/* A growing list of texts. */
typedef struct text_list {
    const char **items;
    size_t count, capacity;
} text_list;
bool text_list_add(text_list *list, const char *text);      /* lent */
bool text_list_add_copy(text_list *list, const char *text); /* the caller frees each item */

/* --- common options --- */
typedef struct cli_options {
    /* Among the shapes, "" stands where another profile begins. */
    text_list plugins, plugin_dirs, shapes, inputs, outputs, allowed, calibrations, keep, ranges,
        pins, without_rewrites, borders, refit, trusted;
    text_list weight_files;                /* refit: all that --weights named */
    const char *from;                      /* refit: the model that has the new data */
    text_list import_names, import_values; /* options of importers; names are the fields' */
    const char *mean_file; /* a mean image that becomes a part of the network; with NAME= or not */
    const char *checked_dump; /* the folder that a checked run's bad node is written to */
    const char *device, *output_dir, *timing_cache, *report, *html, *dot, *plan;
    const char *short_output; /* the last -o, which is also among the outputs */
    const char *layout;       /* "nchw" or "nhwc" */
    const char *channels;
    const char *write_calibration;
    const char *missing; /* plugin list: the device whose missing kernels are listed */
    double scale, seconds, rtol, atol, timing_seconds;
    double mean[3], mean_file_scale;
    double percentile, max_loss;                       /* 0: the calibrator's own */
    uint32_t precision, second_precision, calibrator;  /* TN_PRECISION_..., TN_CALIBRATOR_... */
    uint32_t threads, contexts, isolate_limit_ms, top; /* top 0: not asked for */
    uint32_t shared_threads;                           /* 0: contexts share none */
    uint32_t use_profile; /* of the plan's, to run with; TN_PROFILE_AUTOMATIC */
    bool has_max_loss, has_scale, markdown, prints, refit_all;
    bool no_kernel_libraries, has_mean, has_rtol, has_atol, profile, exact, checked, isolate, json,
        isolate_reading, help, no_timing, measures_nothing, no_fusion, reference, verbose,
        no_packed_weights, embed_libraries, keep_half;
    const char *command; /* the subcommand */
    char *given;         /* the letter of each option that was given (options.c) */
    size_t given_count;
    bool loads_path;     /* libraries of TENON_PLUGIN_PATH are loaded: set by option_use_check */
    bool *lacks_weights; /* null, or a file that lacks its weights may be read: set where one did */
    char **arguments;    /* what is not an option */
    int argument_count;
} cli_options;

/* Reads the options of a subcommand; `letters` names those that it takes (see options.c). Answers
 * EXIT_DONE, or an exit code after having said why. */
int cli_options_read(int argc, char **argv, const char *letters, cli_options *out_options);
void cli_options_free(cli_options *options);
/* The long name of an option. */
const char *cli_option_name(char letter);
/* The usage error of a value. */
int cli_bad_value(const char *name, const char *value, const char *expected);
/* precision_options.c: takes one of the options about precision; false when it is none of those. */
bool cli_option_of_precision(cli_options *options, char letter, const char *value, int *out_exit);

/* A runtime with the plugins of the options loaded; null after having said why (*out_exit). */
tn_runtime *cli_runtime(const cli_options *options, int *out_exit);

/* Whether all of a folder may be loaded before a plan asks for it by its content. */
bool cli_may_load_all(const cli_options *options, const char *folder);

/* Makes the runtime load the kernel libraries that come with Tenon, by a tiny build (doctor.c). */
void cli_load_kernels(tn_runtime *runtime);

/* --- subcommands --- */
int command_build(int argc, char **argv);
int command_run(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_test(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_plugin(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_refit(int argc, char **argv);

#endif
