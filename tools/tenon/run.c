/* SPDX-License-Identifier: Apache-2.0 */
/* tenon run: a model or plan on files. */
#include "cli/importers.h"
#include "cli/help_text.h"
#include "files/show_tensor.h"
#include "session/option_use.h"
#include "session/session.h"
#include "text/json_print.h"
#include "values/value_file.h"

#include <stdlib.h>

static const char help[] =
    "usage: tenon run MODEL|PLAN --input NAME=FILE... [--output NAME=FILE | --output-dir DIR] "
    "[options]\n"
    "  -i, --input NAME=FILE     .npy, .pb (TensorProto), .png .jpg .pgm .ppm, or raw float32; "
    "FILE '-': stdin (.npy or image);\n"
    "                            sequences, optionals and maps: JSON, or .pb (SequenceProto, "
    "OptionalProto)\n"
    "  -o, --output NAME=FILE    .npy, an image, or raw; FILE '-': a .npy on stdout; sequences, "
    "optionals and maps: JSON\n"
    "  -O, --output-dir DIR      NAME.npy for every output, or NAME.json\n"
    "      --top N               the indices and values of the N largest elements of each row "
    "(with --json: too)\n"
    "      --print               the outputs' values; of large ones the first and last along each "
    "axis\n"
    "  -s, --shape NAME=1x3x8x8  the shape of an input: of a raw file, or where only the shape is "
    "read and there is\n"
    "                            no file (else it is the plan's optimum); of a model also "
    "NAME=MIN:OPT:MAX\n"
    "      --use-profile N       of a plan with several profiles: that one (default: the one that "
    "has the shapes, nearest to\n"
    "                            its optimum)\n" HELP_OF_IMAGES
    "  -p, --plugin LIB.so[@DOMAIN]  -P, --plugin-dir DIR   "
    "libraries of layers; of a model also those of "
    "TENON_PLUGIN_PATH\n"
    "  -t, --threads N  --device NAME\n"
    "      --exact               refuse a library with other content than the plan was built with, "
    "and a machine or\n"
    "                            number of threads that it has no kernels chosen for\n"
    "      --allow-plugin HASH|DIR   let only these libraries load for the plan\n"
    "      --trust-embedded SHA256|all   load this library, which the plan embeds (repeatable; "
    "tenon "
    "inspect shows them);\n"
    "                            all: every one, each of which is then code as trusted as this "
    "program\n"
    "      --isolate, --isolate-limit MS   a model is read, and plugins' kernels run, in a process "
    "of "
    "their own; the reading\n"
    "                            may take MS (default 60000), and each callback (default 10000)\n"
    "      --checked, --checked-dump DIR   guarded memory around each node; the first bad node's "
    "tensors go to DIR (default tenon-checked)\n"
    "      --json                the outputs' names, types and shapes as JSON   -v, --verbose   "
    "log "
    "all\n" HELP_OF_MODELS
    "      (--timing-cache: kernels are chosen by measured time, otherwise by rule)\n"
    "example: tenon run net.plan --input image=photo.png --output output=out.png\n"
    "         tenon run net.plan --input photo.png --top 5\n";
static void print_shape(const tn_tensor *tensor) {
    putchar('[');
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        printf(axis ? ", %lld" : "%lld", (long long)tensor->shape[axis]);
    putchar(']');
}

static bool print_text(const char *name, const tn_tensor *tensor, const cli_options *options) {
    printf("%s: %s", name, type_name(tensor->type));
    print_shape(tensor);
    putchar('\n');
    if (options->prints) show_tensor_values(tensor);
    return !options->top || show_tensor_top(tensor, options->top, false);
}

static bool print_json(const char *name, const tn_tensor *tensor, const cli_options *options) {
    printf("{\"name\": ");
    json_print_string(name);
    printf(", \"type\": \"%s\", \"shape\": ", type_name(tensor->type));
    print_shape(tensor);
    if (options->top) printf(", \"top\": ");
    const bool is_printed = !options->top || show_tensor_top(tensor, options->top, true);
    putchar('}');
    return is_printed;
}

