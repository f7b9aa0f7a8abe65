/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon plugin new: writes a small complete project for a layer, from templates/. The folder is
 * made beside its target and renamed when all of it is there.
 */
#include "new_layer.h"
#include "new_ports.h"
#include "new_template.h"
#include "plugin/plugin_command.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tenon plugin new NAME [options]     writes the project of a layer into the folder "
    "NAME\n"
    "      --like KIND        elementwise (default), reduction, pooling, resize, two-outputs, "
    "sized-by-run\n"
    "      --expression TEXT  the layer is this expression of its inputs and fields, with no code "
    "(docs/expressions.md)\n"
    "      --fields LIST      NAME:TYPE[=DEFAULT], ...: bool i32 i64 f32 f64 string type "
    "enum(a|b) i64s[N] f32s strings tensor\n"
    "      --inputs LIST      NAME or NAME:TYPE, ...; of elementwise any number; TYPE: f32 f64 i64 "
    "i32 "
    "i16 i8 u8 bool\n"
    "      --outputs LIST     the same, or NAME:like(INPUT): of that input's type\n"
    "      --devices LIST     cpu (default), or cpu,cuda\n"
    "      --domain NAME      of the operator (default Custom)\n"
    "      --kit              links the kernel kit: headers tenon/kit/ (docs/kernel-kit.md)\n"
    "example: tenon plugin new soft_clip --fields 'low:f32=0, high:f32=6' --inputs x --outputs "
    "'y:like(x)'\n"
    "         tenon plugin new soft_clip --expression 'low + (high - low) * sigmoid(x)' --fields "
    "'low:f32=0, high:f32=6'\n"
    "         tenon plugin new matcher --inputs boxes:f32,scores:f32,labels:i64 --outputs "
    "best:f32,found:bool\n";

static const char *template_text(const char *name) {
    for (const new_template *at = new_templates; at->name; at++)
        if (strcmp(at->name, name) == 0) return at->text;
    return NULL;
}

/* Fills a template: @placeholder@ becomes its text. */
static bool fill(const new_layer *layer, const char *text, FILE *file) {
    char placeholder[64];
    for (const char *at = text; *at;) {
        const char *begin = strchr(at, '@');
        if (!begin) return fputs(at, file) >= 0;
        const char *end = strchr(begin + 1, '@');
        const size_t length = end ? (size_t)(end - begin - 1) : 0;
        if (!end || length >= sizeof(placeholder)) return false;
        fwrite(at, 1, (size_t)(begin - at), file);
        memcpy(placeholder, begin + 1, length);
        placeholder[length] = 0;
        if (!new_source_write(layer, placeholder, file)) return false;
        at = end + 1;
    }
    return true;
}

static int write_file(const new_layer *layer, const char *folder, const char *name,
                      const char *template_name) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    bool is_written = file && fill(layer, template_text(template_name), file);
    if (file) is_written = fclose(file) == 0 && is_written;
    return is_written ? EXIT_DONE : cli_fault("cannot write '%s': %s", path, strerror(errno));
}

static int write_files(const new_layer *layer, const char *folder) {
    char source[NEW_NAME_LIMIT + 8], cuda[NEW_NAME_LIMIT + 8], model[4096];
    snprintf(source, sizeof(source), "%s.c", layer->name);
    snprintf(cuda, sizeof(cuda), "%s.cu", layer->name);
    snprintf(model, sizeof(model), "%s/%s.onnx", folder, layer->name);
    int code = write_file(layer, folder, source,
                          layer->expression              ? "expression.c.in"
                          : new_ports_are_general(layer) ? "ports.c.in"
                                                         : layer->kind->template_name);
    if (code == EXIT_DONE && layer->has_cuda)
        code = write_file(layer, folder, cuda, "elementwise.cu.in");
    if (code == EXIT_DONE) code = write_file(layer, folder, "CMakeLists.txt", "CMakeLists.txt.in");
    if (code == EXIT_DONE)
        code = write_file(layer, folder, "README.md",
                          layer->expression ? "expression.README.md.in" : "README.md.in");
    if (code == EXIT_DONE && !new_model_write(layer, model))
        code = cli_fault("cannot write '%s': %s", model, strerror(errno));
    return code;
}

static void remove_files(const new_layer *layer, const char *folder) {
    static const char *const endings[] = {".c", ".cu", ".onnx"};
    char path[4096];
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s%s", folder, layer->name, endings[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/CMakeLists.txt", folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/README.md", folder);
    unlink(path);
    rmdir(folder);
}

