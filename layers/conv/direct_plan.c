/* SPDX-License-Identifier: Apache-2.0 */
/* Layout and tiling of the direct convolution; see direct_plan.h. */
#include "conv/direct_plan.h"
#include "kit/math/round_up.h"

/* The copies of COLUMN_COPIES must stay near the core's second-level cache. */
#define COLUMN_COPIES_LIMIT_FLOATS (256 * 1024)
/* A ring of LINE_BUFFER is read once for each block of filters, and stays in that cache, too. A
 * piece of a row is no shorter than so many times what its neighbour lays out as well. */
#define RING_LIMIT_FLOATS (128 * 1024)
#define PIECE_HALOS       4
/* To lay a float out, in rows of a few vectors; one by one, where a window has strides. */
#define COPIED_FLOAT_CYCLES  0.25
#define STRIDED_FLOAT_CYCLES 1.5
/* To begin with a group. */
#define GROUP_CYCLES 300

/* Cycles a tap of a tile: two multiply-adds a cycle, four to cover their latency; a load that
 * crosses a cache line costs about two and a half, a broadcast half a cycle (measured on Zen 5,
 * close enough elsewhere). */
static double tile_cycles(int64_t vectors, int64_t channels, double load_cycles) {
    double multiply = (double)(vectors * channels) / 2.0;
    double load = (double)vectors * load_cycles + (double)channels * 0.5;
    double cycles = multiply > load ? multiply : load;
    return (cycles > 4.0 ? cycles : 4.0) + 0.7; /* the loop itself */
}

static double run_cycles(int64_t vectors, int64_t tile_vectors, int64_t channels,
                         double load_cycles) {
    int64_t tiles = tn_divide_up(vectors, tile_vectors);
    int64_t low = vectors / tiles, larger = vectors % tiles;
    return (double)larger * tile_cycles(low + 1, channels, load_cycles) +
           (double)(tiles - larger) * tile_cycles(low, channels, load_cycles);
}

static bool is_pointwise(const tn_conv_geometry *g) {
    return g->kernel_height == 1 && g->kernel_width == 1 && g->stride_height == 1 &&
           g->stride_width == 1 && g->pad_top == 0 && g->pad_left == 0 && g->in_depth == 1 &&
           g->kernel_depth == 1 && g->out_depth == 1 && g->out_height == g->in_height &&
           g->out_width == g->in_width;
}

/* Rows of one vertical phase that the kernel reaches (COLUMN_COPIES). */
static int64_t phase_rows_of(const tn_conv_geometry *g) {
    return g->out_height + (g->kernel_height - 1) * g->dilation_height / g->stride_height;
}

static int64_t column_copies_floats(const tn_conv_geometry *g) {
    return g->channels * g->kernel_depth * g->kernel_width * g->stride_height * phase_rows_of(g) *
           g->out_width;
}

/* Rows of the kernel that an output row sees, summed over all output rows: of each row of the
 * kernel the output rows for which it lies in the image. */
static int64_t seen_rows(const tn_conv_geometry *g) {
    int64_t sum = 0;
    for (int64_t row = 0; row < g->kernel_height; row++) {
        const int64_t above = g->pad_top - row * g->dilation_height, below = above + g->in_height;
        const int64_t first = above > 0 ? tn_divide_up(above, g->stride_height) : 0;
        int64_t end = below > 0 ? tn_divide_up(below, g->stride_height) : 0;
        if (end > g->out_height) end = g->out_height;
        if (end > first) sum += end - first;
    }
    return sum;
}

/* Cycles of all filters over `vectors` vectors, for a tap. */
static double block_cycles(const tn_direct_level *level, const tn_conv_geometry *g, int64_t block,
                           int64_t vectors, double load_cycles) {
    const int64_t blocks = tn_divide_up(g->filters, block), small = g->filters / blocks,
                  larger = g->filters % blocks;
    double cycles = (double)(blocks - larger) *
                    run_cycles(vectors, level->maximum_vectors[small - 1], small, load_cycles);
    if (larger)
        cycles += (double)larger *
                  run_cycles(vectors, level->maximum_vectors[small], small + 1, load_cycles);
    return cycles;
}

