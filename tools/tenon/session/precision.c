/* SPDX-License-Identifier: Apache-2.0 */
/* Builds in a lower precision; see precision.h. */
#include "files/ranges.h"
#include "files/samples.h"
#include "precision.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[] = {[TN_PRECISION_F32] = "fp32",
                                    [TN_PRECISION_TF32] = "tf32",
                                    [TN_PRECISION_BF16] = "bf16",
                                    [TN_PRECISION_F16] = "fp16",
                                    [TN_PRECISION_I8] = "int8"};

static bool parse_one(const char *text, uint32_t *out_precision) {
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out_precision = i;
        return true;
    }
    return false;
}

bool precision_parse(const char *text, uint32_t *out_precision, uint32_t *out_second) {
    static const char first[] = "int8,";
    uint32_t second = 0;
    if (strncmp(text, first, strlen(first)) != 0) {
        if (!parse_one(text, out_precision)) return false;
        *out_second = 0;
        return true;
    }
    if (!parse_one(text + strlen(first), &second) ||
        (second != TN_PRECISION_F16 && second != TN_PRECISION_BF16))
        return false;
    *out_precision = TN_PRECISION_I8;
    *out_second = second;
    return true;
}

void precision_reports_free(tn_runtime *runtime, precision_reports *reports) {
    tn_text_free(runtime, reports->calibration);
    tn_text_free(runtime, reports->accuracy);
    *reports = (precision_reports){0};
}

/* What --calibration named: at most one table and one folder. */
typedef struct calibration_source {
    const char *table_path, *folder_path;
    sample_folder folder;
    tn_calibration *table;
} calibration_source;

static bool find_sources(const cli_options *options, calibration_source *source, int *out_exit) {
    for (size_t i = 0; i < options->calibrations.count; i++) {
        const char *path = options->calibrations.items[i];
        struct stat info;
        if (stat(path, &info) != 0) {
            *out_exit = cli_fault("--calibration '%s': %s", path, strerror(errno));
            return false;
        }
        const char **kept = S_ISDIR(info.st_mode) ? &source->folder_path : &source->table_path;
        if (*kept) {
            *out_exit = cli_usage(
                "--calibration '%s' and '%s': one table and one directory at most", *kept, path);
            return false;
        }
        *kept = path;
    }
    return true;
}

/* What does not go together, said before anything is run. */
static bool check_precision_options(const cli_options *options, const calibration_source *source,
                                    int *out_exit) {
    if (options->precision == TN_PRECISION_I8 && !source->table_path && !source->folder_path &&
        options->ranges.count == 0)
        *out_exit = cli_usage(
            "--precision int8 needs the range of every tensor: --calibration DIRECTORY with sample "
            "inputs (.npy or images; a hundred or more that are like those to come), "
            "--calibration FILE with a table that --write-calibration or TensorRT made, or "
            "--range TENSOR=LARGEST by hand");
    else
        return true;
    return false;
}

static bool make_table(tn_graph *graph, const cli_options *options, const tn_builder_options *build,
                       calibration_source *source, precision_reports *reports, int *out_exit) {
    const tn_calibrate_options calibrate = {.size = sizeof(calibrate),
                                            .calibrator = options->calibrator,
                                            .percentile = options->percentile,
                                            .build = build,
                                            .batches = &source->folder.batches};
    char *report = NULL;
    if (tn_calibrate(graph, &calibrate, &source->table, &report) != TN_OK) {
        *out_exit = sample_folder_fail(&source->folder, source->folder_path);
        return false;
    }
    reports->calibration = report;
    return true;
}

static bool open_table(tn_graph *graph, tn_runtime *runtime, const cli_options *options,
                       const tn_builder_options *build, calibration_source *source,
                       precision_reports *reports, int *out_exit) {
    if (options->precision != TN_PRECISION_I8) return true;
    if (source->folder_path && !source->table_path) {
        if (!make_table(graph, options, build, source, reports, out_exit)) return false;
    } else if (source->table_path &&
               tn_calibration_read(runtime, source->table_path, &source->table) != TN_OK) {
        *out_exit = cli_fail(source->table_path);
        return false;
    }
    if (!ranges_apply(options, runtime, &source->table, out_exit)) return false;
    if (!options->write_calibration) return true;
    if (tn_calibration_write(source->table, options->write_calibration) == TN_OK) return true;
    *out_exit = cli_fail(options->write_calibration);
    return false;
}