static int write_project(const new_layer *layer) {
    char folder[NEW_NAME_LIMIT + 16];
    struct stat there;
    if (stat(layer->name, &there) == 0)
        return cli_fault("'%s' is there already: choose another name, or remove it", layer->name);
    snprintf(folder, sizeof(folder), ".%s.XXXXXX", layer->name);
    if (!mkdtemp(folder)) return cli_fault("cannot make a folder here: %s", strerror(errno));
    int code = chmod(folder, 0755) == 0 ? write_files(layer, folder)
                                        : cli_fault("cannot make a folder: %s", strerror(errno));
    if (code == EXIT_DONE && rename(folder, layer->name) != 0)
        code = cli_fault("cannot make the folder '%s': %s", layer->name, strerror(errno));
    if (code != EXIT_DONE) {
        remove_files(layer, folder);
        return code;
    }
    printf("%s/%s.c        the layer: %s\n%s/%s.onnx     a network that uses "
           "it\n\nnext: cd %s && tenon plugin build . && tenon plugin check build/lib%s.so\n",
           layer->name, layer->name,
           layer->expression ? "all of it is its expression" : "edit what is marked EDIT",
           layer->name, layer->name, layer->name, layer->name);
    return EXIT_DONE;
}

/* What an expression has no use for. */
static int check_beside_expression(const new_layer *layer, const char *devices) {
    if (!layer->kind->is_variable)
        return cli_usage("option --like: '%s' beside --expression, which is of elementwise layers",
                         layer->kind->name);
    if (layer->has_kit)
        return cli_usage(
            "option --kit beside --expression: such a layer has no code that could use "
            "it; leave the option out");
    if (devices)
        return cli_usage("option --devices: '%s' beside --expression: such a layer runs on every "
                         "device as it is; leave the option out",
                         devices);
    return EXIT_DONE;
}

typedef struct new_request {
    const char *fields, *inputs, *outputs, *devices, *like, *expression;
} new_request;

/* Below 0: help was asked for. */
static int read_new_options(int argc, char **argv, new_layer *layer, new_request *request) {
    static const struct option longs[] = {{"fields", 1, NULL, 'f'},     {"inputs", 1, NULL, 'i'},
                                          {"outputs", 1, NULL, 'o'},    {"devices", 1, NULL, 'd'},
                                          {"like", 1, NULL, 'l'},       {"domain", 1, NULL, 'D'},
                                          {"expression", 1, NULL, 'e'}, {"kit", 0, NULL, 'k'},
                                          {"help", 0, NULL, 'h'},       {NULL, 0, NULL, 0}};
    optind = 1;
    for (int letter; (letter = getopt_long(argc, argv, ":h", longs, NULL)) != -1;)
        switch (letter) {
        case 'f':
            request->fields = optarg;
            break;
        case 'i':
            request->inputs = optarg;
            break;
        case 'o':
            request->outputs = optarg;
            break;
        case 'd':
            request->devices = optarg;
            break;
        case 'l':
            request->like = optarg;
            break;
        case 'e':
            request->expression = optarg;
            break;
        case 'D':
            layer->domain = optarg;
            break;
        case 'k':
            layer->has_kit = true;
            break;
        case 'h':
            fputs(help, stdout);
            return -1;
        default:
            return cli_usage(letter == ':'
                                 ? "plugin new: option '%s' needs a value"
                                 : "plugin new: unknown option '%s' (tenon plugin new -h)",
                             argv[optind - 1]);
        }
    if (optind + 1 != argc) return cli_usage("plugin new takes one name (tenon plugin new -h)");
    if (!layer->domain[0] || strpbrk(layer->domain, "\"\\ @:"))
        return cli_usage("option --domain: '%s' is not a domain like Custom or ai.mine",
                         layer->domain);
    return EXIT_DONE;
}

static int make_new_layer(new_layer *layer, const char *name, const new_request *request) {
    int code = new_layer_set_name(layer, name);
    if (code == EXIT_DONE)
        code = new_layer_set_kind(layer, request->like ? request->like : "elementwise");
    if (code == EXIT_DONE && request->expression)
        code = check_beside_expression(layer, request->devices);
    if (code == EXIT_DONE)
        code = new_layer_set_devices(layer, request->devices ? request->devices : "cpu");
    if (code == EXIT_DONE && layer->has_cuda && !layer->kind->is_variable)
        code = cli_unsupported("--devices cuda with --like %s: there is a template for elementwise "
                               "alone",
                               request->like);
    if (code == EXIT_DONE) code = new_layer_add_fields(layer, layer->kind->fields);
    if (code == EXIT_DONE) code = new_layer_add_fields(layer, request->fields);
    if (code == EXIT_DONE)
        code = request->expression ? new_expression_set(layer, request->expression, request->inputs,
                                                        request->outputs)
                                   : new_ports_set(layer, request->inputs, request->outputs);
    if (code == EXIT_DONE && layer->has_cuda && new_ports_are_general(layer))
        code = cli_unsupported("--devices cuda with several outputs or types: there is a template "
                               "for one output, all ports of one type, alone");
    return code == EXIT_DONE ? write_project(layer) : code;
}

int plugin_new(int argc, char **argv) {
    new_request request = {.fields = ""};
    new_layer *layer = calloc(1, sizeof(*layer));
    if (!layer) return cli_fault("no memory");
    layer->domain = "Custom";
    int code = read_new_options(argc, argv, layer, &request);
    if (code == EXIT_DONE) code = make_new_layer(layer, argv[optind], &request);
    free(layer);
    return code < 0 ? EXIT_DONE : code;
}
