/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of one type, or floats of two, between linear, channels last and blocked channels. The
 * tensors are seen as images x channels x positions; in each of these formats a tile of up to 16
 * channels (of bytes 64), none of them in another block, has one step between channels and one
 * between positions. So a tile is either a transposition (4x4 at a time when elements have 4 bytes)
 * or rows of channels that are copied.
 */
#include "tensor/convert_private.h"

#include <string.h>

#define TILE_CHANNELS  16
#define BYTE_CHANNELS  64 /* of a tile of bytes: a cache line */
#define TILE_POSITIONS 256

typedef struct channel_view {
    int64_t block;            /* 0: none */
    int64_t step, image_step; /* between positions, between images; in elements */
    bool is_linear;
} channel_view;

typedef struct channel_sizes {
    int64_t channels, positions, padded; /* padded: channels that `to` has buffer for */
    int64_t width, tiles, pieces; /* of channels a tile; tiles, pieces of positions an image */
    channel_view from, to;
} channel_sizes;

/* What an item does: `count` channels and then `zeros` lanes at `positions` positions. */
typedef struct channel_tile {
    const char *from;
    char *to;
    int64_t count, zeros, positions;
    int64_t from_channel, from_step, to_channel, to_step; /* in elements */
} channel_tile;

static channel_view view_of(const tn_tensor *tensor, int64_t channels, int64_t positions) {
    channel_view view = {.block = tn_convert_block(tensor)};
    view.is_linear = tn_convert_layout(tensor) == TN_LAYOUT_LINEAR;
    view.step = view.is_linear ? 1 : view.block ? view.block : channels;
    const int64_t stored =
        view.block ? (channels + view.block - 1) / view.block * view.block : channels;
    view.image_step = stored * positions;
    return view;
}

static channel_sizes sizes_of(const tn_tensor *from, const tn_tensor *to) {
    channel_sizes sizes = {.channels = from->shape[1], .positions = 1, .width = TILE_CHANNELS};
    for (uint32_t i = 2; i < from->rank; i++)
        sizes.positions *= from->shape[i];
    sizes.from = view_of(from, sizes.channels, sizes.positions);
    sizes.to = view_of(to, sizes.channels, sizes.positions);
    sizes.padded = sizes.to.image_step / sizes.positions;
    if (tn_type_bytes(from->type) == 1 && tn_type_bytes(to->type) == 1) sizes.width = BYTE_CHANNELS;
    if (sizes.from.block && sizes.from.block < sizes.width) sizes.width = sizes.from.block;
    if (sizes.to.block && sizes.to.block < sizes.width) sizes.width = sizes.to.block;
    if (sizes.positions == 1) sizes.width = sizes.padded; /* no format tells them apart */
    sizes.tiles = (sizes.padded + sizes.width - 1) / sizes.width;
    sizes.pieces = (sizes.positions + TILE_POSITIONS - 1) / TILE_POSITIONS;
    return sizes;
}

int64_t tn_convert_channels_items(const tn_tensor *from, const tn_tensor *to) {
    const channel_sizes sizes = sizes_of(from, to);
    return from->shape[0] * sizes.tiles * sizes.pieces;
}

static int64_t channel_offset(const channel_view *view, int64_t channel, int64_t positions) {
    if (view->is_linear) return channel * positions;
    if (!view->block) return channel;
    return channel / view->block * view->block * positions + channel % view->block;
}

/* Item `item`: tiles of channels fastest, so that neighbours share lines of channels-last memory.
 */
static channel_tile tile_at(const channel_sizes *sizes, const tn_tensor *from, const tn_tensor *to,
                            int64_t item) {
    const size_t from_bytes = tn_type_bytes(from->type), to_bytes = tn_type_bytes(to->type);
    const int64_t channel = item % sizes->tiles * sizes->width;
    const int64_t position = item / sizes->tiles % sizes->pieces * TILE_POSITIONS;
    const int64_t image = item / sizes->tiles / sizes->pieces;
    const int64_t end =
        channel + sizes->width < sizes->padded ? channel + sizes->width : sizes->padded;
    channel_tile tile = {.from_step = sizes->from.step, .to_step = sizes->to.step};
    tile.from_channel = sizes->from.is_linear ? sizes->positions : 1;
    tile.to_channel = sizes->to.is_linear ? sizes->positions : 1;
    tile.count = (end < sizes->channels ? end : sizes->channels) - channel;
    if (tile.count < 0) tile.count = 0;
    tile.zeros = end - channel - tile.count;
    tile.positions = sizes->positions - position;
    if (tile.positions > TILE_POSITIONS) tile.positions = TILE_POSITIONS;
    const int64_t target = image * sizes->to.image_step + position * tile.to_step +
                           channel_offset(&sizes->to, channel, sizes->positions);
    tile.to = (char *)to->data + (size_t)target * to_bytes;
    tile.from = from->data;
    if (tile.count > 0) {
        const int64_t source = image * sizes->from.image_step + position * tile.from_step +
                               channel_offset(&sizes->from, channel, sizes->positions);
        tile.from += (size_t)source * from_bytes;
    }
    return tile;
}

