/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises handwritten digits with a network whose second pooling comes from a plugin library
 * (pool_plugin.c), in fp32, fp16 or INT8: reads the UFF file, calibrates where INT8 is wanted,
 * builds a plan, saves it, loads it again, and runs it on ten pictures, which it draws as text.
 *
 *     uff_plugin_int8 [--datadir DIR] [--fp16 | --int8] [--device NAME] [-h]
 *
 * The last line is "&&&& PASSED" when all digits were recognised and the plugin's kernel of the
 * precision that was asked for has run, and else "&&&& FAILED"; the exit status is 0 or 1.
 */
#define _GNU_SOURCE /* mkstemps */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <time.h>
#include <unistd.h>

#define SIDE   28
#define PIXELS (SIDE * SIDE)
#define DIGITS 10
#define PATH   4096

/* A precision, and the plugin's kernel that is pinned for it. */
typedef struct mode {
    const char *name, *kernel, *force;
    uint32_t precision;
} mode;
static const mode modes[] = {
    {"fp32", "f32", "UFF::MaxPool=f32", TN_PRECISION_F32},
    {"fp16", "f16", "UFF::MaxPool=f16", TN_PRECISION_F16},
    {"int8", "i8", "UFF::MaxPool=i8", TN_PRECISION_I8},
};

typedef struct options {
    char model[PATH];
    const mode *mode;
    const char *device;
} options;

typedef struct digits {
    _Alignas(64) float values[DIGITS][PIXELS]; /* 0: paper, 1: ink */
} digits;

static bool fail(const char *what) {
    const tn_error *error = tn_last_error();
    fprintf(stderr, "%s: %s%s%s\n", what, error->where, error->where[0] ? ": " : "",
            error->message);
    return false;
}

/* ----------------------------------------------------------------------------------------------
 * pictures */

/* Reads a binary PGM of 28 x 28 bytes, dark ink on light paper. */
static bool picture_read(const char *path, float *out_values) {
    unsigned char bytes[PIXELS];
    int width = 0, height = 0, white = 0;
    FILE *file = fopen(path, "rb");
    bool is_read = file && fscanf(file, "P5 %d %d %d", &width, &height, &white) == 3;
    is_read = is_read && width == SIDE && height == SIDE && white == 255 && fgetc(file) != EOF &&
              fread(bytes, 1, PIXELS, file) == PIXELS;
    if (file) fclose(file);
    if (!is_read) fprintf(stderr, "%s: cannot be read as a PGM (P5) of 28 x 28 bytes\n", path);
    for (int i = 0; is_read && i < PIXELS; i++)
        out_values[i] = 1.0f - (float)bytes[i] / 255.0f;
    return is_read;
}

static void picture_draw(const float *values) {
    static const char shades[] = " .:-=+*#%@";
    for (int i = 0; i < PIXELS; i++) {
        putchar(shades[(int)(values[i] * 9.0f + 0.5f)]);
        if (i % SIDE == SIDE - 1) putchar('\n');
    }
}

/* ----------------------------------------------------------------------------------------------
 * the plan */

static tn_status read_batch(void *user, uint64_t index, const tn_tensor **out_inputs) {
    static int64_t shape[4] = {1, 1, SIDE, SIDE}, strides[4] = {PIXELS, PIXELS, SIDE, 1};
    static tn_tensor tensor = {.size = sizeof(tn_tensor),
                               .type = TN_F32,
                               .rank = 4,
                               .bytes = PIXELS * sizeof(float),
                               .shape = shape,
                               .strides = strides};
    tensor.data = ((digits *)user)->values[index];
    out_inputs[0] = &tensor;
    return TN_OK;
}

/* The scales that INT8 needs, from the pictures themselves. */
static tn_status calibrate(tn_graph *graph, const digits *pictures, const tn_builder_options *build,
                           tn_calibration **out_calibration) {
    const tn_batches batches = {.size = sizeof(batches),
                                .count = DIGITS,
                                .read = read_batch,
                                .user = (void *)(uintptr_t)pictures};
    const tn_calibrate_options how = {.size = sizeof(how),
                                      .calibrator = TN_CALIBRATOR_MIN_MAX,
                                      .build = build,
                                      .batches = &batches};
    return tn_calibrate(graph, &how, out_calibration, NULL);
}