/* Cycles of a load that crosses a cache line. */
#define CROSSING_CYCLES 2.5

/* Cycles of a group of an image in a layout, but for what is the same in all of them. */
static double layout_cycles(const tn_direct_level *level, const tn_conv_geometry *g, int64_t block,
                            uint32_t layout, double crossing_cycles) {
    const double columns = (double)(g->channels * g->kernel_depth * g->kernel_width);
    if (layout == TN_DIRECT_LINE_BUFFER)
        return columns * (double)seen_rows(g) *
               block_cycles(level, g, block, tn_divide_up(g->out_width, level->lanes),
                            crossing_cycles);
    return columns * (double)g->kernel_height *
               block_cycles(level, g, block,
                            tn_divide_up(g->out_width * g->out_height, level->lanes), 1.0) +
           (double)column_copies_floats(g) * COPIED_FLOAT_CYCLES;
}

static uint32_t choose_layout(const tn_direct_level *level, const tn_conv_geometry *g,
                              int64_t block) {
    if (is_pointwise(g)) return TN_DIRECT_POINTWISE;
    if (g->out_width >= 8 * (int64_t)level->lanes ||
        column_copies_floats(g) > COLUMN_COPIES_LIMIT_FLOATS)
        return TN_DIRECT_LINE_BUFFER;
    return layout_cycles(level, g, block, TN_DIRECT_LINE_BUFFER, CROSSING_CYCLES) <=
                   layout_cycles(level, g, block, TN_DIRECT_COLUMN_COPIES, CROSSING_CYCLES)
               ? TN_DIRECT_LINE_BUFFER
               : TN_DIRECT_COLUMN_COPIES;
}

int64_t tn_direct_plan_block(const tn_direct_level *level, const tn_conv_geometry *g) {
    double best_cycles = 0;
    int64_t best = 1;
    for (int64_t block = 1; block <= level->maximum_channels && block <= g->filters; block++) {
        const double cycles =
            layout_cycles(level, g, block, choose_layout(level, g, block), CROSSING_CYCLES);
        if (block == 1 || cycles < best_cycles) {
            best = block;
            best_cycles = cycles;
        }
    }
    return best;
}

/* To lay out what layout_cycles leaves out: rows of the ring, floats one by one. */
static double copy_cycles(const tn_conv_geometry *g, uint32_t layout) {
    const double line = (double)(g->channels * g->kernel_depth * g->in_height * g->in_width);
    const bool is_strided = g->stride_width > 1;
    if (layout == TN_DIRECT_POINTWISE)
        return -(double)column_copies_floats(g) * COPIED_FLOAT_CYCLES;
    if (layout == TN_DIRECT_LINE_BUFFER)
        return line * (is_strided ? STRIDED_FLOAT_CYCLES : COPIED_FLOAT_CYCLES);
    return is_strided
               ? (double)column_copies_floats(g) * (STRIDED_FLOAT_CYCLES - COPIED_FLOAT_CYCLES)
               : 0;
}

double tn_direct_plan_work(const tn_direct_level *level, const tn_conv_geometry *g) {
    /* of three columns of a window one is aligned, and of half a cache line every other load */
    const double crossing = level->lanes > 8 ? 2 : 1.5;
    const int64_t block = tn_direct_plan_block(level, g);
    const uint32_t layout = choose_layout(level, g, block);
    const double macs =
        (double)(g->filters * tn_direct_plan_taps(g)) * (double)(g->out_height * g->out_width);
    const double cycles =
        layout_cycles(level, g, block, layout, crossing) + copy_cycles(g, layout) + GROUP_CYCLES;
    return macs > 0 ? cycles * 2 * level->lanes / macs : 1;
}

