/* SPDX-License-Identifier: Apache-2.0 */
/* tenon test: test directories in ONNX's own layout, a line each. Comparing is compare.c. */
#include "files/compare.h"
#include "session/model.h"
#include "session/option_use.h"
#include "session/session.h"
#include "test_calibration.h"
#include "test_processor.h"
#include "values/value_file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tenon test DIR... [options]\n"
    "  DIR holds model.onnx (or model.uff, model.pbtxt of UFF, or model.prototxt with "
    "model.caffemodel)\n"
    "  and test_data_set_N/{input,output}_M.pb, or folders that do\n"
    "      --rtol F  --atol F    default 1e-3 and 1e-7, or what data.json beside the model says; "
    "bfloat16: rtol 2^-6 at least\n"
    "  -p, --plugin LIB.so[@DOMAIN]  -P, --plugin-dir DIR  -t, --threads N  --reference  "
    "--no-fusion\n"
    "      --device NAME, --precision fp32|tf32|bf16|fp16|int8   as build has them; int8: each "
    "model is calibrated\n"
    "      with its own test data (largest magnitudes), and an output may differ by 5% of its "
    "largest magnitude\n"
    "      where no --rtol or --atol is given\n"
    "      --exact, --allow-plugin HASH|DIR   only these libraries, as run has them\n"
    "      --timing-cache FILE   choose kernels by measured time (otherwise by rule)\n"
    "      --isolate, --isolate-limit MS   a model is read, and plugins' kernels run, in a process "
    "of "
    "their own; the reading\n"
    "                            may take MS (default 60000), and each callback (default 10000)\n"
    "      --checked, --checked-dump DIR   guarded memory around each node; the first bad node's "
    "tensors go to DIR (default tenon-checked)\n"
    "  -v, --verbose   log all\n"
    "prints PASS DIR | FAIL DIR: why | UNSUPPORTED DIR: why; with a device of --device the "
    "operators "
    "of which\n"
    "nodes ran on the processor; last line: N passed, N failed, N skipped\n"
    "example: tenon test suite/test_relu suite/test_conv*\n";

typedef struct test_run {
    const cli_options *options;
    tn_runtime *runtime;
    size_t passed, failed, skipped;
    test_processor *processor; /* null: nothing runs on a device */
} test_run;

typedef struct verdict {
    bool is_unsupported;
    char why[700];
} verdict;

static bool exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

static bool fail_last(verdict *out) {
    const tn_error *error = tn_last_error();
    out->is_unsupported = error->status == TN_ERROR_UNSUPPORTED;
    snprintf(out->why, sizeof(out->why), "%s%s%s", error->where, error->where[0] ? ": " : "",
             error->message);
    for (char *at = out->why; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    return false;
}

/* The engine's inputs are the model's inputs that are not initializers, in order: input_k feeds the
 * k-th. */
static bool bind_files(tn_engine *engine, tn_context *context, const test_run *run, const char *set,
                       file_tensor *tensors, verdict *out) {
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        char path[4200];
        snprintf(path, sizeof(path), "%s/input_%u.pb", set, i);
        if (!exists(path)) {
            snprintf(out->why, sizeof(out->why), "there is no %.500s for input '%s'", path,
                     tn_engine_input(engine, i)->name);
            return false;
        }
        if (tn_engine_input(engine, i)->kind) {
            file_value value = {0};
            const bool is_read = value_file_read(path, tn_engine_input(engine, i), &value);
            const bool is_bound = is_read && value_bind(context, i, &value);
            file_value_free(&value);
            if (!is_read) snprintf(out->why, sizeof(out->why), "cannot read %.600s", path);
            if (!is_bound) return is_read ? fail_last(out) : false;
            continue;
        }
        if (!tensor_file_read(path, run->options, -1, NULL, &tensors[i])) {
            snprintf(out->why, sizeof(out->why), "cannot read %.600s", path);
            return false;
        }
        if (tensors[i].type != tn_engine_input(engine, i)->type) {
            snprintf(out->why, sizeof(out->why), "%.400s holds %s, input '%s' takes %s", path,
                     type_name(tensors[i].type), tn_engine_input(engine, i)->name,
                     type_name(tn_engine_input(engine, i)->type));
            return false;
        }
        if (tn_context_set_shape(context, i, tensors[i].rank, tensors[i].shape) != TN_OK ||
            tn_context_bind_input(context, i, tensors[i].data, tensors[i].bytes) != TN_OK)
            return fail_last(out);
    }
    return true;
}

static bool compare_value(const tn_engine *engine, tn_context *context, uint32_t output,
                          const char *path, const tolerance *allowed, verdict *out) {
    const tn_port_info *port = tn_engine_output(engine, output);
    file_value expected = {0};
    if (!exists(path) || !value_file_read(path, port, &expected)) {
        snprintf(out->why, sizeof(out->why), "cannot read %.600s", path);
        return false;
    }
    const bool is_equal =
        value_compare(context, output, port, &expected, allowed, out->why, sizeof(out->why));
    file_value_free(&expected);
    return is_equal;
}

