/* SPDX-License-Identifier: Apache-2.0 */
/* Engines, inputs and outputs for run and bench; see session.h. Shapes of --shape are read in
 * shapes.c. */
#include "session.h"
#include "cli/shapes.h"
#include "model.h"
#include "values/value_file.h"
#include <tenon/engine.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

tn_plan *session_build_reported(tn_runtime *runtime, const char *model, const cli_options *options,
                                precision_reports *out_reports, int *out_exit) {
    tn_plan *plan = NULL;
    tn_graph *graph = model_load(runtime, model, options, out_exit);
    if (!graph) return NULL;
    shape_profiles profiles = {0};
    if (shape_profiles_read(&profiles, options, graph, out_exit)) {
        const bool is_one = profiles.profile_count == 0;
        const bool is_as_read =
            options->reference || (options->lacks_weights && *options->lacks_weights);
        const tn_builder_options build = {
            .size = sizeof(build),
            .threads = options->threads,
            .device = options->device,
            .timing_cache = options->timing_cache,
            .flags = (options->no_timing || options->measures_nothing ? TN_BUILD_NO_TIMING : 0u) |
                     (options->no_fusion ? TN_BUILD_NO_FUSION : 0u) |
                     (is_as_read ? TN_BUILD_REFERENCE : 0u) |
                     (options->keep_half ? TN_BUILD_KEEP_HALF : 0u) |
                     (options->refit_all ? TN_BUILD_REFIT : 0u) |
                     (options->no_packed_weights ? TN_BUILD_NO_PACKED_WEIGHTS : 0u) |
                     (options->checked ? TN_BUILD_CHECKED : 0u),
            .refit_count = (uint32_t)options->refit.count,
            .refit = options->refit.items,
            .profile_input_count = is_one ? profiles.count : 0,
            .profile_inputs = is_one ? profiles.pointers : NULL,
            .profile_count = profiles.profile_count,
            .profiles = is_one ? NULL : profiles.profile_pointers,
            .timing_seconds = options->timing_seconds,
            .progress = cli_show_progress};
        plan = precision_build(graph, runtime, model, options, &build, out_reports, out_exit);
    }
    shape_profiles_free(&profiles);
    tn_graph_destroy(graph);
    return plan;
}

tn_plan *session_build(tn_runtime *runtime, const char *model, const cli_options *options,
                       int *out_exit) {
    precision_reports reports = {0};
    tn_plan *plan = session_build_reported(runtime, model, options, &reports, out_exit);
    precision_reports_free(runtime, &reports);
    return plan;
}

tn_engine_options session_engine_options(const cli_options *options) {
    return (tn_engine_options){.size = sizeof(tn_engine_options),
                               .threads = options->threads,
                               .device = options->device,
                               .flags = (options->exact ? TN_ENGINE_EXACT : 0u) |
                                        (options->checked ? TN_ENGINE_CHECKED : 0u) |
                                        (options->isolate ? TN_ENGINE_ISOLATED : 0u),
                               .allowed_count = (uint32_t)options->allowed.count,
                               .allowed = options->allowed.items,
                               .checked_dump = options->checked ? options->checked_dump : NULL,
                               .isolation_limit_ms = options->isolate_limit_ms};
}

tn_status session_load_embedded(tn_runtime *runtime, const char *path, const cli_options *options) {
    tn_embedded_options embedded = {.size = sizeof(embedded),
                                    .trusted_count = (uint32_t)options->trusted.count,
                                    .trusted = options->trusted.items};
    if (options->trusted.count == 0) return TN_OK;
    for (size_t i = 0; i < options->trusted.count; i++)
        if (strcmp(options->trusted.items[i], "all") == 0) embedded.flags = TN_EMBEDDED_TRUST_ALL;
    if (embedded.flags) embedded.trusted_count = 0;
    return tn_runtime_load_embedded(runtime, path, &embedded, NULL);
}

