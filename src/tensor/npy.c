/* SPDX-License-Identifier: Apache-2.0 */
/* Writing .npy files; see npy.h. The command line has a reader and writer of its own, for its
 * files. */
#include "tensor/npy.h"
#include "base/status.h"
#include "tensor/convert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *descr_of(tn_type type) {
    static const char *const texts[TN_TYPE_COUNT] = {
        [TN_F64] = "<f8", [TN_F32] = "<f4", [TN_F16] = "<f2", [TN_I64] = "<i8",
        [TN_I32] = "<i4", [TN_I16] = "<i2", [TN_I8] = "|i1",  [TN_U64] = "<u8",
        [TN_U32] = "<u4", [TN_U16] = "<u2", [TN_U8] = "|u1",  [TN_BOOL] = "|b1"};
    return type < TN_TYPE_COUNT ? texts[type] : NULL;
}

/* The header's text, padded so that the data begins at a multiple of 64 bytes. */
enum { PREFIX = 10, HEADER = 512 };
static size_t print_header(const tn_tensor *tensor, char *header) {
    int at = snprintf(header, HEADER, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                      descr_of(tensor->type));
    for (uint32_t i = 0; i < tensor->rank && i < TN_MAX_RANK; i++)
        at += snprintf(header + at, HEADER - (size_t)at, "%lld, ", (long long)tensor->shape[i]);
    at += snprintf(header + at, HEADER - (size_t)at, "), }");
    while ((at + 1 + PREFIX) % 64 != 0)
        header[at++] = ' ';
    header[at++] = '\n';
    return (size_t)at;
}

static bool write_linear(FILE *file, const tn_tensor *tensor) {
    char header[HEADER + 64];
    const size_t bytes = print_header(tensor, header);
    const unsigned char prefix[PREFIX] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)bytes, (unsigned char)(bytes >> 8)};
    return fwrite(prefix, 1, PREFIX, file) == PREFIX && fwrite(header, 1, bytes, file) == bytes &&
           (tensor->bytes == 0 ||
            fwrite(tensor->data, 1, (size_t)tensor->bytes, file) == tensor->bytes);
}

static tn_status write_file(const char *path, const tn_tensor *tensor) {
    FILE *file = fopen(path, "wb");
    bool is_written = file && write_linear(file, tensor);
    if (file && fclose(file) != 0) is_written = false;
    return is_written ? TN_OK
                      : tn_fail(TN_ERROR_IO, "%s cannot be written: %s", path, strerror(errno));
}

tn_status tn_npy_write(const tn_allocator *allocator, const char *path, const tn_tensor *tensor) {
    tn_tensor_storage linear;
    tn_shape shape;
    const tn_type type = tensor->type == TN_BF16 ? TN_F32 : tensor->type;
    if (!descr_of(type) || !tensor->data)
        return tn_fail(TN_ERROR_ARGUMENT, "a tensor of type %s without data cannot be written",
                       tn_type_name(type));
    if (type == tensor->type && tensor->format == TN_LINEAR) return write_file(path, tensor);
    TN_TRY(tn_shape_set(&shape, tensor->rank, tensor->shape));
    TN_TRY(tn_tensor_init(&linear, type, TN_LINEAR, &shape));
    if (type == tensor->type) linear.tensor.quantization = tensor->quantization; /* as stored */
    linear.tensor.data = tn_allocate_aligned(allocator, (size_t)linear.tensor.bytes + 1, 64);
    if (!linear.tensor.data) return tn_fail_memory("a tensor's copy");
    tn_status status =
        tn_convert(tensor, &linear.tensor, 0, tn_convert_items(tensor, &linear.tensor));
    if (status == TN_OK) status = write_file(path, &linear.tensor);
    tn_deallocate(allocator, linear.tensor.data);
    return status;
}