/* Any tile, for one size of elements. */
#define MOVE_TILE(name, c_type)                                                                    \
    static void name(const channel_tile *tile) {                                                   \
        const c_type *restrict from = (const void *)tile->from;                                    \
        c_type *restrict to = (void *)tile->to;                                                    \
        for (int64_t p = 0; p < tile->positions; p++) {                                            \
            for (int64_t c = 0; c < tile->count; c++)                                              \
                to[c * tile->to_channel] = from[c * tile->from_channel];                           \
            from += tile->from_step;                                                               \
            to += tile->to_step;                                                                   \
        }                                                                                          \
    }
MOVE_TILE(move_16, uint16_t)
MOVE_TILE(move_32, uint32_t)
MOVE_TILE(move_64, uint64_t)

/* Rows of channels: both sides have them one after the other. Sizes that are known to the compiler
 * become a few moves. */
static void copy_rows(const channel_tile *tile, size_t bytes) {
    const char *from = tile->from;
    char *to = tile->to;
    const size_t row = (size_t)tile->count * bytes;
    const size_t from_step = (size_t)tile->from_step * bytes;
    const size_t to_step = (size_t)tile->to_step * bytes;
    switch (row) {
#define CASE(known)                                                                                \
    case known:                                                                                    \
        for (int64_t p = 0; p < tile->positions; p++, from += from_step, to += to_step)            \
            memcpy(to, from, known);                                                               \
        break
        CASE(4);
        CASE(8);
        CASE(12);
        CASE(16);
        CASE(32);
        CASE(64);
#undef CASE
    default:
        for (int64_t p = 0; p < tile->positions; p++, from += from_step, to += to_step)
            memcpy(to, from, row);
        break;
    }
}

/* Zero for the lanes that no channel has. Where a tile is all of its memory it is cleared whole,
 * before the channels are written. */
static void write_zeros(const channel_tile *tile, size_t bytes) {
    const size_t step = (size_t)tile->to_step * bytes;
    char *to = tile->to + (size_t)tile->count * bytes;
    if (tile->to_step == tile->count + tile->zeros) {
        memset(tile->to, 0, (size_t)tile->positions * step);
        return;
    }
    for (int64_t p = 0; p < tile->positions; p++, to += step)
        memset(to, 0, (size_t)tile->zeros * bytes);
}

typedef uint32_t lanes __attribute__((vector_size(16)));

static inline lanes load_lanes(const uint32_t *from) {
    lanes value;
    memcpy(&value, from, sizeof(value));
    return value;
}

static inline void store_lanes(uint32_t *to, lanes value) {
    memcpy(to, &value, sizeof(value));
}

