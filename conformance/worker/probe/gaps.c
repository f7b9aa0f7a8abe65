/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with gaps between them; see gaps.h. */
#include "worker/probe/gaps.h"
#include "tensor/type.h"

#include <tenon/plugin/view.h>

#include <string.h>

enum { GAP_BYTES = 48 };

/* Of shape (outer..., count, inner...), with room for the capacity. */
static bool count_gaps(const tn_probe_port *port, tn_gaps *out_gaps) {
    size_t rows = 1, inner = tn_type_bytes(port->type);
    for (uint32_t i = 0; i < port->shape.rank; i++)
        *(i < port->counted_axis ? &rows : &inner) *=
            i == port->counted_axis ? 1 : (size_t)port->shape.extents[i];
    const size_t pitch = (size_t)port->capacity * inner;
    *out_gaps = (tn_gaps){rows, (size_t)port->shape.extents[port->counted_axis] * inner, pitch,
                          rows * pitch};
    return inner > 0;
}

bool tn_gaps_of(const tn_probe_port *port, tn_gaps *out_gaps) {
    size_t bytes = 0, rows = 0;
    if (port->capacity > 0) return count_gaps(port, out_gaps);
    if (port->shape.rank < 2 || tn_type_bytes(port->type) == 0 ||
        tn_format_bytes(port->format, port->type, &port->shape, &bytes) != TN_OK || bytes == 0)
        return false;
    rows = port->format == TN_NHWC
               ? bytes / ((size_t)port->shape.extents[1] * tn_type_bytes(port->type))
               : (size_t)port->shape.extents[0];
    const size_t row_bytes = bytes / rows;
    const size_t pitch =
        (row_bytes + TN_VIEW_ROW_BYTES - 1) / TN_VIEW_ROW_BYTES * TN_VIEW_ROW_BYTES + GAP_BYTES;
    *out_gaps = (tn_gaps){rows, row_bytes, pitch, (rows - 1) * pitch + row_bytes};
    return rows > 1;
}

static void describe_capacity(const tn_probe_port *port, tn_tensor *tensor, int64_t *strides) {
    int64_t step = 1;
    tensor->shape[port->counted_axis] = port->capacity;
    for (uint32_t i = port->shape.rank; i-- > 0;) {
        strides[i] = step;
        step *= tensor->shape[i];
    }
}

void tn_gaps_describe(const tn_probe_port *port, tn_tensor *tensor, int64_t *strides) {
    tn_gaps gaps;
    if (!port->has_gaps || !tn_gaps_of(port, &gaps)) return;
    tensor->bytes = gaps.bytes;
    if (port->capacity > 0) {
        describe_capacity(port, tensor, strides);
        return;
    }
    const int64_t row = (int64_t)(gaps.row_bytes / tn_type_bytes(port->type)),
                  pitch = (int64_t)(gaps.pitch_bytes / tn_type_bytes(port->type));
    for (uint32_t i = 0; i < port->shape.rank; i++)
        if (port->format == TN_NHWC ? i != 1 : i == 0) strides[i] = strides[i] / row * pitch;
}

void tn_gaps_spread(const tn_gaps *gaps, char *to, const char *packed, uint8_t filler) {
    memset(to, filler, gaps->bytes);
    for (size_t i = 0; i < gaps->rows; i++)
        memcpy(to + i * gaps->pitch_bytes, packed + i * gaps->row_bytes, gaps->row_bytes);
}

void tn_gaps_gather(const tn_gaps *gaps, char *packed, const char *from) {
    for (size_t i = 0; i < gaps->rows; i++)
        memcpy(packed + i * gaps->row_bytes, from + i * gaps->pitch_bytes, gaps->row_bytes);
}

bool tn_gaps_are_whole(const tn_gaps *gaps, const char *data, uint8_t filler) {
    for (size_t i = 0; i + 1 < gaps->rows; i++)
        for (size_t at = gaps->row_bytes; at < gaps->pitch_bytes; at++)
            if ((uint8_t)data[i * gaps->pitch_bytes + at] != filler) return false;
    return true;
}
