/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images as tensors, read and written by stb: value = (x - mean) * scale with x in 0..255 (or 0..1
 * when neither scale nor mean is given), in the layout and channel order of the options.
 */
#include "tensor_file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

/* Where element (c, y, x) lies. */
static size_t offset_of(const cli_options *options, int channels, int height, int width, int c,
                        int y, int x) {
    if (strcmp(options->channels, "bgr") == 0 && channels == 3) c = 2 - c;
    if (strcmp(options->layout, "nhwc") == 0)
        return ((size_t)y * (size_t)width + (size_t)x) * (size_t)channels + (size_t)c;
    return ((size_t)c * (size_t)height + (size_t)y) * (size_t)width + (size_t)x;
}

static double effective_scale(const cli_options *options) {
    return !options->has_scale && !options->has_mean ? 1.0 / 255.0 : options->scale;
}

bool image_is_in(const unsigned char *data, size_t bytes) {
    static const struct {
        const char *magic;
        size_t bytes;
    } kinds[] = {{"\x89PNG", 4}, {"\xff\xd8\xff", 3}, {"P5", 2}, {"P6", 2}, {"BM", 2}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (bytes > kinds[i].bytes && memcmp(data, kinds[i].magic, kinds[i].bytes) == 0)
            return true;
    return false;
}

bool image_read(const char *path, const unsigned char *data, size_t bytes,
                const cli_options *options, file_tensor *out_tensor) {
    int width, height, channels;
    const int length = bytes > INT_MAX ? 0 : (int)bytes;
    if (!stbi_info_from_memory(data, length, &width, &height, &channels))
        return cli_fault("cannot read '%s': %s", path, stbi_failure_reason()), false;
    channels = channels < 3 ? 1 : 3;
    unsigned char *pixels =
        stbi_load_from_memory(data, length, &width, &height, &(int){0}, channels);
    if (!pixels) return cli_fault("cannot read '%s': %s", path, stbi_failure_reason()), false;
    const bool is_last = strcmp(options->layout, "nhwc") == 0;
    const int64_t shape[4] = {1, is_last ? height : channels, is_last ? width : height,
                              is_last ? channels : width};
    if (!file_tensor_allocate(out_tensor, TN_F32, 4, shape, path)) {
        stbi_image_free(pixels);
        return false;
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            for (int c = 0; c < channels; c++)
                ((float *)out_tensor->data)[offset_of(options, channels, height, width, c, y, x)] =
                    (float)((pixels[((size_t)y * (size_t)width + (size_t)x) * (size_t)channels +
                                    (size_t)c] -
                             options->mean[c]) *
                            effective_scale(options));
        }
    }
    stbi_image_free(pixels);
    return true;
}

typedef struct byte_sink {
    unsigned char *data;
    size_t bytes, capacity;
    bool is_failed;
} byte_sink;

static void sink_write(void *user, void *data, int bytes) {
    byte_sink *sink = user;
    if (sink->bytes + (size_t)bytes > sink->capacity) {
        const size_t capacity = (sink->bytes + (size_t)bytes) * 2;
        unsigned char *larger = realloc(sink->data, capacity);
        if (!larger) {
            sink->is_failed = true;
            return;
        }
        sink->data = larger;
        sink->capacity = capacity;
    }
    memcpy(sink->data + sink->bytes, data, (size_t)bytes);
    sink->bytes += (size_t)bytes;
}

static bool encode(const char *path, const unsigned char *pixels, int width, int height,
                   int channels) {
    byte_sink sink = {0};
    const char *ending = strrchr(path, '.');
    int ok = 0;
    if (ending && (strcmp(ending, ".jpg") == 0 || strcmp(ending, ".jpeg") == 0)) {
        ok = stbi_write_jpg_to_func(sink_write, &sink, width, height, channels, pixels, 95);
    } else if (ending && (strcmp(ending, ".pgm") == 0 || strcmp(ending, ".ppm") == 0)) {
        char head[64];
        const int length =
            snprintf(head, sizeof(head), "P%d\n%d %d\n255\n", channels == 3 ? 6 : 5, width, height);
        return whole_file_write(path, head, (size_t)length, pixels,
                                (size_t)width * (size_t)height * (size_t)channels);
    } else {
        ok = stbi_write_png_to_func(sink_write, &sink, width, height, channels, pixels,
                                    width * channels);
    }
    const bool is_written = ok && !sink.is_failed
                                ? whole_file_write(path, NULL, 0, sink.data, sink.bytes)
                                : (cli_fault("cannot encode '%s'", path), false);
    free(sink.data);
    return is_written;
}

bool image_write(const char *path, const cli_options *options, const tn_tensor *tensor) {
    const bool is_last = strcmp(options->layout, "nhwc") == 0;
    const int64_t *shape = tensor->shape + (tensor->rank == 4);
    if (tensor->type != TN_F32 || (tensor->rank != 3 && tensor->rank != 4) ||
        (tensor->rank == 4 && tensor->shape[0] != 1))
        return cli_fault("%s: an image is one f32 tensor of rank 3, or 4 with a batch of 1", path),
               false;
    const int channels = (int)shape[is_last ? 2 : 0], height = (int)shape[is_last ? 0 : 1],
              width = (int)shape[is_last ? 1 : 2];
    if ((channels != 1 && channels != 3) || height < 1 || width < 1)
        return cli_fault("%s: an image has 1 or 3 channels, this tensor has %d", path, channels),
               false;
    unsigned char *pixels = malloc((size_t)channels * (size_t)height * (size_t)width);
    if (!pixels) return cli_fault("%s: no memory", path), false;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            for (int c = 0; c < channels; c++) {
                const double value =
                    (double)((const float *)tensor
                                 ->data)[offset_of(options, channels, height, width, c, y, x)] /
                        effective_scale(options) +
                    options->mean[c];
                pixels[((size_t)y * (size_t)width + (size_t)x) * (size_t)channels + (size_t)c] =
                    (unsigned char)(!(value > 0)  ? 0
                                    : value > 255 ? 255
                                                  : value + 0.5);
            }
        }
    }
    const bool is_written = encode(path, pixels, width, height, channels);
    free(pixels);
    return is_written;
}