/* What is no dense tensor, whole where values are asked for, and its length. */
static void print_value(tn_context *context, uint32_t index, const tn_port_info *port,
                        const cli_options *options) {
    char type[VALUE_TYPE_TEXT_BYTES];
    uint64_t items = 0;
    if (tn_context_output_length(context, index, &items) != TN_OK) return;
    if (port->kind == TN_KIND_MAP || port->kind == TN_KIND_MAPS) items /= 2; /* keys, values */
    value_type_print(port, type);
    if (options->json) {
        json_print_member("{", "name", port->name);
        printf(", \"type\": \"%s\", \"length\": %llu, \"value\": ", type,
               (unsigned long long)items);
        value_print(stdout, context, index, port);
        putchar('}');
        return;
    }
    printf("%s: %s, %llu %s\n", port->name, type, (unsigned long long)items,
           items == 1 ? "item" : "items");
    if (!options->prints) return;
    value_print(stdout, context, index, port);
    putchar('\n');
}

/* Type and shape of each output, and what --top and --print ask for; nothing where stdout has an
 * output itself. */
static int print_outputs(tn_engine *engine, tn_context *context, const cli_options *options) {
    bool is_printed = true;
    if (session_writes_stdout(options)) return EXIT_DONE;
    if (options->json) printf("{\"outputs\": [");
    for (uint32_t i = 0; i < tn_engine_output_count(engine); i++) {
        const tn_tensor *tensor;
        if (tn_engine_output(engine, i)->kind) {
            if (options->json && i) printf(", ");
            print_value(context, i, tn_engine_output(engine, i), options);
            continue;
        }
        if (tn_context_output(context, i, &tensor) != TN_OK) continue;
        if (options->json && i) printf(", ");
        is_printed = (options->json ? print_json : print_text)(tn_engine_output(engine, i)->name,
                                                               tensor, options) &&
                     is_printed;
    }
    if (options->json) printf("]}\n");
    return is_printed ? EXIT_DONE : cli_fault("no memory to print the outputs");
}

static int run_engine(tn_engine *engine, const cli_options *options) {
    tn_context *context = NULL;
    file_tensor *tensors = calloc(tn_engine_input_count(engine) + 1u, sizeof(*tensors));
    int code = tensors ? EXIT_DONE : cli_fault("no memory");
    if (code == EXIT_DONE && tn_context_create(engine, &context) != TN_OK) code = cli_fail("run");
    if (code == EXIT_DONE) code = session_bind_inputs(engine, context, options, false, tensors);
    if (code == EXIT_DONE && tn_context_run(context) != TN_OK) code = session_fail_run("run");
    if (code == EXIT_DONE) code = session_write_outputs(engine, context, options);
    if (code == EXIT_DONE) code = print_outputs(engine, context, options);
    tn_context_destroy(context);
    for (uint32_t i = 0; tensors && i < tn_engine_input_count(engine); i++)
        file_tensor_free(&tensors[i]);
    free(tensors);
    return code;
}

int command_run(int argc, char **argv) {
    cli_options options;
    int code = cli_options_read(argc, argv, "pPwsbiodtcTOxajLCmkNFEKMIJvBGQUXluqzZe068", &options);
    if (code == EXIT_DONE && options.help) {
        fputs(help, stdout);
        importers_print_options();
    } else if (code == EXIT_DONE && options.argument_count != 1) {
        code = cli_usage("run takes one model or plan (tenon run -h)");
    } else if (code == EXIT_DONE && (code = option_use_check(&options)) == EXIT_DONE) {
        tn_runtime *runtime = cli_runtime(&options, &code);
        tn_engine *engine = runtime ? session_engine(runtime, options.arguments[0], &options,
                                                     options.timing_cache, &code)
                                    : NULL;
        if (engine) code = run_engine(engine, &options);
        tn_engine_release(engine);
        tn_runtime_release(runtime);
    }
    cli_options_free(&options);
    return code;
}
