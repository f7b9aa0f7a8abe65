/* SPDX-License-Identifier: Apache-2.0 */
/* The options that subcommands share, each with a letter by which a subcommand says that it takes
 * it. */
#include "cli.h"
#include "importers.h"
#include "plugin_path.h"
#include "text/nearest.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------
 * the table */

/* `letter` is both the short form, where `has_short`, and the name by which subcommands ask for the
 * option. */
typedef struct option_row {
    char letter;
    bool has_short, has_value;
    const char *name;
} option_row;

static const option_row rows[] = {
    {'h', true, false, "help"},
    {'p', true, true, "plugin"},
    {'P', true, true, "plugin-dir"},
    {'s', true, true, "shape"},
    {'t', true, true, "threads"},
    {'d', false, true, "device"},
    {'c', false, true, "precision"},
    {'i', true, true, "input"},
    {'o', true, true, "output"},
    {'O', true, true, "output-dir"},
    {'T', false, true, "timing-cache"},
    {'r', false, true, "report"},
    {'x', false, false, "exact"},
    {'a', false, true, "allow-plugin"},
    {'j', false, false, "json"},
    {'S', false, true, "seconds"},
    {'n', false, true, "contexts"},
    {'f', false, false, "profile"},
    {'R', false, true, "rtol"},
    {'A', false, true, "atol"},
    {'L', false, true, "layout"},
    {'C', false, true, "channels"},
    {'m', false, true, "mean"},
    {'k', false, true, "scale"},
    {'H', false, true, "html"},
    {'D', false, true, "dot"},
    {'N', false, false, "no-timing"},
    {'F', false, false, "no-fusion"},
    {'E', false, false, "reference"},
    {'1', false, false, "no-packed-weights"},
    {'v', true, false, "verbose"},
    {'Y', false, true, "timing-seconds"},
    {'K', false, false, "checked"},
    {'I', false, false, "isolate"},
    {'w', true, true, "weights"},
    {'B', false, true, "calibration"},
    {'G', false, true, "calibrator"},
    {'Q', false, true, "percentile"},
    {'W', false, true, "write-calibration"},
    {'U', false, true, "keep"},
    {'X', false, true, "max-accuracy-loss"},
    {'M', false, true, "checked-dump"},
    {'J', false, true, "isolate-limit"},
    {'g', false, false, "markdown"},
    {'l', false, true, "top"},
    {'u', false, false, "print"},
    {'q', false, true, "range"},
    {'z', false, true, "pin"},
    {'Z', false, true, "without-rewrite"},
    {'e', false, false, "no-kernel-libraries"},
    {'y', false, false, "next-profile"},
    {'b', false, true, "use-profile"},
    {'0', false, true, "border"},
    {'3', false, true, "refit"},
    {'2', false, false, "refit-all"},
    {'V', false, true, "from"},
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

const char *cli_option_name(char letter) {
    size_t i = 0;
    while (rows[i].letter != letter)
        i++;
    return rows[i].name;
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

static int bad_value(const char *name, const char *value, const char *expected) {
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

static int take(cli_options *o, char letter, const char *value) {
    int code = EXIT_DONE;
    if (cli_option_of_precision(o, letter, value, &code)) return code;
    switch (letter) {
    case 'h':
        o->help = true;
        break;
    case 'p':
        return add(&o->plugins, value);
    case 'P':
        return add(&o->plugin_dirs, value);
    case 's':
        return add(&o->shapes, value);
    case 'y':
        return add(&o->shapes, "");
    case 'b':
        return read_count(value, &o->use_profile)
                   ? EXIT_DONE
                   : bad_value("use-profile", value, "the number of a profile, from 0");
    case 'i':
        return add(&o->inputs, value);
    case 'o':
        return add(&o->outputs, value);
    case 'a':
        return add(&o->allowed, value);
    case 't':
        return read_count(value, &o->threads) ? EXIT_DONE
                                              : bad_value("threads", value, "a number of threads");
    case 'n':
        return read_count(value, &o->contexts)
                   ? EXIT_DONE
                   : bad_value("contexts", value, "a number of contexts");
    case 'd':
        o->device = value;
        break;
    case 'O':
        o->output_dir = value;
        break;
    case 'T':
        o->timing_cache = value;
        break;
    case 'w':
        if (add(&o->weight_files, value) != EXIT_DONE) return EXIT_FAULT;
        return add_import(o, "weights", value);
    case '3':
        return add(&o->refit, value);
    case '2':
        o->refit_all = true;
        break;
    case 'V':
        o->from = value;
        break;
    case 'r':
        o->report = value;
        break;
    case 'H':
        o->html = value;
        break;
    case 'D':
        o->dot = value;
        break;
    case 'K':
        o->checked = true;
        break;
    case 'M':
        o->checked = true;
        o->checked_dump = value;
        break;
    case 'I':
        o->isolate = o->isolate_reading = true;
        break;
    case 'J':
        o->isolate = o->isolate_reading = true;
        return read_milliseconds(value, &o->isolate_limit_ms)
                   ? EXIT_DONE
                   : bad_value("isolate-limit", value, "a number of milliseconds above 0");
    case 'x':
        o->exact = true;
        break;
    case 'j':
        o->json = true;
        break;
    case 'g':
        o->markdown = true;
        break;
    case 'u':
        o->prints = true;
        break;
    case 'l':
        return read_count(value, &o->top) && o->top > 0
                   ? EXIT_DONE
                   : bad_value("top", value, "a number of elements above 0, at most 1024");
    case 'f':
        o->profile = true;
        break;
    case 'e':
        o->no_kernel_libraries = true;
        break;
    case 'N':
        o->no_timing = true;
        break;
    case '1':
        o->no_packed_weights = true;
        break;
    case 'F':
        o->no_fusion = true;
        break;
    case 'E':
        o->reference = true;
        break;
    case 'v':
        o->verbose = true;
        break;
    case 'S':
        return read_number(value, &o->seconds) && o->seconds >= 0
                   ? EXIT_DONE
                   : bad_value("seconds", value, "a time");
    case 'Y':
        return read_number(value, &o->timing_seconds) && o->timing_seconds > 0
                   ? EXIT_DONE
                   : bad_value("timing-seconds", value, "a time");
    case 'R':
        o->has_rtol = true;
        return read_number(value, &o->rtol) && o->rtol >= 0
                   ? EXIT_DONE
                   : bad_value("rtol", value, "a tolerance");
    case 'A':
        o->has_atol = true;
        return read_number(value, &o->atol) && o->atol >= 0
                   ? EXIT_DONE
                   : bad_value("atol", value, "a tolerance");
    case 'L':
        if (strcmp(value, "nchw") != 0 && strcmp(value, "nhwc") != 0)
            return bad_value("layout", value, "nchw or nhwc");
        o->layout = value;
        break;
    case 'C':
        if (strcmp(value, "rgb") != 0 && strcmp(value, "bgr") != 0)
            return bad_value("channels", value, "rgb or bgr");
        o->channels = value;
        break;
    case 'm':
        return read_mean(o, value)
                   ? EXIT_DONE
                   : bad_value("mean", value,
                               "one number or three, like 0.5,0.4,0.3, or a file .binaryproto");
    case 'k':
        o->has_scale = true;
        return read_number(value, &o->scale) ? EXIT_DONE : bad_value("scale", value, "a number");
    default:
        break;
    }
    return EXIT_DONE;
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

int cli_options_read(int argc, char **argv, const char *letters, cli_options *out_options) {
    struct option longs[ROW_COUNT + 1];
    char shorts[2 * ROW_COUNT + 2];
    size_t count = 0, at = 0;
    shorts[at++] = ':';
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].letter != 'h' && !strchr(letters, rows[i].letter)) continue;
        longs[count++] = (struct option){rows[i].name, rows[i].has_value, NULL, rows[i].letter};
        if (rows[i].has_short) {
            shorts[at++] = rows[i].letter;
            if (rows[i].has_value) shorts[at++] = ':';
        }
    }
    longs[count] = (struct option){0};
    shorts[at] = 0;
    *out_options = (cli_options){.scale = 1.0,
                                 .seconds = 1.0,
                                 .contexts = 1,
                                 .use_profile = TN_PROFILE_AUTOMATIC,
                                 .layout = "nchw",
                                 .channels = "rgb",
                                 .checked_dump = "tenon-checked",
                                 .command = argv[0],
                                 .given = calloc(text_bytes(argc, argv) + 1, 1)};
    if (!out_options->given) return cli_fault("no memory for the options");
    optind = 1;
    opterr = 0;
    const bool reads_models = strchr(letters, 'w') != NULL; /* and so takes importers' options */
    importers_use(out_options);
    int place = -1; /* of a long option; stays for a short one */
    for (int letter; (letter = getopt_long(argc, argv, shorts, longs, &place)) != -1; place = -1) {
        if (letter == '?') {
            bool is_import = false;
            const int code =
                reads_models ? take_import(out_options, argv, argc, &is_import) : EXIT_DONE;
            if (code != EXIT_DONE) return code;
            if (is_import) continue;
            return refuse_unknown(argv[0], letters, argv[optind - 1]);
        }
        if (letter == ':')
            return cli_usage("%s: option '%s' needs a value", argv[0], argv[optind - 1]);
        if (letter == 'o' && place < 0) out_options->short_output = optarg;
        out_options->given[out_options->given_count++] = (char)letter;
        const int code = take(out_options, (char)letter, optarg);
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
    text_list *const lists[] = {&options->plugins,
                                &options->plugin_dirs,
                                &options->shapes,
                                &options->inputs,
                                &options->outputs,
                                &options->allowed,
                                &options->calibrations,
                                &options->keep,
                                &options->ranges,
                                &options->pins,
                                &options->without_rewrites,
                                &options->import_names,
                                &options->import_values,
                                &options->borders,
                                &options->refit,
                                &options->weight_files};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        free(lists[i]->items);
    free(options->given);
    importers_use(NULL);
    importers_close();
}

/* ----------------------------------------------------------------------------------------------
 * runtime */

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
