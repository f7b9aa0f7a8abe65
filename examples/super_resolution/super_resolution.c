/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a super-resolution plan (inputs "image" and "size", output "output") on a photograph at
 * several sizes, beside plain bicubic, which is a graph of one node built by hand here:
 *
 *     super_resolution PLAN PLUGIN.so PHOTO.png OUT_DIR HEIGHTxWIDTH... [--truth TRUTH.png]
 *
 * Writes OUT_DIR/sr_HxW.png and OUT_DIR/bicubic_HxW.png; prints shapes, milliseconds and, where the
 * truth has that size, the PSNR of both (RGB, 6 border pixels cut).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <time.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

typedef struct image {
    int height, width;
    float *planes; /* 3 x height x width, in 0..1 */
} image;

static int fail(const char *what) {
    const tn_error *error = tn_last_error();
    fprintf(stderr, "super_resolution: %s: %s%s%s\n", what, error->where,
            error->where[0] ? ": " : "", error->message);
    return 1;
}

static bool image_load(const char *path, image *out_image) {
    int channels;
    unsigned char *bytes = stbi_load(path, &out_image->width, &out_image->height, &channels, 3);
    if (!bytes) return false;
    const size_t count = (size_t)out_image->width * (size_t)out_image->height;
    out_image->planes = malloc(3 * count * sizeof(float));
    for (size_t i = 0; out_image->planes && i < 3 * count; i++)
        out_image->planes[i % 3 * count + i / 3] = (float)bytes[i] / 255.0f;
    stbi_image_free(bytes);
    return out_image->planes != NULL;
}

static bool image_save(const char *path, const float *planes, int height, int width) {
    const size_t count = (size_t)width * (size_t)height;
    unsigned char *bytes = malloc(3 * count);
    if (!bytes) return false;
    for (size_t i = 0; i < 3 * count; i++) {
        const float value = planes[i % 3 * count + i / 3] * 255.0f;
        bytes[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5f);
    }
    const bool is_written = stbi_write_png(path, width, height, 3, bytes, 3 * width) != 0;
    free(bytes);
    return is_written;
}

/* Peak signal-to-noise ratio in dB of values clamped to 0..1. */
static double psnr(const image *truth, const float *planes) {
    double sum = 0;
    size_t count = 0;
    for (int c = 0; c < 3; c++) {
        for (int y = 6; y < truth->height - 6; y++) {
            for (int x = 6; x < truth->width - 6; x++, count++) {
                const size_t i =
                    ((size_t)c * (size_t)truth->height + (size_t)y) * (size_t)truth->width +
                    (size_t)x;
                const double value = planes[i] < 0 ? 0 : planes[i] > 1 ? 1 : planes[i];
                sum += (value - truth->planes[i]) * (value - truth->planes[i]);
            }
        }
    }
    return -10.0 * log10(sum / (double)count);
}

/* Runs at one size; *out_planes is the context's. Answers the best time of three runs in
 * milliseconds, negative on failure. */