static tn_engine *load_engine(tn_runtime *runtime, const char *path, const cli_options *options,
                              bool with_timing, tn_threads *threads, int *out_exit) {
    tn_engine_options engine_options = session_engine_options(options);
    tn_engine *engine = NULL;
    tn_status status;
    engine_options.shared_threads = threads;
    if (model_is_named(path)) {
        cli_options build = *options;
        build.no_timing |= !with_timing || options->isolate; /* timings would run here */
        build.no_packed_weights |= options->isolate;         /* so would what packs them */
        tn_plan *plan = session_build(runtime, path, &build, out_exit);
        if (!plan) return NULL;
        status = tn_engine_load_plan(runtime, plan, &engine_options, &engine);
        tn_plan_destroy(plan);
    } else {
        status = session_load_embedded(runtime, path, options);
        if (status == TN_OK) status = tn_engine_load(runtime, path, &engine_options, &engine);
    }
    if (status != TN_OK) *out_exit = cli_fail(path);
    return engine;
}

tn_engine *session_engine(tn_runtime *runtime, const char *path, const cli_options *options,
                          bool with_timing, int *out_exit) {
    tn_threads *threads = NULL;
    if (options->shared_threads > 0 &&
        tn_threads_create(options->shared_threads, &threads) != TN_OK) {
        *out_exit = cli_fail(path);
        return NULL;
    }
    tn_engine *engine = load_engine(runtime, path, options, with_timing, threads, out_exit);
    tn_threads_release(threads); /* the engine holds them */
    return engine;
}

bool split_assignment(const char *text, char **out_name, const char **out_value) {
    const char *equals = strchr(text, '=');
    *out_name = NULL;
    *out_value = text;
    if (!equals) return true;
    *out_name = strndup(text, (size_t)(equals - text));
    *out_value = equals + 1;
    return *out_name != NULL;
}

/* ----------------------------------------------------------------------------------------------
 * inputs */

/* The range of an input that a run without files is to be within. */
static const tn_profile_input *profile_of(const tn_engine *engine, uint32_t index,
                                          const cli_options *options) {
    const uint32_t asked = options->use_profile;
    return tn_engine_profile_of(engine, asked == TN_PROFILE_AUTOMATIC ? 0 : asked, index);
}

/* The shape of an input without a file, or with a raw one: what --shape says, the optimum of the
 * plan's profile, else (answered by false) the declared extents with 1 for those that are unknown.
 */
static bool default_shape(const tn_engine *engine, uint32_t index, const cli_options *options,
                          int64_t *shape, uint32_t *out_rank) {
    const tn_port_info *port = tn_engine_input(engine, index);
    const tn_profile_input *profile = profile_of(engine, index, options);
    if (shape_option_optimum(options, port->name, shape, out_rank)) return true;
    *out_rank = profile ? profile->rank : port->rank == UINT32_MAX ? 0 : port->rank;
    for (uint32_t i = 0; i < *out_rank; i++)
        shape[i] = profile ? profile->optimum[i] : port->extents[i] < 0 ? 1 : port->extents[i];
    return profile != NULL;
}

static int bind(tn_context *context, uint32_t index, const tn_port_info *port,
                const file_tensor *tensor, const char *path) {
    if (tensor->type != port->type)
        return cli_fault("%s: elements are %s, input '%s' takes %s", path, type_name(tensor->type),
                         port->name, type_name(port->type));
    void *lent = NULL;
    if (tn_context_set_shape(context, index, tensor->rank, tensor->shape) != TN_OK ||
        tn_context_lend_input(context, index, tensor->bytes, &lent) != TN_OK)
        return cli_fail(path);
    if (tensor->bytes > 0) memcpy(lent, tensor->data, tensor->bytes);
    return EXIT_DONE;
}