static void plan_column_copies(tn_direct_plan *plan) {
    const tn_conv_geometry *g = &plan->geometry;
    plan->positions = g->out_height * g->out_width;
    plan->row_floats = g->out_width;
    plan->phase_rows = phase_rows_of(g);
    plan->plane_floats = plan->phase_rows * g->out_width;
    plan->copy_floats = column_copies_floats(g);
}

/* Pieces of a row that a ring has room for, or that threads can take where there are few rows. */
static int64_t pieces_of(const tn_direct_plan *plan, uint32_t lanes, uint32_t threads) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t halo = (g->kernel_width - 1) * g->dilation_width / g->stride_width + 1;
    const int64_t tile = (int64_t)plan->vectors * lanes;
    const int64_t least = tile > PIECE_HALOS * halo ? tile : PIECE_HALOS * halo;
    const int64_t rows = plan->slots * g->kernel_depth * g->channels * g->stride_width;
    const int64_t whole = rows * (g->out_width + halo);
    int64_t pieces = tn_divide_up(whole, RING_LIMIT_FLOATS);
    const int64_t wanted = tn_divide_up(threads, g->out_height);
    if (pieces < wanted) pieces = wanted;
    if (pieces > g->out_width / least) pieces = g->out_width / least;
    return pieces > 1 ? pieces : 1;
}

static void plan_line_buffer(tn_direct_plan *plan, uint32_t lanes, uint32_t threads) {
    const tn_conv_geometry *g = &plan->geometry;
    plan->slots = (g->kernel_height - 1) * g->dilation_height + 1;
    plan->pieces = pieces_of(plan, lanes, threads);
    plan->positions = tn_divide_up(tn_divide_up(g->out_width, plan->pieces), lanes) * lanes;
    if (plan->pieces == 1) plan->positions = g->out_width;
    plan->pieces = tn_divide_up(g->out_width, plan->positions);
    const int64_t span =
        (plan->positions - 1) * g->stride_width + (g->kernel_width - 1) * g->dilation_width + 1;
    plan->phase_floats = tn_divide_up(span, g->stride_width) + lanes;
    plan->row_floats = plan->phase_floats * g->stride_width;
    plan->copy_floats = plan->slots * g->kernel_depth * g->channels * plan->row_floats;
    plan->table_count = plan->slots;
    plan->parts = g->out_height < threads ? g->out_height : threads;
    plan->copies = threads;
}

bool tn_direct_plan_make(const tn_direct_level *level, const tn_conv_geometry *geometry,
                         int64_t block, uint32_t threads, tn_direct_plan *out_plan) {
    const tn_conv_geometry *g = geometry;
    tn_direct_plan plan = {.geometry = *g, .table_count = 1, .copies = 1, .parts = 1, .pieces = 1};
    plan.layout = choose_layout(level, g, block);
    plan.taps = tn_direct_plan_taps(g);
    plan.block = block;
    plan.blocks = tn_divide_up(g->filters, block);
    plan.vectors = level->maximum_vectors[block - 1];
    if (plan.layout == TN_DIRECT_POINTWISE)
        plan.positions = g->in_height * g->in_width;
    else if (plan.layout == TN_DIRECT_COLUMN_COPIES)
        plan_column_copies(&plan);
    else
        plan_line_buffer(&plan, level->lanes, threads);
    /* POINTWISE copies the columns of a last part vector, so as not to read past the input's end.
     */
    if (plan.layout == TN_DIRECT_POINTWISE) {
        plan.copy_floats = g->channels * 16;
        plan.table_count = 2;
        plan.copies = threads;
    }
    plan.copy_floats = tn_divide_up(plan.copy_floats + TN_DIRECT_VECTORS * level->lanes, 16) * 16;
    int64_t reach =
        plan.layout == TN_DIRECT_POINTWISE ? g->channels * plan.positions : plan.copy_floats;
    if (reach > INT32_MAX || plan.taps > INT32_MAX / 4) return false;
    *out_plan = plan;
    return true;
}

