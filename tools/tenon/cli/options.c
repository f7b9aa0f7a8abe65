/* SPDX-License-Identifier: Apache-2.0 */
/* The options that subcommands share, each with a letter by which a subcommand says that it takes
 * it. */
#include "cli.h"
#include "importers.h"
#include "text/nearest.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * the table */

/* `letter` is both the short form, where `has_short`, and the name by which subcommands ask for the
 * option. */
typedef struct option_row {
    char letter;
    bool has_short;
    enum {
        OPTION_FLAG,
        OPTION_TEXT,
        OPTION_LIST,
        OPTION_COUNT,
        OPTION_OWN,     /* a value that take_own reads */
        OPTION_OWN_FLAG /* the same of none */
    } kind;
    const char *name;
    size_t member;        /* of cli_options, where the kind says all: its offset */
    const char *expected; /* COUNT */
} option_row;

#define MEMBER(name) offsetof(cli_options, name)
static const option_row rows[] = {
    {'h', true, OPTION_FLAG, "help", MEMBER(help), NULL},
    {'p', true, OPTION_LIST, "plugin", MEMBER(plugins), NULL},
    {'P', true, OPTION_LIST, "plugin-dir", MEMBER(plugin_dirs), NULL},
    {'s', true, OPTION_LIST, "shape", MEMBER(shapes), NULL},
    {'t', true, OPTION_COUNT, "threads", MEMBER(threads), "a number of threads up to 1024"},
    {'d', false, OPTION_TEXT, "device", MEMBER(device), NULL},
    {'c', false, OPTION_OWN, "precision", 0, NULL},
    {'i', true, OPTION_LIST, "input", MEMBER(inputs), NULL},
    {'o', true, OPTION_LIST, "output", MEMBER(outputs), NULL},
    {'O', true, OPTION_TEXT, "output-dir", MEMBER(output_dir), NULL},
    {'T', false, OPTION_TEXT, "timing-cache", MEMBER(timing_cache), NULL},
    {'r', false, OPTION_TEXT, "report", MEMBER(report), NULL},
    {'x', false, OPTION_FLAG, "exact", MEMBER(exact), NULL},
    {'a', false, OPTION_LIST, "allow-plugin", MEMBER(allowed), NULL},
    {'j', false, OPTION_FLAG, "json", MEMBER(json), NULL},
    {'S', false, OPTION_OWN, "seconds", 0, NULL},
    {'n', false, OPTION_COUNT, "contexts", MEMBER(contexts), "a number of contexts"},
    {'f', false, OPTION_FLAG, "profile", MEMBER(profile), NULL},
    {'R', false, OPTION_OWN, "rtol", 0, NULL},
    {'A', false, OPTION_OWN, "atol", 0, NULL},
    {'L', false, OPTION_OWN, "layout", 0, NULL},
    {'C', false, OPTION_OWN, "channels", 0, NULL},
    {'m', false, OPTION_OWN, "mean", 0, NULL},
    {'k', false, OPTION_OWN, "scale", 0, NULL},
    {'H', false, OPTION_TEXT, "html", MEMBER(html), NULL},
    {'D', false, OPTION_TEXT, "dot", MEMBER(dot), NULL},
    {'N', false, OPTION_FLAG, "no-timing", MEMBER(no_timing), NULL},
    {'F', false, OPTION_FLAG, "no-fusion", MEMBER(no_fusion), NULL},
    {'E', false, OPTION_FLAG, "reference", MEMBER(reference), NULL},
    {'1', false, OPTION_FLAG, "no-packed-weights", MEMBER(no_packed_weights), NULL},
    {'8', false, OPTION_FLAG, "keep-half", MEMBER(keep_half), NULL},
    {'v', true, OPTION_FLAG, "verbose", MEMBER(verbose), NULL},
    {'Y', false, OPTION_OWN, "timing-seconds", 0, NULL},
    {'K', false, OPTION_FLAG, "checked", MEMBER(checked), NULL},
    {'I', false, OPTION_OWN_FLAG, "isolate", 0, NULL},
    {'w', true, OPTION_OWN, "weights", 0, NULL},
    {'B', false, OPTION_LIST, "calibration", MEMBER(calibrations), NULL},
    {'G', false, OPTION_OWN, "calibrator", 0, NULL},
    {'Q', false, OPTION_OWN, "percentile", 0, NULL},
    {'W', false, OPTION_TEXT, "write-calibration", MEMBER(write_calibration), NULL},
    {'U', false, OPTION_LIST, "keep", MEMBER(keep), NULL},
    {'X', false, OPTION_OWN, "max-accuracy-loss", 0, NULL},
    {'M', false, OPTION_OWN, "checked-dump", 0, NULL},
    {'J', false, OPTION_OWN, "isolate-limit", 0, NULL},
    {'g', false, OPTION_FLAG, "markdown", MEMBER(markdown), NULL},
    {'l', false, OPTION_OWN, "top", 0, NULL},
    {'u', false, OPTION_FLAG, "print", MEMBER(prints), NULL},
    {'q', false, OPTION_LIST, "range", MEMBER(ranges), NULL},
    {'z', false, OPTION_LIST, "pin", MEMBER(pins), NULL},
    {'Z', false, OPTION_LIST, "without-rewrite", MEMBER(without_rewrites), NULL},
    {'e', false, OPTION_FLAG, "no-kernel-libraries", MEMBER(no_kernel_libraries), NULL},
    {'y', false, OPTION_OWN_FLAG, "next-profile", 0, NULL},
    {'b', false, OPTION_COUNT, "use-profile", MEMBER(use_profile),
     "the number of a profile, from 0"},
    {'0', false, OPTION_LIST, "border", MEMBER(borders), NULL},
    {'3', false, OPTION_LIST, "refit", MEMBER(refit), NULL},
    {'2', false, OPTION_FLAG, "refit-all", MEMBER(refit_all), NULL},
    {'V', false, OPTION_TEXT, "from", MEMBER(from), NULL},
    {'4', false, OPTION_TEXT, "missing", MEMBER(missing), NULL},
    {'5', false, OPTION_FLAG, "embed-libraries", MEMBER(embed_libraries), NULL},
    {'6', false, OPTION_LIST, "trust-embedded", MEMBER(trusted), NULL},
    {'7', false, OPTION_COUNT, "shared-threads", MEMBER(shared_threads),
     "a number of threads up to 1024"},
};
#undef MEMBER
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const option_row *row_of(char letter) {
    size_t i = 0;
    while (rows[i].letter != letter)
        i++;
    return &rows[i];
}

