/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the seeds of the fuzz target for Caffe's weights into a folder: the weights of the tests'
 * network in both forms, blobs as other programs write them, and a mean image.
 *
 *     make_caffemodel_corpus FOLDER
 */
#include <stdio.h>
#include <stdlib.h>

#include "caffe_test.h"

static const char *folder;
static int made;

static void save(onnx_part *part) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%03d.caffemodel", folder, made++);
    onnx_write_file(path, part->data, part->bytes);
    onnx_part_free(part);
}

/* Floats one by one, and raw halves. */
static void save_odd_blobs(void) {
    onnx_part model = {0}, layer = {0}, blob = {0}, shape = {0};
    static const unsigned char halves[8] = {0, 0x3c, 0, 0x40, 0, 0xbc, 0, 0};
    onnx_part_text(&layer, CAFFE_LAYER_NAME, "conv");
    for (int i = 0; i < 4; i++)
        onnx_part_float(&blob, CAFFE_BLOB_DATA, 1);
    onnx_part_number(&shape, 1, 4);
    onnx_part_move(&blob, CAFFE_BLOB_SHAPE, &shape);
    onnx_part_move(&layer, CAFFE_LAYER_BLOB, &blob);
    onnx_part_number(&shape, 1, 4);
    onnx_part_move(&blob, CAFFE_BLOB_SHAPE, &shape);
    onnx_part_number(&blob, 10, 2);
    onnx_part_bytes(&blob, 12, halves, sizeof(halves));
    onnx_part_move(&layer, CAFFE_LAYER_BLOB, &blob);
    onnx_part_move(&model, CAFFE_MODEL_LAYER, &layer);
    save(&model);
}

int main(int argc, char **argv) {
    static const int64_t extents[] = {2, 2, 2};
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    for (int is_old = 0; is_old < 2; is_old++) {
        onnx_part model = caffe_model(is_old == 1), mean = caffe_blob(3, extents, is_old == 1);
        save(&model);
        save(&mean);
    }
    save_odd_blobs();
    printf("%d seeds\n", made);
    return 0;
}
