/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files, versions 1 to 3 (format: NumPy's documentation, numpy.lib.format). */
#include "tensor_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct descr_row {
    const char *text;
    tn_type type;
} descr_row;
/* NumPy has no bfloat16: ml_dtypes stores it as two bytes of no type. */
static const descr_row descrs[] = {
    {"<f8", TN_F64}, {"<f4", TN_F32},  {"<f2", TN_F16}, {"<i8", TN_I64}, {"<i4", TN_I32},
    {"<i2", TN_I16}, {"|i1", TN_I8},   {"<u8", TN_U64}, {"<u4", TN_U32}, {"<u2", TN_U16},
    {"|u1", TN_U8},  {"|b1", TN_BOOL}, {"<V2", TN_BF16}};
#define DESCR_COUNT (sizeof(descrs) / sizeof(descrs[0]))

/* The element type of a descr; its first character is the order of bytes: '<' little, '>' big, '='
 * the machine's own, which is little, '|' none. */
static tn_type find_type(const char *text, size_t length) {
    for (size_t i = 0; i < DESCR_COUNT; i++) {
        if (length == 3 && memchr("<>=|", text[0], 4) && text[1] == descrs[i].text[1] &&
            text[2] == descrs[i].text[2])
            return descrs[i].type;
    }
    return TN_NONE;
}

/* Big-endian elements into little-endian ones. */
static void swap_bytes(const file_tensor *tensor) {
    const size_t item = type_bytes(tensor->type);
    unsigned char *data = tensor->data;
    for (size_t at = 0; at < tensor->bytes; at += item)
        for (size_t i = 0; i < item / 2; i++) {
            const unsigned char byte = data[at + i];
            data[at + i] = data[at + item - 1 - i];
            data[at + item - 1 - i] = byte;
        }
}

/* What follows 'key': in the header; null when it is not there. */
static const char *find_value(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at = strchr(at + strlen(key), ':');
    return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

static bool read_shape(const char *at, uint32_t *out_rank, int64_t *shape) {
    uint32_t rank = 0;
    if (!at || *at++ != '(') return false;
    for (;;) {
        at += strspn(at, " ,");
        if (*at == ')') break;
        char *end;
        const long long extent = strtoll(at, &end, 10);
        if (end == at || extent < 0 || rank == TN_MAX_RANK) return false;
        shape[rank++] = extent;
        at = end + (*end == 'L');
    }
    *out_rank = rank;
    return true;
}

/* Column-major data into row-major. */
static void reorder(const file_tensor *tensor, const unsigned char *data) {
    const size_t item = type_bytes(tensor->type), count = file_tensor_count(tensor);
    for (size_t i = 0; i < count; i++) {
        size_t rest = i, from = 0, step = 1;
        size_t index[TN_MAX_RANK] = {0};
        for (uint32_t axis = tensor->rank; axis-- > 0;) {
            index[axis] = rest % (size_t)tensor->shape[axis];
            rest /= (size_t)tensor->shape[axis];
        }
        for (uint32_t axis = 0; axis < tensor->rank; axis++) {
            from += index[axis] * step;
            step *= (size_t)tensor->shape[axis];
        }
        memcpy((char *)tensor->data + i * item, data + from * item, item);
    }
}

static bool read_body(const char *path, const char *header, const unsigned char *data, size_t bytes,
                      file_tensor *out_tensor) {
    const char *descr = find_value(header, "'descr'"),
               *order = find_value(header, "'fortran_order'");
    int64_t shape[TN_MAX_RANK] = {0};
    uint32_t rank = 0;
    if (!descr || !order || !read_shape(find_value(header, "'shape'"), &rank, shape))
        return cli_fault("%s: its header has no descr, fortran_order or shape (of rank %d at most)",
                         path, TN_MAX_RANK),
               false;
    const bool is_quoted = *descr == '\'' || *descr == '"';
    if (is_quoted) descr++;
    const size_t length = strcspn(descr, is_quoted ? "'\"" : "\n");
    const tn_type type = is_quoted ? find_type(descr, length) : TN_NONE;
    if (type == TN_NONE)
        return cli_fault("%s: elements of type %.*s are not supported: floats of 16, 32 and 64 "
                         "bits, integers of 8 to 64 and bool are",
                         path, length < 40 ? (int)length : 40, descr),
               false;
    if (!file_tensor_allocate(out_tensor, type, rank, shape, path)) return false;
    if (out_tensor->bytes != bytes) {
        cli_fault("%s: %zu bytes of data, the shape needs %zu", path, bytes, out_tensor->bytes);
        file_tensor_free(out_tensor);
        return false;
    }
    if (strncmp(order, "True", 4) == 0 && bytes)
        reorder(out_tensor, data);
    else
        memcpy(out_tensor->data, data, bytes);
    if (*descr == '>') swap_bytes(out_tensor);
    return true;
}

bool npy_read(const char *path, const unsigned char *data, size_t bytes, file_tensor *out_tensor) {
    if (bytes < 10 || memcmp(data, "\x93NUMPY", 6) != 0 || data[6] < 1 || data[6] > 3)
        return cli_fault("%s: it is not a .npy file of version 1 to 3", path), false;
    const size_t at = data[6] == 1 ? 10 : 12;
    size_t length = data[8] | (size_t)data[9] << 8;
    if (at == 12)
        length = bytes < 12 ? SIZE_MAX : length | (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (bytes < at || length > bytes - at || length > (1u << 20))
        return cli_fault("%s: it is truncated in its header", path), false;
    char *header = malloc(length + 1);
    if (!header) return cli_fault("%s: no memory", path), false;
    memcpy(header, data + at, length);
    header[length] = 0;
    const bool is_read =
        read_body(path, header, data + at + length, bytes - at - length, out_tensor);
    free(header);
    return is_read;
}

bool npy_write(const char *path, const tn_tensor *tensor) {
    char head[512], shape[256] = "";
    const char *descr = NULL;
    for (size_t i = 0; i < DESCR_COUNT; i++) {
        if (descrs[i].type == tensor->type) descr = descrs[i].text;
    }
    if (!descr)
        return cli_fault("%s: .npy has no elements of type %s; a file of another ending gets the "
                         "bytes as they are",
                         path, type_name(tensor->type)),
               false;
    size_t at = 0;
    for (uint32_t i = 0; i < tensor->rank; i++)
        at += (size_t)snprintf(shape + at, sizeof(shape) - at,
                               tensor->rank == 1 ? "%lld,"
                               : i               ? ", %lld"
                                                 : "%lld",
                               (long long)tensor->shape[i]);
    int length = snprintf(head + 10, sizeof(head) - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    const size_t total = ((size_t)length + 10 + 1 + 63) / 64 * 64;
    memset(head + 10 + length, ' ', total - 10 - (size_t)length);
    head[total - 1] = '\n';
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    head[8] = (char)((total - 10) & 0xff);
    head[9] = (char)((total - 10) >> 8);
    return whole_file_write(path, head, total, tensor->data, (size_t)tensor->bytes);
}