static tn_status build(tn_runtime *runtime, const options *options, const digits *pictures,
                       const char *plan_path) {
    const int64_t shape[4] = {1, 1, SIDE, SIDE};
    tn_profile_input input = {
        .size = sizeof(input), .rank = 4, .minimum = shape, .optimum = shape, .maximum = shape};
    const tn_profile_input *inputs[] = {&input};
    tn_builder_options how = {
        .size = sizeof(how), .threads = 1, .profile_input_count = 1, .profile_inputs = inputs};
    tn_graph *graph = NULL;
    tn_calibration *calibration = NULL;
    tn_plan *plan = NULL;
    tn_status status = tn_graph_load(runtime, options->model, NULL, &graph);
    if (status == TN_OK) input.name = tn_graph_input(graph, 0)->name;
    if (status == TN_OK && options->mode->precision == TN_PRECISION_I8)
        status = calibrate(graph, pictures, &how, &calibration);
    how.device = options->device; /* calibration runs on the processor */
    how.precision = options->mode->precision;
    how.calibration = calibration;
    how.force_kernel = options->mode->force;
    if (status == TN_OK) status = tn_build(graph, &how, &plan);
    if (status == TN_OK) status = tn_plan_save(plan, plan_path);
    tn_plan_destroy(plan);
    tn_calibration_destroy(calibration);
    tn_graph_destroy(graph);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * running */

/* Whether a run goes through the plugin's kernel of that name; prints all kernels. */
static bool uses_kernel(tn_context *context, const char *kernel) {
    bool is_used = false;
    if (tn_context_set_profiling(context, true) != TN_OK || tn_context_run(context) != TN_OK)
        return fail("profiling");
    for (uint32_t i = 0; i < tn_context_profile_count(context); i++) {
        const tn_profile_entry *entry = tn_context_profile(context, i);
        printf("  %-28s %s\n", entry->node, entry->kernel);
        is_used = is_used || strcmp(entry->kernel, kernel) == 0;
    }
    if (!is_used) fprintf(stderr, "the plugin's kernel '%s' does not run\n", kernel);
    return tn_context_set_profiling(context, false) == TN_OK && is_used;
}

static int best_class(const tn_tensor *output) {
    const float *scores = output->data;
    int best = 0;
    for (int i = 1; i < DIGITS; i++)
        if (scores[i] > scores[best]) best = i;
    return best;
}

/* Runs all pictures and answers how many were recognised; negative on failure. */
static int run_all(tn_context *context, const digits *pictures, bool is_shown, double *out_ms) {
    int right = 0;
    double seconds = 0;
    for (int digit = 0; digit < DIGITS; digit++) {
        struct timespec from, to;
        const tn_tensor *output;
        if (tn_context_bind_input(context, 0, pictures->values[digit], sizeof(float[PIXELS])) !=
            TN_OK)
            return -1;
        clock_gettime(CLOCK_MONOTONIC, &from);
        const tn_status status = tn_context_run(context);
        clock_gettime(CLOCK_MONOTONIC, &to);
        if (status != TN_OK || tn_context_output(context, 0, &output) != TN_OK) return -1;
        seconds += (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
        right += best_class(output) == digit;
        if (!is_shown) continue;
        picture_draw(pictures->values[digit]);
        printf("recognised as %d%s\n\n", best_class(output),
               best_class(output) == digit ? "" : ", which is wrong");
    }
    *out_ms = seconds * 1e3 / DIGITS;
    return right;
}

static bool run(tn_runtime *runtime, const options *options, const digits *pictures,
                const char *plan_path) {
    const tn_engine_options how = {.size = sizeof(how), .threads = 1};
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    double ms = 0;
    int right = -1;
    bool is_used = false;
    tn_status status = tn_engine_load(runtime, plan_path, &how, &engine);
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) right = run_all(context, pictures, true, &ms); /* the first takes memory */
    if (right >= 0) is_used = uses_kernel(context, options->mode->kernel);
    if (right >= 0) right = run_all(context, pictures, false, &ms);
    if (right < 0) fail("running");
    tn_context_destroy(context);
    tn_engine_release(engine);
    if (right >= 0)
        printf("%s: %d of %d recognised, average over 10 runs %.4f ms\n", options->mode->name,
               right, DIGITS, ms);
    return right == DIGITS && is_used;
}

/* ----------------------------------------------------------------------------------------------
 * the program */

static const char usage[] =
    "usage: uff_plugin_int8 [--datadir DIR] [--fp16 | --int8] [--device NAME] [-h]\n"
    "  --datadir DIR  where lenet5_custom_pool.uff or lenet_nhwc.uff lies, and 0.pgm to 9.pgm\n"
    "                 there or in DIR/digits (default: " MODELS ")\n"
    "  --fp16         the plugin's pooling in half precision, what else is faster so too\n"
    "  --int8         the same in 8-bit integers, calibrated with the ten pictures\n"
    "  --device NAME  where it runs: cpu (the default), cuda, cuda:1\n"
    "  -h, --help     this text\n";

/* Joins a folder and a file that is to be there; false: it is not. */
static bool find_file(const char *folder, const char *file, char *out_path) {
    return snprintf(out_path, PATH, "%s/%s", folder, file) < PATH && access(out_path, R_OK) == 0;
}

static bool find_data(const char *folder, options *options, digits *pictures) {
    static const char *const models[] = {"lenet5_custom_pool.uff", "lenet_nhwc.uff"};
    char path[PATH];
    if (!find_file(folder, models[0], options->model) &&
        !find_file(folder, models[1], options->model)) {
        fprintf(stderr, "%s: neither %s nor %s is there\n", folder, models[0], models[1]);
        return false;
    }
    const bool has_folder = !find_file(folder, "0.pgm", path);
    for (int digit = 0; digit < DIGITS; digit++) {
        const int length =
            snprintf(path, PATH, "%s/%s%d.pgm", folder, has_folder ? "digits/" : "", digit);
        if (length >= PATH || !picture_read(path, pictures->values[digit])) return false;
    }
    return true;
}

static bool build_and_run(tn_runtime *runtime, const options *options, const digits *pictures) {
    const char *folder = getenv("TMPDIR");
    char path[PATH];
    const int length = snprintf(path, PATH, "%s/uff_plugin_int8.XXXXXX.plan",
                                folder && folder[0] ? folder : "/tmp");
    const int file = length < PATH ? mkstemps(path, 5) : -1;
    if (file < 0) {
        perror("a file for the plan");
        return false;
    }
    close(file);
    const bool is_good = build(runtime, options, pictures, path) == TN_OK
                             ? run(runtime, options, pictures, path)
                             : fail("building");
    unlink(path);
    return is_good;
}

/* 0: go on; else the program's exit status + 1. */
static int read_options(int argc, char **argv, options *out_options, const char **out_folder) {
    out_options->mode = &modes[0];
    *out_folder = MODELS;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(argv[i], "--fp16") == 0)
            out_options->mode = &modes[1];
        else if (strcmp(argv[i], "--int8") == 0)
            out_options->mode = &modes[2];
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            out_options->device = argv[++i];
        else if (strcmp(argv[i], "--datadir") == 0 && i + 1 < argc)
            *out_folder = argv[++i];
        else {
            fprintf(stderr, "%s: not understood, or something is missing after it\n%s", argv[i],
                    usage);
            return 2;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    static digits pictures;
    static options options;
    const char *folder;
    tn_runtime *runtime = NULL;
    bool is_good = false;
    const int stop = read_options(argc, argv, &options, &folder);
    if (stop == 1) return 0;
    if (stop == 0 && find_data(folder, &options, &pictures)) {
        if (tn_runtime_create(NULL, &runtime) != TN_OK ||
            tn_runtime_load_library(runtime, PLUGIN) != TN_OK)
            fail("the plugin");
        else
            is_good = build_and_run(runtime, &options, &pictures);
    }
    tn_runtime_release(runtime);
    puts(is_good ? "&&&& PASSED uff_plugin_int8" : "&&&& FAILED uff_plugin_int8");
    return is_good ? 0 : 1;
}