const char *cli_option_name(char letter) {
    return row_of(letter)->name;
}

static bool read_number(const char *text, double *out) {
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return *text && *end == 0 && errno == 0;
}

static bool read_milliseconds(const char *text, uint32_t *out) {
    double number;
    if (!read_number(text, &number) || number < 1 || number > 4e9) return false;
    *out = (uint32_t)number;
    return true;
}

static bool read_count(const char *text, uint32_t *out) {
    double number;
    if (!read_number(text, &number) || number < 0 || number > 1024 ||
        number != (double)(uint32_t)number)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* Numbers, or a file: [NAME=]FILE.binaryproto, which becomes a part of the network. */
static bool read_mean(cli_options *o, const char *text) {
    static const char ending[] = ".binaryproto";
    const size_t length = strlen(text);
    if (length >= sizeof(ending) && strcmp(text + length - sizeof(ending) + 1, ending) == 0) {
        o->mean_file = text;
        return true;
    }
    const int count = sscanf(text, "%lf,%lf,%lf", &o->mean[0], &o->mean[1], &o->mean[2]);
    if (count == 1) o->mean[1] = o->mean[2] = o->mean[0];
    o->has_mean = true;
    return count == 1 || count == 3;
}

int cli_bad_value(const char *name, const char *value, const char *expected) {
    return cli_usage("option --%s: '%s' is not %s", name, value, expected);
}

static int add(text_list *list, const char *value) {
    return text_list_add(list, value) ? EXIT_DONE : cli_fault("no memory for the options");
}

/* An option of an importer's table; the same again goes on a list, where the field is one. */
static int add_import(cli_options *o, const char *name, const char *value) {
    const int code = add(&o->import_names, name);
    return code == EXIT_DONE ? add(&o->import_values, value) : code;
}

/* --NAME VALUE or --NAME=VALUE of an importer's table; EXIT_DONE with *out_is false: it is none. */
static int take_import(cli_options *o, char **argv, int argc, bool *out_is) {
    char name[64];
    const char *text = argv[optind - 1];
    *out_is = false;
    if (strncmp(text, "--", 2) != 0) return EXIT_DONE;
    const size_t length = strcspn(text + 2, "=");
    if (length >= sizeof(name)) return EXIT_DONE;
    memcpy(name, text + 2, length);
    name[length] = '\0';
    const tn_field *field = importers_option(name, NULL);
    if (!field) return EXIT_DONE;
    *out_is = true;
    if (text[2 + length] == '=') return add_import(o, field->name, text + 3 + length);
    if (field->type == TN_FIELD_BOOL) return add_import(o, field->name, "true");
    if (optind >= argc) return cli_usage("%s: option '%s' needs a value", argv[0], text);
    return add_import(o, field->name, argv[optind++]);
}

/* How values are compared, and how pictures become numbers. */
static int take_of_numbers(cli_options *o, char letter, const char *value) {
    bool is_right = true;
    const char *expected = "a tolerance";
    switch (letter) {
    case 'R':
        o->has_rtol = true;
        is_right = read_number(value, &o->rtol) && o->rtol >= 0;
        break;
    case 'A':
        o->has_atol = true;
        is_right = read_number(value, &o->atol) && o->atol >= 0;
        break;
    case 'L':
        is_right = strcmp(value, "nchw") == 0 || strcmp(value, "nhwc") == 0;
        expected = "nchw or nhwc";
        o->layout = value;
        break;
    case 'C':
        is_right = strcmp(value, "rgb") == 0 || strcmp(value, "bgr") == 0;
        expected = "rgb or bgr";
        o->channels = value;
        break;
    case 'm':
        is_right = read_mean(o, value);
        expected = "one number or three, like 0.5,0.4,0.3, or a file .binaryproto";
        break;
    case 'k':
        o->has_scale = true;
        is_right = read_number(value, &o->scale);
        expected = "a number";
        break;
    default:
        break;
    }
    return is_right ? EXIT_DONE : cli_bad_value(cli_option_name(letter), value, expected);
}

/* What its row does not say all of. */
static int take_own(cli_options *o, char letter, const char *value) {
    bool is_right = true;
    const char *expected = "a time";
    switch (letter) {
    case 'y':
        return add(&o->shapes, "");
    case 'w':
        if (add(&o->weight_files, value) != EXIT_DONE) return EXIT_FAULT;
        return add_import(o, "weights", value);
    case 'M':
        o->checked = true;
        o->checked_dump = value;
        break;
    case 'I':
        o->isolate = o->isolate_reading = true;
        break;
    case 'J':
        o->isolate = o->isolate_reading = true;
        is_right = read_milliseconds(value, &o->isolate_limit_ms);
        expected = "a number of milliseconds above 0";
        break;
    case 'l':
        is_right = read_count(value, &o->top) && o->top > 0;
        expected = "a number of elements above 0, at most 1024";
        break;
    case 'S':
        is_right = read_number(value, &o->seconds) && o->seconds >= 0;
        break;
    case 'Y':
        is_right = read_number(value, &o->timing_seconds) && o->timing_seconds >= 0;
        o->measures_nothing = is_right && o->timing_seconds == 0;
        expected = "a time, or 0 to measure nothing";
        break;
    default:
        return take_of_numbers(o, letter, value);
    }
    return is_right ? EXIT_DONE : cli_bad_value(cli_option_name(letter), value, expected);
}

static int take(cli_options *o, const option_row *row, const char *value) {
    void *member = (char *)o + row->member;
    int code = EXIT_DONE;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return EXIT_DONE;
    case OPTION_TEXT:
        *(const char **)member = value;
        return EXIT_DONE;
    case OPTION_LIST:
        return add(member, value);
    case OPTION_COUNT:
        return read_count(value, member) ? EXIT_DONE
                                         : cli_bad_value(row->name, value, row->expected);
    default:
        return cli_option_of_precision(o, row->letter, value, &code)
                   ? code
                   : take_own(o, row->letter, value);
    }
}