/* Where the first channel's first column lies in a row of a plane of the kernel, and how far one is
 * from the next: a new shape waits for all of these offsets, so that nothing is divided for each
 * tap. */
typedef struct tap_row {
    int64_t first, channel;
} tap_row;

static tap_row tap_row_of(const tn_direct_plan *plan, int64_t table, int64_t row) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t down = row % g->kernel_height * g->dilation_height, stride = g->stride_height;
    const int64_t before = row / g->kernel_height * g->channels; /* of other planes */
    if (plan->layout == TN_DIRECT_COLUMN_COPIES) {
        const int64_t channel = g->kernel_width * stride * plan->plane_floats;
        return (tap_row){before * channel + down % stride * plan->plane_floats +
                             down / stride * plan->row_floats,
                         channel};
    }
    const int64_t slot = (table + down) % plan->slots * g->kernel_depth * g->channels;
    return (tap_row){(slot + before) * plan->row_floats, plan->row_floats};
}

static int64_t column_offset(const tn_direct_plan *plan, int64_t column) {
    const tn_conv_geometry *g = &plan->geometry;
    const int64_t right = column * g->dilation_width;
    if (plan->layout == TN_DIRECT_COLUMN_COPIES)
        return column * g->stride_height * plan->plane_floats;
    return right % g->stride_width * plan->phase_floats + right / g->stride_width;
}

/* Of one table of COLUMN_COPIES or LINE_BUFFER. */
static void fill_table(const tn_direct_plan *plan, int64_t table, int32_t *offsets) {
    const tn_conv_geometry *g = &plan->geometry;
    for (int64_t column = 0; column < g->kernel_width; column++) {
        const int64_t right = column_offset(plan, column);
        int32_t *offset = offsets + column;
        for (int64_t row = 0; row < g->kernel_depth * g->kernel_height; row++) {
            const tap_row taps = tap_row_of(plan, table, row);
            for (int64_t c = 0; c < g->channels; c++, offset += g->kernel_width)
                *offset = (int32_t)(taps.first + c * taps.channel + right);
        }
    }
}

void tn_direct_plan_offsets(const tn_direct_plan *plan, int32_t *offsets) {
    for (int64_t table = 0; table < plan->table_count; table++, offsets += plan->taps) {
        if (plan->layout != TN_DIRECT_POINTWISE) {
            fill_table(plan, table, offsets);
            continue;
        }
        for (int64_t c = 0; c < plan->taps; c++)
            offsets[c] = (int32_t)(table == 0 ? c * plan->positions : c * 16);
    }
}

/* Elements of a kernel, `dilation` apart, that lie in an input of so many elements; the first lies
 * at `start` for the one end of the outputs, at `last_start` for the other. */
static void seen(int64_t start, int64_t last_start, int64_t input, int64_t kernel, int64_t dilation,
                 int64_t *out_begin, int64_t *out_end) {
    int64_t begin = last_start < 0 ? tn_divide_up(-last_start, dilation) : 0;
    int64_t end = input > start ? tn_divide_up(input - start, dilation) : 0;
    if (end > kernel) end = kernel;
    if (begin > end) begin = end;
    *out_begin = begin;
    *out_end = end;
}

void tn_direct_plan_rows(const tn_conv_geometry *g, int64_t first, int64_t last, int64_t *out_begin,
                         int64_t *out_end) {
    seen(first * g->stride_height - g->pad_top, last * g->stride_height - g->pad_top, g->in_height,
         g->kernel_height, g->dilation_height, out_begin, out_end);
}

void tn_direct_plan_planes(const tn_conv_geometry *g, int64_t plane, int64_t *out_begin,
                           int64_t *out_end) {
    const int64_t start = plane * g->stride_depth - g->pad_front;
    seen(start, start, g->in_depth, g->kernel_depth, g->dilation_depth, out_begin, out_end);
}
