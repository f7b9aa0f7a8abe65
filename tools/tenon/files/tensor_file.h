/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in files: .npy, .pb (TensorProto), images, raw floats. */
#ifndef TENON_TENSOR_FILE_H
#define TENON_TENSOR_FILE_H

#include "cli/cli.h"

/* A tensor in memory, linear; `data` is 64-byte aligned and owned. Strings: their elements and,
 * behind them, their heap (tenon/plugin/string.h). */
typedef struct file_tensor {
    tn_type type;
    uint32_t rank;
    int64_t shape[TN_MAX_RANK];
    void *data;
    size_t bytes;
} file_tensor;

size_t type_bytes(tn_type type);
const char *type_name(tn_type type);
size_t file_tensor_count(const file_tensor *tensor);
/* Makes room for a tensor of this shape; false (having said so, naming `path`) when it is too
 * large. */
bool file_tensor_allocate(file_tensor *tensor, tn_type type, uint32_t rank, const int64_t *shape,
                          const char *path);
void file_tensor_free(file_tensor *tensor);

/* Whether a path's ending is an image's. */
bool tensor_file_is_image(const char *path);
/* Reads a file by its ending: .npy, .pb, .png .jpg .jpeg .pgm .ppm .bmp (as f32 by the options'
 * layout, scale and mean), anything else as raw f32 of the shape that `raw_shape` gives (rank -1:
 * not known: refused). "-" is stdin, a .npy or an image by its first bytes, else raw. False after
 * having said why. */
bool tensor_file_read(const char *path, const cli_options *options, int raw_rank,
                      const int64_t *raw_shape, file_tensor *out_tensor);
/* "-" is stdout, which gets a .npy. Otherwise it writes by the ending: .npy, .png (f32 images
 * [1,3|1,H,W] or [3|1,H,W], by the options backwards), else raw. */
bool tensor_file_write(const char *path, const cli_options *options, const tn_tensor *tensor);

/* --- one a format --- */
bool npy_read(const char *path, const unsigned char *data, size_t bytes, file_tensor *out_tensor);
bool npy_write(const char *path, const tn_tensor *tensor);
bool tensor_pb_read(const char *path, const unsigned char *data, size_t bytes,
                    file_tensor *out_tensor);
bool image_read(const char *path, const unsigned char *data, size_t bytes,
                const cli_options *options, file_tensor *out_tensor);
/* Whether the bytes begin as an image of a kind that is read. */
bool image_is_in(const unsigned char *data, size_t bytes);
bool image_write(const char *path, const cli_options *options, const tn_tensor *tensor);

/* Whether a path stands for stdin or stdout. */
bool tensor_file_is_stream(const char *path);
/* Whether a file that is written beside and renamed can be there, by its folder; false: it was
 * said. For what takes long before it writes. Null and streams are fine. */
bool whole_file_has_folder(const char *path);
/* Whole files, or stdin and stdout as "-"; `*out_data` is freed by the caller. Written beside and
 * renamed into place; where a link leads there, the link stays, and what is no regular file, like
 * /dev/null, is written itself. */
bool whole_file_read(const char *path, unsigned char **out_data, size_t *out_bytes);
bool whole_file_write(const char *path, const void *head, size_t head_bytes, const void *data,
                      size_t bytes);

#endif
