/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what options go with; see option_use.h. */
#include "option_use.h"
#include "cli/importers.h"
#include "files/file_kind.h"
#include "files/sample_files.h"
#include "files/tensor_file.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is so in a call of the program. */
enum {
    FACT_FILE = 1u << 0,   /* a model or a plan */
    FACT_BUILDS = 1u << 1, /* a model is built */
    FACT_RUNS = 1u << 2,   /* a network is run */
    FACT_PLAN = 1u << 3,   /* the file is a plan */
    FACT_LIST = 1u << 4,   /* tenon plugin list */
    FACT_IMAGE = 1u << 5,  /* an image is read or written */
    FACT_MEAN = 1u << 6,   /* a mean image becomes a part of the network */
    FACT_LOWER = 1u << 7,  /* a precision below tf32 */
    FACT_INT8 = 1u << 8,   /* 8 bits */
    FACT_FOLDER = 1u << 9, /* sample inputs for calibration */
    FACT_TABLE = 1u << 10, /* a table of scales is read */
    FACT_FINDS = 1u << 11, /* scales are found: 8 bits, sample inputs, no table */
    FACT_PERCENTILE = 1u << 12,
    FACT_TIMES = 1u << 13,   /* kernels are timed in the build */
    FACT_TESTS = 1u << 14,   /* tenon test */
    FACT_SHOWS = 1u << 15,   /* tenon plugin show */
    FACT_LISTS = 1u << 16,   /* tenon plugin list or show */
    FACT_MACHINE = 1u << 17, /* tenon doctor without a file */
    FACT_TEXT = 1u << 18,    /* results are for people: neither JSON nor an output goes to stdout */
    FACT_JSON = 1u << 19,    /* results are JSON on stdout */
    FACT_OUTPUT = 1u << 20,  /* outputs may go where they are asked to */
    FACT_EXPLAINS = 1u << 21, /* tenon doctor of a file */
    FACT_CHOOSES = 1u << 22,  /* kernels are chosen */
    FACT_PAGE = 1u << 23,     /* a page is asked for where there is one, and no other form is */
    FACT_DOT = 1u << 24,      /* no page and no JSON is asked for beside the graph */
    FACT_REWRITES = 1u << 25, /* rewrites are applied */
    FACT_REFITS = 1u << 26    /* tenon refit */
};

/* Those that the kind of file decides. */
#define FACTS_OF_FILE (FACT_FILE | FACT_BUILDS | FACT_RUNS | FACT_PLAN)

/* Where libraries that are named are loaded. */
#define FACT_LOADS (FACT_BUILDS | FACT_RUNS | FACT_LISTS | FACT_EXPLAINS | FACT_MACHINE)

/* An option has a use where, for each of its rows, one of the row's facts holds. */
typedef struct use_row {
    char letter;
    uint32_t facts;
    const char *goes_with;
} use_row;

#define A_MODEL  "a model: a plan is built already"
#define AN_IMAGE "an image among the inputs, outputs or calibration samples"

