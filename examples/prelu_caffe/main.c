/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises handwritten digits with a Caffe network whose layers of type PReLU come from a plugin
 * library (prelu_plugin.c): reads description and weights, builds a plan, saves it, loads it again
 * and runs it on ten pictures.
 *
 *     prelu_caffe [FOLDER]
 *
 * FOLDER holds digits_prelu.prototxt, digits_prelu.caffemodel and digits/0.pgm to 9.pgm. The last
 * line is "&&&& PASSED" when all digits were recognised and the plugin's kernel has run, and else
 * "&&&& FAILED"; the exit status is 0 or 1.
 */
#define _GNU_SOURCE /* mkstemps */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <unistd.h>

#define SIDE   28
#define PIXELS (SIDE * SIDE)
#define DIGITS 10
#define PATH   4096

static bool fail(const char *what) {
    const tn_error *error = tn_last_error();
    fprintf(stderr, "%s: %s%s%s\n", what, error->where, error->where[0] ? ": " : "",
            error->message);
    return false;
}

/* Reads a binary PGM of 28 x 28 bytes, dark ink on light paper, as 0 (paper) to 1 (ink). */
static bool picture_read(const char *folder, int digit, float *out_values) {
    char path[PATH];
    unsigned char bytes[PIXELS];
    int width = 0, height = 0, white = 0;
    const int length = snprintf(path, sizeof(path), "%s/digits/%d.pgm", folder, digit);
    FILE *file = length < PATH ? fopen(path, "rb") : NULL;
    bool is_read = file && fscanf(file, "P5 %d %d %d", &width, &height, &white) == 3;
    is_read = is_read && width == SIDE && height == SIDE && white == 255 && fgetc(file) != EOF &&
              fread(bytes, 1, PIXELS, file) == PIXELS;
    if (file) fclose(file);
    if (!is_read) fprintf(stderr, "%s: cannot be read as a PGM (P5) of 28 x 28 bytes\n", path);
    for (int i = 0; is_read && i < PIXELS; i++)
        out_values[i] = 1.0f - (float)bytes[i] / 255.0f;
    return is_read;
}

static tn_status build(tn_runtime *runtime, const char *folder, const char *plan_path) {
    char network[PATH], weights[PATH];
    const tn_builder_options how = {.size = sizeof(how), .threads = 1};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    snprintf(network, sizeof(network), "%.4000s/digits_prelu.prototxt", folder);
    snprintf(weights, sizeof(weights), "%.4000s/digits_prelu.caffemodel", folder);
    const tn_attribute option = {
        .size = sizeof(option), .type = TN_FIELD_STRING, .name = "weights", .s = weights};
    const tn_attribute *const options[] = {&option};
    const tn_import_options import = {
        .size = sizeof(import), .option_count = 1, .options = options};
    tn_status status = tn_graph_load(runtime, network, &import, &graph);
    if (status == TN_OK) status = tn_build(graph, &how, &plan);
    if (status == TN_OK) status = tn_plan_save(plan, plan_path);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return status;
}

/* The number of digits that were recognised; negative on failure. */
static int recognise(tn_context *context, const char *folder) {
    static _Alignas(64) float pixels[PIXELS];
    const int64_t shape[4] = {1, 1, SIDE, SIDE}; /* a Caffe network takes any batch */
    int right = 0;
    if (tn_context_set_shape(context, 0, 4, shape) != TN_OK ||
        tn_context_bind_input(context, 0, pixels, sizeof(pixels)) != TN_OK) {
        fail("the input");
        return -1;
    }
    for (int digit = 0; digit < DIGITS; digit++) {
        const tn_tensor *output;
        int best = 0;
        if (!picture_read(folder, digit, pixels)) return -1;
        if (tn_context_run(context) != TN_OK || tn_context_output(context, 0, &output) != TN_OK) {
            fail("running");
            return -1;
        }
        const float *probabilities = output->data;
        for (int i = 1; i < DIGITS; i++)
            if (probabilities[i] > probabilities[best]) best = i;
        printf("%d.pgm: %d, probability %.4f\n", digit, best, (double)probabilities[best]);
        right += best == digit;
    }
    return right;
}

/* Whether the plugin's kernel was among those that ran; prints them all. */
static bool has_run(const tn_context *context, const char *kernel) {
    bool is_there = false;
    for (uint32_t i = 0; i < tn_context_profile_count(context); i++) {
        const tn_profile_entry *entry = tn_context_profile(context, i);
        printf("  %-12s %-12s %s\n", entry->node, entry->op, entry->kernel);
        is_there = is_there || (entry->runs > 0 && strcmp(entry->kernel, kernel) == 0);
    }
    if (!is_there) fprintf(stderr, "the plugin's kernel '%s' has not run\n", kernel);
    return is_there;
}

static bool run(tn_runtime *runtime, const char *folder, const char *plan_path) {
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    int right = -1;
    tn_status status = tn_engine_load(runtime, plan_path, NULL, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = tn_context_set_profiling(context, true);
    if (status == TN_OK)
        right = recognise(context, folder);
    else
        fail("loading the plan");
    const bool is_good = right == DIGITS && has_run(context, "planes");
    tn_context_destroy(context);
    tn_engine_release(engine);
    if (right >= 0) printf("%d of %d recognised\n", right, DIGITS);
    return is_good;
}

static bool build_and_run(tn_runtime *runtime, const char *folder) {
    const char *temporary = getenv("TMPDIR");
    char path[PATH];
    const int length = snprintf(path, PATH, "%s/prelu_caffe.XXXXXX.plan",
                                temporary && temporary[0] ? temporary : "/tmp");
    const int file = length < PATH ? mkstemps(path, 5) : -1;
    if (file < 0) {
        perror("a file for the plan");
        return false;
    }
    close(file);
    const bool is_good =
        build(runtime, folder, path) == TN_OK ? run(runtime, folder, path) : fail("building");
    unlink(path);
    return is_good;
}

int main(int argc, char **argv) {
    tn_runtime *runtime = NULL;
    bool is_good = false;
    if (argc > 2)
        fputs("usage: prelu_caffe [FOLDER]\n", stderr);
    else if (tn_runtime_create(NULL, &runtime) != TN_OK ||
             tn_runtime_load_library(runtime, PLUGIN) != TN_OK)
        fail("the plugin");
    else
        is_good = build_and_run(runtime, argc == 2 ? argv[1] : MODELS);
    tn_runtime_release(runtime);
    puts(is_good ? "&&&& PASSED prelu_caffe" : "&&&& FAILED prelu_caffe");
    return is_good ? 0 : 1;
}