static double upscale(tn_context *context, const image *photo, int height, int width,
                      const float **out_planes) {
    const int64_t image_shape[4] = {1, 3, photo->height, photo->width},
                  size_shape[4] = {1, 1, height, width};
    const tn_tensor *output;
    double best = -1;
    if (tn_context_set_shape(context, 0, 4, image_shape) != TN_OK ||
        tn_context_set_shape(context, 1, 4, size_shape) != TN_OK ||
        tn_context_bind_input(context, 0, photo->planes,
                              (uint64_t)(3 * photo->height * photo->width) * sizeof(float)) !=
            TN_OK)
        return -1;
    for (int i = 0; i < 4; i++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        if (tn_context_run(context) != TN_OK) return -1;
        clock_gettime(CLOCK_MONOTONIC, &to);
        const double ms =
            (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
        if (i > 0 && (best < 0 || ms < best)) best = ms; /* the first run takes memory */
    }
    if (tn_context_output(context, 0, &output) != TN_OK) return -1;
    *out_planes = output->data;
    return best;
}

/* Plain bicubic: a graph of the plugin's node alone. */
static tn_status bicubic_context(tn_runtime *runtime, tn_context **out_context) {
    const int64_t unknown[4] = {1, 3, -1, -1};
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_tensor_id inputs[2], output;
    uint64_t bytes = 0;
    tn_node_description node = {.size = sizeof(node),
                                .domain = "Test",
                                .op = "DynamicTRTResize",
                                .name = "bicubic",
                                .input_count = 2,
                                .output_count = 1,
                                .inputs = inputs};
    tn_status status = tn_graph_create(runtime, "bicubic", &graph);
    if (status == TN_OK)
        status = tn_graph_add_input(graph, "image", TN_F32, 4, unknown, NULL, &inputs[0]);
    const int64_t size_extents[4] = {1, 1, -1, -1};
    if (status == TN_OK)
        status = tn_graph_add_input(graph, "size", TN_F32, 4, size_extents, NULL, &inputs[1]);
    if (status == TN_OK) status = tn_graph_add_node(graph, &node, &output);
    if (status == TN_OK) status = tn_graph_add_output(graph, output, "output");
    if (status == TN_OK) status = tn_build(graph, NULL, &plan);
    const void *data = status == TN_OK ? tn_plan_bytes(plan, &bytes) : NULL;
    if (status == TN_OK) status = tn_engine_load_bytes(runtime, data, bytes, NULL, &engine);
    if (status == TN_OK) status = tn_context_create(engine, out_context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return status;
}

static int run_size(tn_context *network, tn_context *bicubic, const image *photo,
                    const image *truth, const char *folder, int height, int width) {
    const float *planes, *plain;
    char path[2][4096];
    const double ms = upscale(network, photo, height, width, &planes);
    if (ms < 0) return fail("the network");
    const double plain_ms = upscale(bicubic, photo, height, width, &plain);
    if (plain_ms < 0) return fail("bicubic");
    snprintf(path[0], sizeof(path[0]), "%s/sr_%dx%d.png", folder, height, width);
    snprintf(path[1], sizeof(path[1]), "%s/bicubic_%dx%d.png", folder, height, width);
    if (!image_save(path[0], planes, height, width) || !image_save(path[1], plain, height, width)) {
        fprintf(stderr, "super_resolution: cannot write %s or %s\n", path[0], path[1]);
        return 1;
    }
    printf("  %dx%d -> %dx%d: network %.2f ms, bicubic alone %.2f ms", photo->height, photo->width,
           height, width, ms, plain_ms);
    if (truth->planes && truth->height == height && truth->width == width)
        printf("; PSNR %.2f dB, bicubic %.2f dB", psnr(truth, planes), psnr(truth, plain));
    printf("\n    wrote %s\n", path[0]);
    return 0;
}

int main(int argc, char **argv) {
    tn_runtime *runtime = NULL;
    tn_engine *engine = NULL;
    tn_context *network = NULL, *bicubic = NULL;
    image photo = {0}, truth = {0};
    int exit_code = 1, sizes = argc;
    if (argc < 6) {
        fprintf(stderr, "usage: super_resolution PLAN PLUGIN.so PHOTO.png OUT_DIR HEIGHTxWIDTH... "
                        "[--truth TRUTH.png]\n");
        return 2;
    }
    if (strcmp(argv[argc - 2], "--truth") == 0) {
        sizes -= 2;
        if (!image_load(argv[argc - 1], &truth))
            fprintf(stderr, "super_resolution: cannot read %s\n", argv[argc - 1]);
    }
    if (!image_load(argv[3], &photo))
        fprintf(stderr, "super_resolution: cannot read %s\n", argv[3]);
    else if (tn_runtime_create(NULL, &runtime) != TN_OK ||
             tn_runtime_load_library(runtime, argv[2]) != TN_OK ||
             tn_engine_load(runtime, argv[1], NULL, &engine) != TN_OK ||
             tn_context_create(engine, &network) != TN_OK ||
             bicubic_context(runtime, &bicubic) != TN_OK)
        exit_code = fail(argv[1]);
    else
        exit_code = 0;
    for (int i = 5; exit_code == 0 && i < sizes; i++) {
        int height, width;
        if (sscanf(argv[i], "%dx%d", &height, &width) != 2 || height < 1 || width < 1) {
            fprintf(stderr, "super_resolution: '%s' is not HEIGHTxWIDTH\n", argv[i]);
            exit_code = 2;
        } else {
            exit_code = run_size(network, bicubic, &photo, &truth, argv[4], height, width);
        }
    }
    tn_context_destroy(bicubic);
    tn_context_destroy(network);
    tn_engine_release(engine);
    tn_runtime_release(runtime);
    free(photo.planes);
    free(truth.planes);
    return exit_code;
}