static const use_row rows[] = {
    {'p', FACT_LOADS, "a model: of a plan no code is loaded here"},
    {'P', FACT_LOADS, "a model: of a plan no code is loaded here"},
    {'s', FACT_BUILDS | FACT_RUNS, "a model, or a plan that is run"},
    {'I', FACT_BUILDS | FACT_RUNS | FACT_TESTS, "a model, or a plan that is run"},
    {'J', FACT_BUILDS | FACT_RUNS | FACT_TESTS, "a model, or a plan that is run"},
    {'t', FACT_BUILDS | FACT_RUNS, "a model, or a plan that is run"},
    {'b', FACT_PLAN, "a plan: a model that is built to be run has one profile"},
    {'a', FACT_FILE | FACT_TESTS, "a model or a plan"},
    {'j', FACT_FILE | FACT_LISTS, "a model or a plan"},
    {'x', FACT_PLAN | FACT_TESTS, "a plan: a model is built with the libraries that are here"},
    {'6', FACT_PLAN, "a plan: a model is built with the libraries that are here"},
    {'5', FACT_BUILDS, A_MODEL},
    {'3', FACT_BUILDS, A_MODEL},
    {'2', FACT_BUILDS, A_MODEL},
    {'c', FACT_BUILDS, "a model: a plan has its precision already"},
    {'T', FACT_BUILDS, A_MODEL},
    {'T', FACT_TIMES, "a build that times kernels (without --no-timing, --reference, --isolate)"},
    {'Y', FACT_BUILDS, A_MODEL},
    {'Y', FACT_TIMES, "a build that times kernels (without --no-timing, --reference, --isolate)"},
    {'N', FACT_BUILDS, A_MODEL},
    {'8', FACT_BUILDS, A_MODEL},
    {'F', FACT_BUILDS, A_MODEL},
    {'E', FACT_BUILDS, A_MODEL},
    {'B', FACT_BUILDS, A_MODEL},
    {'B', FACT_LOWER, "--precision int8 (or, for a bound on the loss of accuracy, bf16 or fp16)"},
    {'G', FACT_BUILDS, A_MODEL},
    {'G', FACT_FINDS, "--precision int8 and --calibration DIRECTORY, without a table"},
    {'Q', FACT_BUILDS, A_MODEL},
    {'Q', FACT_FINDS, "--precision int8 and --calibration DIRECTORY, without a table"},
    {'Q', FACT_PERCENTILE, "--calibrator percentile"},
    {'W', FACT_INT8, "--precision int8"},
    {'0', FACT_BUILDS, A_MODEL},
    {'z', FACT_BUILDS, A_MODEL},
    {'z', FACT_CHOOSES, "a build that chooses kernels (without --reference)"},
    {'Z', FACT_BUILDS, A_MODEL},
    {'Z', FACT_REWRITES, "a build that applies rewrites (without --no-fusion, --reference)"},
    {'e', FACT_BUILDS, A_MODEL},
    {'e', FACT_CHOOSES, "a build that chooses kernels (without --reference)"},
    {'q', FACT_BUILDS, A_MODEL},
    {'q', FACT_INT8, "--precision int8"},
    {'U', FACT_BUILDS, A_MODEL},
    {'U', FACT_LOWER, "--precision bf16, fp16 or int8"},
    {'X', FACT_BUILDS, A_MODEL},
    {'X', FACT_FOLDER,
     "sample inputs, by which it is measured: --calibration DIRECTORY (beside a table, where one "
     "is given)"},
    {'L', FACT_IMAGE, AN_IMAGE},
    {'C', FACT_IMAGE, AN_IMAGE},
    {'m', FACT_IMAGE | FACT_MEAN, AN_IMAGE},
    {'m', FACT_IMAGE | FACT_BUILDS, A_MODEL},
    {'k', FACT_IMAGE | FACT_MEAN, AN_IMAGE ", or with --mean FILE.binaryproto"},
    {'u', FACT_TEXT, "results as text (without --json, and no --output to stdout)"},
    {'l', FACT_TEXT | FACT_JSON, "results as text or JSON (no --output to stdout)"},
    {'j', FACT_TEXT | FACT_JSON, "results on stdout (no --output to stdout)"},
    {'o', FACT_OUTPUT, "a file here: stdout has the times"},
    {'g', FACT_SHOWS, "plugin show"},
    {'4', FACT_LIST, "plugin list"},
    {'H', FACT_PAGE, "--profile in tenon bench, and in tenon inspect without --dot and --json"},
    {'D', FACT_DOT, "tenon inspect without --json"},
};

/* ----------------------------------------------------------------------------------------------
 * facts */

/* The file of NAME=FILE or FILE. */
static const char *file_of(const char *text) {
    const char *equals = strchr(text, '=');
    return equals ? equals + 1 : text;
}

static bool names_image(const text_list *list) {
    for (size_t i = 0; i < list->count; i++)
        if (tensor_file_is_image(file_of(list->items[i]))) return true;
    return false;
}

static uint32_t facts_of_calibration(const cli_options *options) {
    uint32_t facts = 0;
    for (size_t i = 0; i < options->calibrations.count; i++) {
        const char *path = options->calibrations.items[i];
        if (!sample_files_is_directory(path)) {
            facts |= FACT_TABLE;
        } else {
            facts |= FACT_FOLDER;
            if (sample_files_have_image(path)) facts |= FACT_IMAGE;
        }
    }
    return facts;
}

static uint32_t facts_of_precision(const cli_options *options) {
    uint32_t facts = facts_of_calibration(options);
    if (options->precision > TN_PRECISION_TF32) facts |= FACT_LOWER;
    if (options->precision == TN_PRECISION_I8) {
        facts |= FACT_INT8;
        if ((facts & FACT_FOLDER) && !(facts & FACT_TABLE)) facts |= FACT_FINDS;
    }
    if (options->calibrator == TN_CALIBRATOR_PERCENTILE) facts |= FACT_PERCENTILE;
    if (options->mean_file) facts |= FACT_MEAN;
    return facts;
}

static bool is(const cli_options *options, const char *command) {
    return strcmp(options->command, command) == 0;
}

static uint32_t facts_of_command(const cli_options *options) {
    if (is(options, "test")) return FACT_TESTS | FACT_BUILDS | FACT_RUNS;
    if (is(options, "plugin"))
        return FACT_LISTS | (strcmp(options->arguments[0], "show") == 0 ? FACT_SHOWS : FACT_LIST);
    if (is(options, "run") || is(options, "bench")) return FACT_RUNS;
    if (is(options, "refit")) return FACT_REFITS | (options->from ? FACT_BUILDS : 0u);
    if (is(options, "doctor")) return options->argument_count == 0 ? FACT_MACHINE : FACT_EXPLAINS;
    return 0;
}

