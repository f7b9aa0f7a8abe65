/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing tensors by the file's ending; whole files. The formats are in npy.c,
 * tensor_pb.c and image.c. */
#include "tensor_file.h"
#include "foreign_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct type_row {
    const char *name;
    size_t bits;
} type_row;
static const type_row types[TN_TYPE_COUNT] = {
    [TN_NONE] = {"none", 0},      [TN_F64] = {"f64", 64},
    [TN_F32] = {"f32", 32},       [TN_F16] = {"f16", 16},
    [TN_BF16] = {"bf16", 16},     [TN_I64] = {"i64", 64},
    [TN_I32] = {"i32", 32},       [TN_I16] = {"i16", 16},
    [TN_I8] = {"i8", 8},          [TN_U64] = {"u64", 64},
    [TN_U32] = {"u32", 32},       [TN_U16] = {"u16", 16},
    [TN_U8] = {"u8", 8},          [TN_BOOL] = {"bool", 8},
    [TN_F8E4M3] = {"f8e4m3", 8},  [TN_F8E4M3FNUZ] = {"f8e4m3fnuz", 8},
    [TN_F8E5M2] = {"f8e5m2", 8},  [TN_F8E5M2FNUZ] = {"f8e5m2fnuz", 8},
    [TN_F8E8M0] = {"f8e8m0", 8},  [TN_F4E2M1] = {"f4e2m1", 4},
    [TN_I4] = {"i4", 4},          [TN_U4] = {"u4", 4},
    [TN_I2] = {"i2", 2},          [TN_U2] = {"u2", 2},
    [TN_STRING] = {"string", 128}};

size_t type_bytes(tn_type type) {
    return type < TN_TYPE_COUNT ? types[type].bits / 8 : 0;
}
const char *type_name(tn_type type) {
    return type < TN_TYPE_COUNT ? types[type].name : "unknown";
}

size_t file_tensor_count(const file_tensor *tensor) {
    size_t count = 1;
    if (type_bytes(tensor->type)) return tensor->bytes / type_bytes(tensor->type);
    for (uint32_t i = 0; i < tensor->rank; i++) /* several share a byte */
        count *= (size_t)tensor->shape[i];
    return tensor->bytes ? count : 0;
}

bool file_tensor_allocate(file_tensor *tensor, tn_type type, uint32_t rank, const int64_t *shape,
                          const char *path) {
    size_t count = 1;
    if (rank > TN_MAX_RANK)
        return cli_fault("%s: rank %u is above the highest, %d", path, rank, TN_MAX_RANK), false;
    *tensor = (file_tensor){.type = type, .rank = rank};
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(count, (size_t)shape[i], &count) ||
            count > ((size_t)1 << 40))
            return cli_fault("%s: the tensor's shape is negative or larger than can be addressed",
                             path),
                   false;
        tensor->shape[i] = shape[i];
    }
    tensor->bytes = (count * types[type].bits + 7) / 8;
    if (posix_memalign(&tensor->data, 64, tensor->bytes ? tensor->bytes : 64) != 0) {
        tensor->data = NULL;
        return cli_fault("%s: no memory for %zu bytes", path, tensor->bytes), false;
    }
    return true;
}

void file_tensor_free(file_tensor *tensor) {
    free(tensor->data);
    tensor->data = NULL;
}

bool tensor_file_is_stream(const char *path) {
    return strcmp(path, "-") == 0;
}

/* Until its end, which is not known before. */
static bool read_stream(FILE *file, unsigned char **out_data, size_t *out_bytes) {
    unsigned char *data = NULL;
    size_t bytes = 0, capacity = 0;
    do {
        if (capacity - bytes < 2) {
            const size_t larger = capacity ? capacity * 2 : 65536;
            unsigned char *grown = realloc(data, larger);
            if (!grown) break;
            data = grown;
            capacity = larger;
        }
        bytes += fread(data + bytes, 1, capacity - bytes - 1, file);
    } while (!feof(file) && !ferror(file));
    if (feof(file) && !ferror(file)) {
        *out_data = data;
        *out_bytes = bytes;
        return true;
    }
    free(data);
    return cli_fault("cannot read stdin: %s", ferror(file) ? strerror(errno) : "no memory"), false;
}

static bool read_regular(FILE *file, unsigned char **out_data, size_t *out_bytes) {
    struct stat info;
    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    unsigned char *data = malloc((size_t)info.st_size + 1);
    if (!data || fread(data, 1, (size_t)info.st_size, file) != (size_t)info.st_size) {
        free(data);
        return false;
    }
    *out_data = data;
    *out_bytes = (size_t)info.st_size;
    return true;
}

bool whole_file_read(const char *path, unsigned char **out_data, size_t *out_bytes) {
    if (tensor_file_is_stream(path)) return read_stream(stdin, out_data, out_bytes);
    FILE *file = fopen(path, "rb");
    if (!file) return cli_fault("cannot open '%s': %s", path, strerror(errno)), false;
    const bool is_read = read_regular(file, out_data, out_bytes);
    fclose(file);
    if (!is_read) cli_fault("cannot read '%s': it is no regular file, or larger than memory", path);
    return is_read;
}

static bool write_all(FILE *file, const void *head, size_t head_bytes, const void *data,
                      size_t bytes) {
    return (!head_bytes || fwrite(head, 1, head_bytes, file) == head_bytes) &&
           (!bytes || fwrite(data, 1, bytes, file) == bytes) && fflush(file) == 0;
}