static tn_plan *build_measured(tn_graph *graph, const char *model, const cli_options *options,
                               const tn_builder_options *build, calibration_source *source,
                               precision_reports *reports, int *out_exit) {
    const tn_accuracy_options accuracy = {.size = sizeof(accuracy),
                                          .max_loss =
                                              options->has_max_loss ? options->max_loss : -1,
                                          .build = build,
                                          .batches = &source->folder.batches};
    tn_plan *plan = NULL;
    if (tn_build_accurate(graph, &accuracy, &plan, &reports->accuracy) == TN_OK) return plan;
    *out_exit = sample_folder_fail(&source->folder, model);
    return NULL;
}

static tn_plan *build_lower(tn_graph *graph, const char *model, tn_runtime *runtime,
                            const cli_options *options, const tn_builder_options *given,
                            calibration_source *source, precision_reports *reports, int *out_exit) {
    tn_builder_options build = *given;
    tn_plan *plan = NULL;
    if (!ranges_check(options, graph, out_exit)) return NULL;
    if (source->folder_path &&
        !sample_folder_open(&source->folder, source->folder_path, options, graph, out_exit))
        return NULL;
    if (!open_table(graph, runtime, options, given, source, reports, out_exit)) return NULL;
    build.precision = options->precision;
    build.second_precision = options->second_precision;
    build.calibration = source->table;
    build.keep_count = (uint32_t)options->keep.count;
    build.keep = options->keep.items;
    build.pin_count = (uint32_t)options->pins.count;
    build.pins = options->pins.items;
    build.without_rewrite_count = (uint32_t)options->without_rewrites.count;
    build.without_rewrites = options->without_rewrites.items;
    if (source->folder_path)
        return build_measured(graph, model, options, &build, source, reports, out_exit);
    if (tn_build(graph, &build, &plan) != TN_OK) *out_exit = cli_fail(model);
    return plan;
}

tn_plan *precision_build(tn_graph *graph, tn_runtime *runtime, const char *model,
                         const cli_options *options, const tn_builder_options *build,
                         precision_reports *out_reports, int *out_exit) {
    calibration_source source = {0};
    tn_plan *plan = NULL;
    const bool is_cpu = !options->device || strcmp(options->device, "cpu") == 0;
    if (options->precision == TN_PRECISION_TF32 && is_cpu)
        fprintf(stderr,
                "tenon: --precision tf32 changes nothing on the processor, which multiplies "
                "in 32-bit floats\n");
    if (find_sources(options, &source, out_exit) &&
        check_precision_options(options, &source, out_exit))
        plan = build_lower(graph, model, runtime, options, build, &source, out_reports, out_exit);
    tn_calibration_destroy(source.table);
    sample_folder_close(&source.folder);
    return plan;
}

char *precision_join_reports(const char *report, const precision_reports *reports) {
    size_t length = strlen(report), bytes = 0;
    char *text = NULL;
    while (length > 0 && (report[length - 1] == '\n' || report[length - 1] == ' '))
        length--;
    if (length > 0 && report[length - 1] == '}') length--;
    while (length > 0 && report[length - 1] == '\n')
        length--;
    FILE *file = open_memstream(&text, &bytes);
    if (!file) return NULL;
    fwrite(report, 1, length, file);
    if (reports->calibration) fprintf(file, ",\n\"calibration\": %s", reports->calibration);
    if (reports->accuracy) fprintf(file, ",\n\"accuracy\": %s", reports->accuracy);
    fprintf(file, "\n}\n");
    if (fclose(file) == 0) return text;
    free(text);
    return NULL;
}