static uint32_t facts_of_file(file_kind kind) {
    return (kind == FILE_NONE ? 0u : FACT_FILE) | (kind == FILE_PLAN ? FACT_PLAN : 0u) |
           (file_kind_is_model(kind) ? FACT_BUILDS : 0u);
}

static uint32_t find_facts(const cli_options *options, file_kind kind) {
    uint32_t facts = facts_of_command(options) | facts_of_file(kind) | facts_of_precision(options);
    const bool is_timed = is(options, "test") || is(options, "build") || is(options, "bench") ||
                          (is(options, "run") && options->timing_cache);
    if ((facts & FACT_BUILDS) && is_timed && !options->no_timing && !options->reference &&
        (!options->isolate || is(options, "test") || is(options, "build")))
        facts |= FACT_TIMES;
    if (!options->reference) facts |= FACT_CHOOSES;
    if (!options->reference && !options->no_fusion) facts |= FACT_REWRITES;
    if (!is(options, "build") && (names_image(&options->inputs) || names_image(&options->outputs)))
        facts |= FACT_IMAGE;
    if (!is(options, "bench") || !session_writes_stdout(options)) facts |= FACT_OUTPUT;
    if (!session_writes_stdout(options)) facts |= options->json ? FACT_JSON : FACT_TEXT;
    if (is(options, "bench") ? options->profile : !options->dot && !options->json)
        facts |= FACT_PAGE;
    if (!options->json) facts |= FACT_DOT;
    return facts;
}

/* ----------------------------------------------------------------------------------------------
 * the check */

static int refuse(const cli_options *options, const use_row *row, file_kind kind) {
    const bool is_about_file = kind != FILE_NONE && (row->facts & FACTS_OF_FILE);
    return cli_usage("option --%s has no use here: it goes with %s%s%s%s%s",
                     cli_option_name(row->letter), row->goes_with, is_about_file ? "; " : "",
                     is_about_file ? options->arguments[0] : "", is_about_file ? " is " : "",
                     is_about_file ? file_kind_name(kind, options->arguments[0]) : "");
}

static int check_option(const cli_options *options, char letter, uint32_t facts, file_kind kind) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].letter == letter && !(rows[i].facts & facts))
            return refuse(options, &rows[i], kind);
    return EXIT_DONE;
}

/* Options of importers are those of the one that reads the file. */
static int check_import_options(const cli_options *options, file_kind kind) {
    const char *path = kind == FILE_NONE ? NULL : options->arguments[0];
    const tn_importer *used = kind == FILE_MODEL ? importers_of_file(path) : NULL, *other = NULL;
    for (size_t i = 0; i < options->import_names.count; i++) {
        const char *name = options->import_names.items[i];
        if (used && importers_field(used, name)) continue;
        if (!importers_option(name, &other))
            return cli_usage("option --%s has no use here: no importer has it", name);
        return cli_usage("option --%s has no use here: it goes with %s%s%s%s%s%s%s%s", name,
                         other->what, other->endings[0] ? " (" : "", other->endings,
                         other->endings[0] ? ")" : "", path ? "; " : "", path ? path : "",
                         path ? " is " : "", path ? file_kind_name(kind, path) : "");
    }
    return EXIT_DONE;
}

/* Stdin is read once, stdout is no terminal where it gets a file. */
static int check_streams(const cli_options *options) {
    size_t count = 0;
    for (size_t i = 0; !is(options, "build") && i < options->inputs.count; i++)
        count += tensor_file_is_stream(file_of(options->inputs.items[i]));
    if (count > 1) return cli_usage("--input: stdin can be read once, and is asked for twice");
    if (count > 0 && is(options, "bench") &&
        (options->contexts > 1 || options->checked || options->isolate))
        return cli_usage("--input: stdin can be read once: with --contexts, --checked and "
                         "--isolate, which read inputs again, name a file");
    if (session_writes_stdout(options) && isatty(STDOUT_FILENO))
        return cli_usage("--output to stdout is a .npy file, which a terminal cannot show: --print "
                         "shows values");
    return EXIT_DONE;
}

int option_use_check(cli_options *options) {
    const bool has_file =
        !is(options, "test") && !is(options, "plugin") && options->argument_count == 1;
    file_kind kind = FILE_NONE;
    int code = EXIT_DONE;
    if (has_file) code = file_kind_check(options->arguments[0], is(options, "build"));
    if (has_file && code == EXIT_DONE) kind = file_kind_of(options->arguments[0]);
    const uint32_t facts = code == EXIT_DONE ? find_facts(options, kind) : 0;
    for (size_t i = 0; code == EXIT_DONE && i < options->given_count; i++)
        code = check_option(options, options->given[i], facts, kind);
    if (code == EXIT_DONE) code = check_import_options(options, kind);
    if (code == EXIT_DONE) code = check_streams(options);
    options->loads_path = (facts & (FACT_BUILDS | FACT_LISTS | FACT_MACHINE)) != 0;
    return code;
}