/* What is meant by an option that a subcommand does not have: one of its own, or another
 * subcommand's. */
static int refuse_unknown(const char *command, const char *letters, const char *option) {
    char name[64];
    nearest_word own;
    const char *text = option + strspn(option, "-");
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
    nearest_init(&own, name);
    bool is_others = false;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].letter == 'h' || strchr(letters, rows[i].letter))
            nearest_offer(&own, rows[i].name);
        else
            is_others = is_others || strcmp(rows[i].name, name) == 0;
    }
    if (is_others)
        return cli_usage(
            "%s: unknown option '%s': other subcommands have it, %s does not (tenon %s "
            "-h lists what it has)",
            command, option, command, command);
    return cli_usage("%s: unknown option '%s'%s%s%s (tenon %s -h lists them)", command, option,
                     own.best ? "; the nearest is '--" : "", own.best ? own.best : "",
                     own.best ? "'" : "", command);
}

/* As many as there could be short options in one argument. */
static size_t text_bytes(int argc, char **argv) {
    size_t bytes = 0;
    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]);
    return bytes;
}

/* For getopt_long: `shorts` has room for two characters a row and one more, `longs` for one more.
 */
static void list_options(const char *letters, char *shorts, struct option *longs) {
    size_t count = 0, at = 0;
    shorts[at++] = ':';
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const bool has_value = rows[i].kind != OPTION_FLAG && rows[i].kind != OPTION_OWN_FLAG;
        if (rows[i].letter != 'h' && !strchr(letters, rows[i].letter)) continue;
        longs[count++] = (struct option){rows[i].name, has_value, NULL, rows[i].letter};
        if (rows[i].has_short) {
            shorts[at++] = rows[i].letter;
            if (has_value) shorts[at++] = ':';
        }
    }
    longs[count] = (struct option){0};
    shorts[at] = 0;
}