/* Four rows of four elements, `from_row` apart, to four rows `to_row` apart, transposed. */
static inline void transpose_4x4(const uint32_t *from, int64_t from_row, uint32_t *to,
                                 int64_t to_row) {
    const lanes a = load_lanes(from), b = load_lanes(from + from_row);
    const lanes c = load_lanes(from + 2 * from_row), d = load_lanes(from + 3 * from_row);
    const lanes ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const lanes ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const lanes cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const lanes cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store_lanes(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store_lanes(to + to_row, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store_lanes(to + 2 * to_row, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store_lanes(to + 3 * to_row, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

/* A transposition of 4-byte elements: four channels at four positions at a time, then what is left
 * of either. */
static void transpose_32(const channel_tile *tile) {
    const uint32_t *from = (const void *)tile->from;
    uint32_t *to = (void *)tile->to;
    const bool is_gather = tile->from_step == 1; /* from linear */
    const int64_t from_row = is_gather ? tile->from_channel : tile->from_step;
    const int64_t to_row = is_gather ? tile->to_step : tile->to_channel;
    const int64_t channels = tile->count / 4 * 4, positions = tile->positions / 4 * 4;
    for (int64_t p = 0; p < positions; p += 4) {
        for (int64_t c = 0; c < channels; c += 4)
            transpose_4x4(from + p * tile->from_step + c * tile->from_channel, from_row,
                          to + p * tile->to_step + c * tile->to_channel, to_row);
    }
    channel_tile rest = *tile; /* channels left, at the positions above */
    rest.from += (size_t)(channels * tile->from_channel) * sizeof(*from);
    rest.to += (size_t)(channels * tile->to_channel) * sizeof(*to);
    rest.count -= channels;
    rest.positions = positions;
    if (rest.count > 0) move_32(&rest);
    rest = *tile; /* all channels, at the positions left */
    rest.from += (size_t)(positions * tile->from_step) * sizeof(*from);
    rest.to += (size_t)(positions * tile->to_step) * sizeof(*to);
    rest.positions -= positions;
    if (rest.positions > 0) move_32(&rest);
}

/* A transposition of bytes: rows are channels, or positions. */
static void transpose_8(const channel_tile *tile) {
    const uint8_t *from = (const void *)tile->from;
    uint8_t *to = (void *)tile->to;
    if (tile->from_step == 1)
        tn_convert_transpose_bytes(tile->count, tile->positions, from, tile->from_channel, to,
                                   tile->to_step);
    else
        tn_convert_transpose_bytes(tile->positions, tile->count, from, tile->from_step, to,
                                   tile->to_channel);
}

static void move_tile(const channel_tile *tile, size_t bytes) {
    if (tile->from_channel == 1 && tile->to_channel == 1)
        copy_rows(tile, bytes);
    else if (bytes == 4)
        transpose_32(tile);
    else if (bytes == 1)
        transpose_8(tile);
    else if (bytes == 2)
        move_16(tile);
    else
        move_64(tile);
}

/* Room for a tile, before and after its elements are converted. */
typedef struct tile_buffer {
    _Alignas(64) char taken[TILE_CHANNELS * TILE_POSITIONS * sizeof(float)];
    _Alignas(64) char line[TILE_CHANNELS * TILE_POSITIONS * sizeof(float)];
} tile_buffer;

/* Converts a tile's elements, and makes them the tile's source. Short rows are gathered
 * first, so that lines are long. */
static void convert_tile(const tn_float_conversion *conversion, channel_tile *tile,
                         size_t from_bytes, size_t to_bytes, tile_buffer *buffer) {
    if (tile->from_channel != 1) {
        for (int64_t c = 0; c < tile->count; c++)
            tn_float_conversion_line(
                conversion, tile->from + (size_t)(c * tile->from_channel) * from_bytes,
                buffer->line + (size_t)(c * TILE_POSITIONS) * to_bytes, tile->positions);
        tile->from_channel = TILE_POSITIONS;
    } else {
        if (tile->from_step != tile->count) {
            channel_tile rows = *tile;
            rows.to = buffer->taken;
            rows.to_step = tile->count;
            copy_rows(&rows, from_bytes);
            tile->from = buffer->taken;
        }
        tn_float_conversion_line(conversion, tile->from, buffer->line,
                                 tile->positions * tile->count);
        tile->from_step = tile->count;
    }
    tile->from = buffer->line;
}

void tn_convert_channels(const tn_tensor *from, const tn_tensor *to,
                         const tn_float_conversion *conversion, int64_t begin, int64_t end) {
    const channel_sizes sizes = sizes_of(from, to);
    const size_t from_bytes = tn_type_bytes(from->type), to_bytes = tn_type_bytes(to->type);
    tile_buffer buffer;
    for (int64_t item = begin; item < end; item++) {
        channel_tile tile = tile_at(&sizes, from, to, item);
        if (tile.zeros > 0) write_zeros(&tile, to_bytes);
        if (tile.count == 0) continue;
        if (conversion && sizes.positions == 1) { /* one row, of any length */
            tn_float_conversion_line(conversion, tile.from, tile.to, tile.count);
            continue;
        }
        if (conversion) convert_tile(conversion, &tile, from_bytes, to_bytes, &buffer);
        move_tile(&tile, to_bytes);
    }
}