static bool compare_files(tn_engine *engine, tn_context *context, const test_run *run,
                          const char *set, const tolerance *allowed, verdict *out) {
    for (uint32_t i = 0; i < tn_engine_output_count(engine); i++) {
        char path[4200];
        file_tensor expected = {0};
        const tn_tensor *found;
        snprintf(path, sizeof(path), "%s/output_%u.pb", set, i);
        if (tn_engine_output(engine, i)->kind) {
            if (!compare_value(engine, context, i, path, allowed, out)) return false;
            continue;
        }
        if (tn_context_output(context, i, &found) != TN_OK) return fail_last(out);
        if (!exists(path) || !tensor_file_read(path, run->options, -1, NULL, &expected)) {
            snprintf(out->why, sizeof(out->why), "cannot read %.600s", path);
            return false;
        }
        const bool is_equal = compare_tensors(tn_engine_output(engine, i)->name, &expected, found,
                                              allowed, out->why, sizeof(out->why));
        file_tensor_free(&expected);
        if (!is_equal) return false;
    }
    return true;
}

static bool run_set(tn_engine *engine, const test_run *run, const char *set,
                    const tolerance *allowed, verdict *out) {
    tn_context *context = NULL;
    file_tensor *tensors = calloc(tn_engine_input_count(engine) + 1u, sizeof(*tensors));
    if (!tensors || tn_context_create(engine, &context) != TN_OK) {
        free(tensors);
        return fail_last(out);
    }
    bool is_passed = bind_files(engine, context, run, set, tensors, out);
    if (is_passed && tn_context_run(context) != TN_OK) is_passed = fail_last(out);
    is_passed = is_passed && compare_files(engine, context, run, set, allowed, out);
    tn_context_destroy(context);
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++)
        file_tensor_free(&tensors[i]);
    free(tensors);
    return is_passed;
}

/* The model of a folder, by the formats that are read; false when it holds none. */
static bool find_model(const char *directory, char *path, size_t bytes) {
    static const char *const names[] = {"model.onnx", "model.uff", "model.pbtxt", "model.prototxt"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const int length = snprintf(path, bytes, "%s/%s", directory, names[i]);
        if (length > 0 && (size_t)length < bytes && exists(path)) return true;
    }
    return false;
}

/* A network's weights lie beside it, where its format has them in a file of their own. */
static tn_status load_model(tn_runtime *runtime, const char *model, const cli_options *cli,
                            tn_graph **out_graph) {
    char weights[4200];
    const char *ending = strrchr(model, '.');
    const tn_attribute option = {
        .size = sizeof(option), .type = TN_FIELD_STRING, .name = "weights", .s = weights};
    const tn_attribute *const list[] = {&option};
    tn_import_options options = model_import_options(cli);
    options.options = list;
    snprintf(weights, sizeof(weights), "%.*s.caffemodel", (int)(ending - model), model);
    options.option_count = strcmp(ending, ".prototxt") == 0 && exists(weights) ? 1 : 0;
    return tn_graph_load(runtime, model, &options, out_graph);
}

/* Values that have no scale are a case that 8 bits do not have, not one that they get wrong. */
static tn_status fail_calibration(verdict *out) {
    const tn_status status = tn_last_error()->status;
    if (!out->why[0]) fail_last(out);
    out->is_unsupported |= status == TN_ERROR_RANGE;
    return status != TN_OK ? status : TN_ERROR_IO;
}

/* A plan of the options' precision. */
static tn_status build_plan(const test_run *run, const char *directory, tn_graph *graph,
                            tn_plan **out_plan, verdict *out) {
    const cli_options *options = run->options;
    tn_builder_options build = {
        .size = sizeof(build),
        .threads = options->threads,
        .device = options->device,
        .timing_cache = options->timing_cache,
        .flags = (options->timing_cache ? 0u : TN_BUILD_NO_TIMING) |
                 (options->no_fusion ? TN_BUILD_NO_FUSION : 0u) |
                 (options->reference ? TN_BUILD_REFERENCE : 0u),
    };
    tn_calibration *table = NULL;
    tn_status status = TN_OK;
    if (options->precision == TN_PRECISION_I8 &&
        !test_calibrate(run->runtime, graph, directory, options, &build, &table, out->why,
                        sizeof(out->why)))
        status = fail_calibration(out);
    build.precision = options->precision;
    build.second_precision = options->second_precision;
    build.calibration = table;
    if (status == TN_OK) status = tn_build(graph, &build, out_plan);
    tn_calibration_destroy(table);
    return status;
}