static int set_defaults(int argc, char **argv, cli_options *options) {
    *options = (cli_options){.scale = 1.0,
                             .seconds = 1.0,
                             .contexts = 1,
                             .use_profile = TN_PROFILE_AUTOMATIC,
                             .layout = "nchw",
                             .channels = "rgb",
                             .checked_dump = "tenon-checked",
                             .command = argv[0],
                             .given = calloc(text_bytes(argc, argv) + 1, 1)};
    return options->given ? EXIT_DONE : cli_fault("no memory for the options");
}

/* An option that no row has: one of an importer, or none. */
static int take_unknown(cli_options *o, int argc, char **argv, const char *letters) {
    bool is_import = false;
    const bool reads_models = strchr(letters, 'w') != NULL; /* and so takes importers' options */
    const int code = reads_models ? take_import(o, argv, argc, &is_import) : EXIT_DONE;
    if (code != EXIT_DONE || is_import) return code;
    return refuse_unknown(argv[0], letters, argv[optind - 1]);
}

int cli_options_read(int argc, char **argv, const char *letters, cli_options *out_options) {
    struct option longs[ROW_COUNT + 1];
    char shorts[2 * ROW_COUNT + 2];
    int code = set_defaults(argc, argv, out_options);
    if (code != EXIT_DONE) return code;
    list_options(letters, shorts, longs);
    optind = 1;
    opterr = 0;
    importers_use(out_options);
    int long_index = -1; /* of a long option; stays for a short one */
    for (int letter; (letter = getopt_long(argc, argv, shorts, longs, &long_index)) != -1;
         long_index = -1) {
        if (letter == ':')
            return cli_usage("%s: option '%s' needs a value", argv[0], argv[optind - 1]);
        if (letter == '?') {
            code = take_unknown(out_options, argc, argv, letters);
        } else {
            if (letter == 'o' && long_index < 0) out_options->short_output = optarg;
            out_options->given[out_options->given_count++] = (char)letter;
            code = take(out_options, row_of((char)letter), optarg);
        }
        if (code != EXIT_DONE) return code;
    }
    if (out_options->mean_file) { /* the network scales, after it has taken the mean */
        out_options->mean_file_scale = out_options->scale;
        out_options->scale = 1.0;
        out_options->has_scale = true; /* its inputs are pixels as they are */
    }
    out_options->arguments = argv + optind;
    out_options->argument_count = argc - optind;
    return EXIT_DONE;
}

void cli_options_free(cli_options *options) {
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].kind == OPTION_LIST)
            free(((text_list *)(void *)((char *)options + rows[i].member))->items);
    free(options->import_names.items);
    free(options->import_values.items);
    free(options->weight_files.items);
    free(options->given);
    importers_use(NULL);
    importers_close();
}