/* The input that NAME=FILE or FILE is for. */
static int find_given(const tn_engine *engine, const char *text, uint32_t *out_index,
                      const char **out_path) {
    char *name;
    *out_index = 0;
    if (!split_assignment(text, &name, out_path)) return cli_fault("no memory");
    if (!name && tn_engine_input_count(engine) != 1)
        return cli_usage("--input '%s' has no name: there are %u inputs", *out_path,
                         tn_engine_input_count(engine));
    const tn_status status = name ? tn_engine_find_input(engine, name, out_index) : TN_OK;
    free(name);
    return status == TN_OK ? EXIT_DONE : cli_fail("--input");
}

/* A file has the shape that --shape asks for, where that is one shape. */
static int check_asked(const cli_options *options, const tn_port_info *port,
                       const file_tensor *tensor, const char *path) {
    int64_t asked[TN_MAX_RANK];
    uint32_t rank;
    char want[SHAPE_TEXT_BYTES], found[SHAPE_TEXT_BYTES];
    if (!shape_option_extents(options, port->name, asked, &rank)) return EXIT_DONE;
    bool fits = rank == tensor->rank;
    for (uint32_t i = 0; fits && i < rank; i++)
        fits = asked[i] < 0 || asked[i] == tensor->shape[i];
    if (fits) return EXIT_DONE;
    return cli_fault("%s: the shape is %s, --shape asks for %s of input '%s'", path,
                     shape_print(tensor->rank, tensor->shape, found),
                     shape_print(rank, asked, want), port->name);
}

/* What is no dense tensor. That it was given is noted in `given`, whose memory is freed with it. */
static int bind_value(tn_context *context, uint32_t index, const tn_port_info *port,
                      const char *path, file_tensor *given) {
    file_value value = {0};
    if (!value_file_read(path, port, &value)) return EXIT_FAULT;
    const bool is_bound = value_bind(context, index, &value);
    file_value_free(&value);
    if (!is_bound) return cli_fail(path);
    given->data = calloc(1, 1);
    return given->data ? EXIT_DONE : cli_fault("no memory");
}

