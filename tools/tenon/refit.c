/* SPDX-License-Identifier: Apache-2.0 */
/* tenon refit: a plan with other data for its constants, from files or from a model. */
#include "cli/importers.h"
#include "files/file_kind.h"
#include "files/tensor_file.h"
#include "session/model.h"
#include "session/option_use.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tenon refit PLAN [--from MODEL] [--weights NAME=FILE ...] -o PLAN\n"
    "  a plan with other data for constants that it was built to have it for (tenon build --refit, "
    "--refit-all);\n"
    "  kernels stay as they are, nothing is measured, no code of the plan is loaded; without -o: "
    "which constants\n"
    "      --from MODEL         all of them from a model of the same network: .onnx, .uff, "
    ".prototxt\n"
    "  -w, --weights NAME=FILE  one from .npy, .pb or raw f32 (repeatable), over those of --from;\n"
    "                           FILE.caffemodel alone: the weights of a .prototxt\n"
    "  -o PLAN                  where the new plan goes\n"
    "  -p, --plugin LIB.so, -P, --plugin-dir DIR   for reading the model\n"
    "      --isolate, --isolate-limit MS   the model is read in a process of its own, which may "
    "take MS (default 60000)\n"
    "  -v, --verbose            log all\n"
    "example: tenon refit net.plan --from net_epoch_90.onnx -o net_epoch_90.plan\n";

static int list(const tn_refit *refit) {
    for (uint32_t i = 0; i < tn_refit_count(refit); i++) {
        const tn_port_info *info = tn_refit_constant(refit, i);
        printf("%s %s[", info->name, type_name(info->type));
        for (uint32_t axis = 0; axis < info->rank; axis++)
            printf("%s%lld", axis ? "," : "", (long long)info->extents[axis]);
        printf("]\n");
    }
    return EXIT_DONE;
}

static const tn_port_info *find(const tn_refit *refit, const char *name) {
    for (uint32_t i = 0; i < tn_refit_count(refit); i++)
        if (strcmp(tn_refit_constant(refit, i)->name, name) == 0)
            return tn_refit_constant(refit, i);
    return NULL;
}

static int set_from_file(tn_refit *refit, const cli_options *options, const char *name,
                         const char *path) {
    const tn_port_info *info = find(refit, name);
    file_tensor tensor = {0};
    /* what is not there is refused by its name */
    if (!info) return tn_refit_set(refit, name, TN_F32, 0, NULL, "", 0) ? cli_fail("--weights") : 0;
    if (!tensor_file_read(path, options, (int)info->rank, info->extents, &tensor))
        return EXIT_FAULT;
    const tn_status status = tn_refit_set(refit, name, tensor.type, tensor.rank, tensor.shape,
                                          tensor.data, tensor.bytes);
    file_tensor_free(&tensor);
    return status == TN_OK ? EXIT_DONE : cli_fail(path);
}

/* Of texts without '=' the last one is the weights of a Caffe network. */
static int set_from_files(tn_refit *refit, const cli_options *options, size_t *out_count) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < options->weight_files.count && code == EXIT_DONE; i++) {
        char *name;
        const char *path;
        if (!split_assignment(options->weight_files.items[i], &name, &path))
            return cli_fault("no memory for the options");
        if (name) {
            code = set_from_file(refit, options, name, path);
            ++*out_count;
        }
        free(name);
    }
    return code;
}

static int set_from_model(tn_runtime *runtime, tn_refit *refit, const cli_options *options,
                          uint32_t *out_count) {
    int code = EXIT_DONE;
    tn_graph *graph = model_load(runtime, options->from, options, &code);
    if (!graph) return code;
    if (tn_refit_set_all(refit, graph, out_count) != TN_OK) code = cli_fail(options->from);
    tn_graph_destroy(graph);
    return code;
}

static int refit_plan(tn_runtime *runtime, const cli_options *options, const char *path) {
    tn_refit *refit = NULL;
    uint32_t from_model = 0;
    size_t from_files = 0;
    if (tn_refit_create_for_plan(runtime, options->arguments[0], &refit) != TN_OK)
        return cli_fail(options->arguments[0]);
    int code = EXIT_DONE;
    if (!path) code = list(refit);
    if (path && options->from) code = set_from_model(runtime, refit, options, &from_model);
    if (path && code == EXIT_DONE) code = set_from_files(refit, options, &from_files);
    if (path && code == EXIT_DONE && tn_refit_save(refit, path) != TN_OK) code = cli_fail(path);
    if (path && code == EXIT_DONE) {
        printf("%s:", path);
        if (options->from)
            printf(" %u of %u constants are new in %s%s", from_model, tn_refit_count(refit),
                   options->from, from_files ? "," : "");
        if (from_files)
            printf(" %zu constant%s from files", from_files, from_files == 1 ? "" : "s");
        printf("\n");
    }
    tn_refit_destroy(refit);
    return code;
}

/* Of --weights the importer gets what is a FILE alone; NAME=FILE is data for the plan. */
static const char *split_weights(cli_options *options) {
    const char *found = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < options->import_names.count; i++) {
        const char *name = options->import_names.items[i], *value = options->import_values.items[i];
        if (strcmp(name, "weights") == 0) {
            if (strchr(value, '=')) continue;
            found = value;
        }
        options->import_names.items[kept] = name;
        options->import_values.items[kept++] = value;
    }
    options->import_names.count = options->import_values.count = kept;
    return found;
}

static int check(cli_options *options, const char *path) {
    const tn_importer *importer = options->from ? importers_of_file(options->from) : NULL;
    const bool has_weights = importer && importers_field(importer, "weights");
    const char *weights = split_weights(options);
    if (options->argument_count != 1) return cli_usage("refit takes one plan (tenon refit -h)");
    if (file_kind_is_model(file_kind_of(options->arguments[0])))
        return cli_usage("refit takes a plan: %s is %s; --from %s takes weights of it",
                         options->arguments[0],
                         file_kind_name(file_kind_of(options->arguments[0]), options->arguments[0]),
                         options->arguments[0]);
    if (path && tensor_file_is_stream(path))
        return cli_usage("-o -: a plan is a file, which is mapped: name one");
    if (weights && !has_weights)
        return cli_usage("option --weights: '%s' is not NAME=FILE, and there is no .prototxt "
                         "(--from) whose weights it could have",
                         weights);
    if (options->from && !model_is_named(options->from))
        return file_kind_check(options->from, true);
    if (!path && (options->from || options->weight_files.count > 0))
        return cli_usage("refit needs -o PLAN: where the new plan goes");
    if (path && !options->from && options->weight_files.count == 0)
        return cli_usage("refit needs new data: --from MODEL or --weights NAME=FILE");
    return option_use_check(options);
}

int command_refit(int argc, char **argv) {
    cli_options options;
    int code = cli_options_read(argc, argv, "pPwoVIJv", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
    } else if (code == EXIT_DONE) {
        const char *path =
            options.outputs.count > 0 ? options.outputs.items[options.outputs.count - 1] : NULL;
        options.outputs.count = 0; /* of the model all is read */
        code = check(&options, path);
        tn_runtime *runtime = code == EXIT_DONE ? cli_runtime(&options, &code) : NULL;
        if (runtime) code = refit_plan(runtime, &options, path);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