static bool write_stream(const void *head, size_t head_bytes, const void *data, size_t bytes) {
    if (write_all(stdout, head, head_bytes, data, bytes)) return true;
    return cli_fault("cannot write to stdout: %s", strerror(errno)), false;
}

/* Where the file is, by PATH_MAX characters; false: what is there is no regular file. */
static bool find_target(const char *path, char *target) {
    struct stat info;
    if (!realpath(path, target)) { /* not there yet */
        snprintf(target, PATH_MAX, "%s", path);
        return true;
    }
    return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

bool whole_file_has_folder(const char *path) {
    char folder[PATH_MAX] = ".";
    struct stat info;
    if (!path || tensor_file_is_stream(path)) return true;
    if (strlen(path) >= sizeof(folder)) return cli_fault("the path '%s' is too long", path), false;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) return true; /* written as it is */
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof(folder), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(folder, &info) == 0 && !S_ISDIR(info.st_mode))
        errno = ENOTDIR;
    else if (access(folder, W_OK | X_OK) == 0)
        return true;
    return cli_fault("cannot write '%s' into the folder '%s': %s", path, folder, strerror(errno)),
           false;
}

bool whole_file_write(const char *path, const void *head, size_t head_bytes, const void *data,
                      size_t bytes) {
    char beside[PATH_MAX + 32], target[PATH_MAX];
    if (tensor_file_is_stream(path)) return write_stream(head, head_bytes, data, bytes);
    if (strlen(path) >= sizeof(target)) return cli_fault("the path '%s' is too long", path), false;
    const bool is_replaced = find_target(path, target);
    snprintf(beside, sizeof(beside), is_replaced ? "%s.%ld.part" : "%s", target, (long)getpid());
    FILE *file = fopen(beside, is_replaced ? "wbx" : "wb");
    if (!file)
        return cli_fault("cannot %s '%s': %s", is_replaced ? "create" : "write", beside,
                         strerror(errno)),
               false;
    bool is_written = write_all(file, head, head_bytes, data, bytes);
    int reason = errno;
    is_written = fclose(file) == 0 && is_written;
    if (is_written && (!is_replaced || rename(beside, target) == 0)) return true;
    reason = is_written ? errno : reason;
    if (is_replaced) unlink(beside);
    return cli_fault("cannot write '%s': %s", path, strerror(reason)), false;
}

bool tensor_file_is_image(const char *path) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".pgm", ".ppm", ".bmp"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (file_has_ending(path, endings[i])) return true;
    }
    return false;
}

static bool raw_read(const char *path, const unsigned char *data, size_t bytes, int rank,
                     const int64_t *shape, file_tensor *out_tensor) {
    if (rank < 0)
        return cli_fault("%s: raw floats need a known shape (--shape NAME=...)", path), false;
    if (!file_tensor_allocate(out_tensor, TN_F32, (uint32_t)rank, shape, path)) return false;
    if (out_tensor->bytes != bytes) {
        cli_fault("%s: %zu bytes of raw f32, the shape needs %zu", path, bytes, out_tensor->bytes);
        file_tensor_free(out_tensor);
        return false;
    }
    memcpy(out_tensor->data, data, bytes);
    return true;
}

/* What was saved in a file's stead is told, whatever the ending promises. */
static bool is_stand_in(const char *path, const unsigned char *data, size_t bytes) {
    file_head head = {.path = path, .count = bytes, .all = bytes};
    if (head.count > FOREIGN_HEAD_BYTES) head.count = FOREIGN_HEAD_BYTES;
    memcpy(head.bytes, data, head.count);
    const foreign_file *foreign = foreign_file_find(&head);
    if (!foreign || !foreign->is_stand_in) return false;
    cli_fault("%s is %s: %s", path, foreign->what, foreign->advice);
    return true;
}

static bool begins_as_npy(const unsigned char *data, size_t bytes) {
    return bytes >= 6 && memcmp(data, "\x93NUMPY", 6) == 0;
}

static bool read_bytes(const char *path, const unsigned char *data, size_t bytes,
                       const cli_options *options, int raw_rank, const int64_t *raw_shape,
                       file_tensor *out_tensor) {
    const bool is_stream = tensor_file_is_stream(path);
    if (tensor_file_is_image(path) || (is_stream && image_is_in(data, bytes)))
        return image_read(path, data, bytes, options, out_tensor);
    if (file_has_ending(path, ".npy") || (is_stream && begins_as_npy(data, bytes)))
        return npy_read(path, data, bytes, out_tensor);
    if (file_has_ending(path, ".pb")) return tensor_pb_read(path, data, bytes, out_tensor);
    return raw_read(path, data, bytes, raw_rank, raw_shape, out_tensor);
}

bool tensor_file_read(const char *path, const cli_options *options, int raw_rank,
                      const int64_t *raw_shape, file_tensor *out_tensor) {
    unsigned char *data;
    size_t bytes;
    if (!whole_file_read(path, &data, &bytes)) return false;
    const bool is_read = !is_stand_in(path, data, bytes) &&
                         read_bytes(path, data, bytes, options, raw_rank, raw_shape, out_tensor);
    free(data);
    return is_read;
}

bool tensor_file_write(const char *path, const cli_options *options, const tn_tensor *tensor) {
    if (tensor->type == TN_STRING)
        return cli_fault("%s: strings are written to no file; --print shows them", path), false;
    if (tensor_file_is_image(path)) return image_write(path, options, tensor);
    if (file_has_ending(path, ".npy") || tensor_file_is_stream(path))
        return npy_write(path, tensor);
    return whole_file_write(path, NULL, 0, tensor->data, (size_t)tensor->bytes);
}