static tn_engine *build_case(const test_run *run, const char *directory, const char *model,
                             verdict *out) {
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_status status = load_model(run->runtime, model, run->options, &graph);
    if (status == TN_OK) status = build_plan(run, directory, graph, &plan, out);
    if (status == TN_OK && run->processor) test_processor_add(run->processor, tn_plan_report(plan));
    tn_engine_options engine_options = session_engine_options(run->options);
    engine_options.flags |= TN_ENGINE_CHECKED_ANY_NUMBER; /* what is expected decides */
    if (status == TN_OK) status = tn_engine_load_plan(run->runtime, plan, &engine_options, &engine);
    if (status != TN_OK && !out->why[0]) fail_last(out);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return engine;
}

static bool run_case(const test_run *run, const char *directory, verdict *out) {
    char path[4096];
    tolerance allowed = {.rtol = 1e-3, .atol = 1e-7};
    snprintf(path, sizeof(path), "%s/data.json", directory);
    if (exists(path)) tolerance_read(path, &allowed);
    if (run->options->precision == TN_PRECISION_I8 && !run->options->has_rtol &&
        !run->options->has_atol)
        allowed = (tolerance){.of_largest = 0.05};
    if (run->options->has_rtol) allowed.rtol = run->options->rtol;
    if (run->options->has_atol) allowed.atol = run->options->atol;
    if (!find_model(directory, path, sizeof(path))) {
        snprintf(out->why, sizeof(out->why), "there is no model");
        return false;
    }
    tn_engine *engine = build_case(run, directory, path, out);
    bool is_passed = engine != NULL;
    int sets = 0;
    for (; is_passed && sets < 1000; sets++) {
        snprintf(path, sizeof(path), "%s/test_data_set_%d", directory, sets);
        DIR *folder = opendir(path);
        if (!folder) break;
        closedir(folder);
        is_passed = run_set(engine, run, path, &allowed, out);
    }
    if (is_passed && sets == 0) {
        snprintf(out->why, sizeof(out->why), "there is no test_data_set_0");
        is_passed = false;
    }
    tn_engine_release(engine);
    return is_passed;
}

static void report_case(test_run *run, const char *directory) {
    verdict result = {.why = ""};
    const bool is_passed = run_case(run, directory, &result);
    if (is_passed)
        printf("PASS %s\n", directory);
    else
        printf("%s %s: %s\n", result.is_unsupported ? "UNSUPPORTED" : "FAIL", directory,
               result.why);
    fflush(stdout);
    run->passed += is_passed;
    run->skipped += !is_passed && result.is_unsupported;
    run->failed += !is_passed && !result.is_unsupported;
}

static int compare_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int run_folder(test_run *run, const char *directory) {
    char path[4096], inside[4096];
    if (find_model(directory, path, sizeof(path))) {
        report_case(run, directory);
        return EXIT_DONE;
    }
    DIR *folder = opendir(directory);
    if (!folder) return cli_fault("there is no directory '%s'", directory);
    text_list cases = {0};
    bool is_complete = true;
    for (struct dirent *entry; is_complete && (entry = readdir(folder)) != NULL;) {
        const int length = snprintf(inside, sizeof(inside), "%s/%s", directory, entry->d_name);
        if (entry->d_name[0] == '.' || length < 0 || (size_t)length >= sizeof(inside) ||
            !find_model(inside, path, sizeof(path)))
            continue;
        is_complete = text_list_add_copy(&cases, inside);
    }
    closedir(folder);
    if (cases.count) qsort(cases.items, cases.count, sizeof(*cases.items), compare_text);
    for (size_t i = 0; i < cases.count; i++) {
        report_case(run, cases.items[i]);
        free((void *)(uintptr_t)cases.items[i]);
    }
    free(cases.items);
    if (!is_complete) return cli_fault("no memory for the folders of '%s'", directory);
    return cases.count ? EXIT_DONE
                       : cli_fault("'%s' holds no model.onnx, model.uff or model.prototxt, and no "
                                   "folders that do",
                                   directory);
}

int command_test(int argc, char **argv) {
    cli_options options;
    int code = cli_options_read(argc, argv, "pPtdcTRAFEKMIJvxa", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
    } else if (code == EXIT_DONE && options.argument_count < 1) {
        code = cli_usage("test takes directories (tenon test -h)");
    } else if (code == EXIT_DONE && (code = option_use_check(&options)) == EXIT_DONE) {
        if (options.threads == 0) options.threads = 1;
        static test_processor processor;
        test_run run = {.options = &options,
                        .runtime = cli_runtime(&options, &code),
                        .processor = options.device ? &processor : NULL};
        for (int i = 0; run.runtime && code == EXIT_DONE && i < options.argument_count; i++)
            code = run_folder(&run, options.arguments[i]);
        test_processor_print(&processor);
        if (run.runtime)
            printf("%zu passed, %zu failed, %zu skipped\n", run.passed, run.failed, run.skipped);
        if (code == EXIT_DONE && run.failed) code = EXIT_FAULT;
        tn_runtime_release(run.runtime);
    }
    cli_options_free(&options);
    return code;
}