static int read_given(tn_engine *engine, tn_context *context, const cli_options *options,
                      file_tensor *tensors) {
    for (size_t i = 0; i < options->inputs.count; i++) {
        const char *path;
        uint32_t index, rank;
        int64_t shape[TN_MAX_RANK];
        int code = find_given(engine, options->inputs.items[i], &index, &path);
        if (code != EXIT_DONE) return code;
        const tn_port_info *port = tn_engine_input(engine, index);
        if (tensors[index].data) return cli_usage("--input: '%s' is given twice", port->name);
        if (port->kind) {
            code = bind_value(context, index, port, path, &tensors[index]);
            if (code != EXIT_DONE) return code;
            continue;
        }
        default_shape(engine, index, options, shape, &rank);
        if (!tensor_file_read(path, options, port->rank == UINT32_MAX && !rank ? -1 : (int)rank,
                              shape, &tensors[index]))
            return EXIT_FAULT;
        code = check_asked(options, port, &tensors[index], path);
        if (code == EXIT_DONE) code = bind(context, index, port, &tensors[index], path);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* Zeros; for a checked run numbers that a logarithm or a division takes. Values that decide shapes
 * are those of the profile's optimum, or sizes of 1. */
static void fill_sample(file_tensor *tensor, const tn_port_info *port,
                        const tn_profile_input *profile, bool is_checked) {
    float *values = tensor->data;
    int64_t *sizes = tensor->data;
    int32_t *short_sizes = tensor->data;
    uint32_t state = 1;
    memset(tensor->data, 0, tensor->bytes);
    for (size_t i = 0; is_checked && tensor->type == TN_F32 && i < tensor->bytes / 4; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)((state >> 16) + 1) / 65536.0f;
    }
    for (size_t i = 0; port->is_value && tensor->type == TN_I64 && i < tensor->bytes / 8; i++)
        sizes[i] = 1;
    for (size_t i = 0; port->is_value && tensor->type == TN_I32 && i < tensor->bytes / 4; i++)
        short_sizes[i] = 1;
    if (!profile || !profile->optimum_value || profile->rank != tensor->rank) return;
    for (uint32_t i = 0; i < profile->rank; i++)
        if (profile->optimum[i] != tensor->shape[i]) return;
    memcpy(tensor->data, profile->optimum_value, tensor->bytes);
}

/* A sequence or an optional without items, an empty map. */
static bool sample_value(tn_context *context, uint32_t index, const tn_port_info *port) {
    const int64_t none = 0;
    bool is_good = tn_context_clear_items(context, index) == TN_OK;
    for (int part = 0; is_good && part < 2 && port->kind == TN_KIND_MAP; part++)
        is_good = tn_context_append_item(context, index, part ? port->type : port->key_type, 1,
                                         &none, NULL, 0) == TN_OK;
    return is_good;
}

/* An input without a file: its shape, and for `fill_missing` values. */
static int bind_missing(tn_engine *engine, tn_context *context, const cli_options *options,
                        uint32_t index, bool fill_missing, file_tensor *tensor) {
    const tn_port_info *port = tn_engine_input(engine, index);
    int64_t shape[TN_MAX_RANK];
    uint32_t rank;
    if (port->kind) { /* a sample has no items */
        const bool is_whole = !fill_missing || sample_value(context, index, port);
        return is_whole ? EXIT_DONE : cli_fail(port->name);
    }
    const bool is_known = default_shape(engine, index, options, shape, &rank);
    if (!fill_missing && (!is_known || tn_context_set_shape(context, index, rank, shape) == TN_OK))
        return EXIT_DONE; /* the run says which shape or values it lacks */
    if (!fill_missing) return cli_fail("--shape");
    if (!file_tensor_allocate(tensor, port->type, rank, shape, port->name)) return EXIT_FAULT;
    fill_sample(tensor, port, profile_of(engine, index, options), options->checked);
    return bind(context, index, port, tensor, port->name);
}

/* Of a plan, whose range is fixed: each --shape is one shape for an input that is there. (A
 * model's are checked when it is built.) */
static int check_shapes(const tn_engine *engine, const cli_options *options) {
    for (size_t i = 0; i < options->shapes.count; i++) {
        const char *text = options->shapes.items[i], *equals = strrchr(text, '=');
        uint32_t index;
        int64_t extents[TN_MAX_RANK];
        char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;
        if (equals && !name) return cli_fault("no memory");
        if (!equals && tn_engine_input_count(engine) != 1)
            return cli_usage("--shape '%s' has no name: there are %u inputs", text,
                             tn_engine_input_count(engine));
        const tn_status status = name ? tn_engine_find_input(engine, name, &index) : TN_OK;
        free(name);
        if (status != TN_OK) return cli_fail("--shape");
        if (!shape_option_is_one(text, extents, &index))
            return cli_usage("--shape '%s': expected NAME=1x3x256x256, one shape to run at: a "
                             "plan's range is that which it was built for",
                             text);
    }
    return EXIT_DONE;
}

int session_bind_inputs(tn_engine *engine, tn_context *context, const cli_options *options,
                        bool fill_missing, file_tensor *tensors) {
    int code = model_is_named(options->arguments[0]) ? EXIT_DONE : check_shapes(engine, options);
    if (code == EXIT_DONE && options->use_profile != TN_PROFILE_AUTOMATIC &&
        tn_context_set_profile(context, options->use_profile) != TN_OK)
        code = cli_fail("--use-profile");
    if (code == EXIT_DONE) code = read_given(engine, context, options, tensors);
    for (uint32_t i = 0; code == EXIT_DONE && i < tn_engine_input_count(engine); i++)
        if (!tensors[i].data)
            code = bind_missing(engine, context, options, i, fill_missing, &tensors[i]);
    return code;
}

int session_fail_run(const char *what) {
    if (tn_last_error()->status != TN_ERROR_STATE) return cli_fail(what);
    return cli_fault("%s: %s: --input NAME=FILE gives its values (where only its shape is read, "
                     "--shape NAME=1x3x8x8 is enough)",
                     what, tn_last_error()->message);
}

/* One run on sample values, in the profile that the options name. */
static int check_run(tn_engine *engine, const cli_options *options) {
    tn_context *context = NULL;
    const uint32_t count = tn_engine_input_count(engine);
    file_tensor *tensors = calloc(count + 1u, sizeof(*tensors));
    int code = tensors ? EXIT_DONE : cli_fault("no memory");
    if (code == EXIT_DONE && tn_context_create(engine, &context) != TN_OK)
        code = cli_fail("the checked run");
    if (code == EXIT_DONE) code = session_bind_inputs(engine, context, options, true, tensors);
    if (code == EXIT_DONE && tn_context_run(context) != TN_OK) code = cli_fail("the checked run");
    tn_context_destroy(context);
    for (uint32_t i = 0; tensors && i < count; i++)
        file_tensor_free(&tensors[i]);
    free(tensors);
    return code;
}

int session_check_plan(tn_runtime *runtime, const tn_plan *plan, const cli_options *options) {
    const tn_engine_options engine_options = session_engine_options(options);
    cli_options without_files = *options; /* --input names the model's inputs here */
    without_files.inputs.count = 0;
    tn_engine *engine = NULL;
    if (!options->checked) return EXIT_DONE;
    if (tn_engine_load_plan(runtime, plan, &engine_options, &engine) != TN_OK)
        return cli_fail("the checked run");
    const uint32_t profiles = tn_engine_profile_count(engine);
    if (profiles > 1) without_files.shapes.count = 0; /* the profiles have them */
    int code = EXIT_DONE;
    for (uint32_t p = 0; p < profiles && code == EXIT_DONE; p++) {
        if (profiles > 1) without_files.use_profile = p;
        code = check_run(engine, &without_files);
    }
    tn_engine_release(engine);
    return code;
}

/* ----------------------------------------------------------------------------------------------
 * outputs */

static int write_output(const tn_engine *engine, tn_context *context, uint32_t index,
                        const cli_options *options, const char *path) {
    const tn_port_info *port = tn_engine_output(engine, index);
    const tn_tensor *tensor;
    if (port->kind) return value_file_write(path, context, index, port) ? EXIT_DONE : EXIT_FAULT;
    if (tn_context_output(context, index, &tensor) != TN_OK) return cli_fail(path);
    return tensor_file_write(path, options, tensor) ? EXIT_DONE : EXIT_FAULT;
}

static int write_named(tn_engine *engine, tn_context *context, const cli_options *options,
                       const char *text) {
    char *name;
    const char *path;
    uint32_t index = 0;
    if (!split_assignment(text, &name, &path)) return cli_fault("no memory");
    const tn_status status = name ? tn_engine_find_output(engine, name, &index) : TN_OK;
    free(name);
    return status == TN_OK ? write_output(engine, context, index, options, path)
                           : cli_fail("--output");
}

bool session_writes_stdout(const cli_options *options) {
    for (size_t i = 0; i < options->outputs.count; i++) {
        const char *equals = strchr(options->outputs.items[i], '=');
        if (tensor_file_is_stream(equals ? equals + 1 : options->outputs.items[i])) return true;
    }
    return false;
}

int session_write_outputs(tn_engine *engine, tn_context *context, const cli_options *options) {
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < options->outputs.count; i++)
        code = write_named(engine, context, options, options->outputs.items[i]);
    if (!options->output_dir || code != EXIT_DONE) return code;
    mkdir(options->output_dir, 0777);
    for (uint32_t i = 0; code == EXIT_DONE && i < tn_engine_output_count(engine); i++) {
        char path[4096], name[256];
        snprintf(name, sizeof(name), "%s", tn_engine_output(engine, i)->name);
        for (char *at = name; *at; at++)
            *at = *at == '/' ? '_' : *at; /* names are the model's, paths are ours */
        snprintf(path, sizeof(path), "%s/%s.%s", options->output_dir, name,
                 tn_engine_output(engine, i)->kind ? "json" : "npy");
        code = write_output(engine, context, i, options, path);
    }
    return code;
}
