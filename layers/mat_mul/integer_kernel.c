/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of integer.h on the products of kit/int8/integer_product.h. A constant B is packed
 * once; one that varies is packed by each run. A unit of work is a band of rows of one product.
 */
#include "kit/operator/layer.h"
#include "kit/int8/integer_product.h"
#include "kit/operator/kernel_memory.h"
#include "mat_mul/integer.h"
#include <tenon/kit/broadcast.h>
#include <tenon/kit/levels.h>
#include <tenon/kit/open.h>
#include <tenon/kit/parallel.h>
#include "kit/math/element.h"
#include "kit/math/round_up.h"

#include <stdio.h>

typedef struct integer_state {
    const tn_integer_level *level;
    const void *blob; /* null: B varies */
} integer_state;

typedef struct integer_run {
    tn_call *call;
    tn_mat_mul_sizes sizes;
    tn_integer_product product;
    const tn_broadcast_rows *products; /* at the first row */
    int64_t bands;                     /* of a product */
    char *scratch;
    uint64_t scratch_bytes; /* of a thread: what a band needs, then two numbers a column */
} integer_run;

static uint64_t column_bytes(const integer_run *run) {
    return tn_whole_lines((uint64_t)run->product.layout.padded * sizeof(float));
}

/* The product that the shapes mean; false: there is nothing to multiply, or it is too large. */
static bool read_run(tn_call *call, const tn_integer_level *level, integer_run *run) {
    const tn_tensor *b = call->inputs[tn_integer_inputs_of(call)->b];
    if (tn_integer_mat_mul_read(call, &run->sizes) != TN_OK) return false;
    const int64_t matrices = tn_infer_product(b->shape, 0, run->sizes.b_batch_rank);
    if (!tn_integer_product_make(level, matrices, run->sizes.depth, run->sizes.columns,
                                 call->inputs[0]->type == TN_U8, &run->product))
        return false;
    run->call = call;
    run->product.b_is_unsigned = b->type == TN_U8;
    run->scratch_bytes = tn_integer_band_bytes(&run->product) + 2 * column_bytes(run);
    run->bands = (run->sizes.rows + TN_INTEGER_BAND - 1) / TN_INTEGER_BAND;
    return true;
}

/* Of a B whose extents a run alone knows there is nothing to ask, and nothing to pack. */
static bool is_open(const tn_call *call) {
    return tn_open_is(call->inputs[tn_integer_inputs_of(call)->b]);
}

static tn_status integer_accepts(tn_call *call) {
    integer_run run;
    return is_open(call) || read_run(call, call->user, &run) ? TN_OK : TN_ERROR_UNSUPPORTED;
}

/* ----------------------------------------------------------------------------------------------
 * packing */

static tn_status fill_blob(void *user, void *data, uint64_t bytes) {
    const integer_run *run = user;
    (void)bytes;
    tn_integer_product_pack(&run->product,
                            run->call->inputs[tn_integer_inputs_of(run->call)->b]->data, 0,
                            tn_integer_product_blocks(&run->product), data);
    return TN_OK;
}

static tn_status integer_prepare(tn_call *call) {
    const uint32_t b = tn_integer_inputs_of(call)->b;
    integer_run run = {0};
    char key[64];
    if (!is_open(call) && !read_run(call, call->user, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a product of integers");
    const tn_integer_level *level = call->user;
    if (call->inputs[b]->data) {
        TN_TRY(tn_integer_product_choose(call, &run.product, call->inputs[b]->data, &level));
        if (!read_run(call, level, &run)) return TN_ERROR_UNSUPPORTED;
    }
    TN_TRY(tn_kernel_state_create(call, sizeof(integer_state)));
    integer_state *state = call->state;
    state->level = level;
    if (!call->inputs[b]->data) return TN_OK;
    snprintf(key, sizeof(key), "integers, %lld matrices of %lld, by %u",
             (long long)run.product.layout.matrices, (long long)run.product.depth,
             level->dot->group);
    return tn_kernel_state_finish(call, call->host->packed(call, b, key,
                                                           tn_dot_layout_bytes(&run.product.layout),
                                                           fill_blob, &run, &state->blob));
}

/* ----------------------------------------------------------------------------------------------
 * run; the workspace is the packed B where it varies, and each thread's scratch memory */

static uint64_t packed_bytes(const tn_call *call, const integer_run *run) {
    const integer_state *state = call->state;
    return state->blob ? 0 : tn_whole_lines(tn_dot_layout_bytes(&run->product.layout));
}

static tn_status integer_reshape(tn_call *call) {
    integer_run run;
    if (!read_run(call, ((const integer_state *)call->state)->level, &run))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED,
                                "this node does not read as a product of integers");
    call->workspace_bytes = packed_bytes(call, &run) + call->threads * run.scratch_bytes;
    return TN_OK;
}

typedef struct band_at {
    int64_t a, b, y;      /* which matrices */
    int64_t first, count; /* rows */
} band_at;

/* A row of sums as it is stored. */
static void store_row(const integer_run *run, const band_at *at, int64_t row, const int32_t *sums,
                      float *factors) {
    tn_call *call = run->call;
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    const int64_t columns = run->sizes.columns, rows = run->sizes.rows;
    const int64_t to = (at->y * rows + row) * columns;
    if (inputs->a_scale == TN_NO_INPUT) {
        memcpy((int32_t *)call->outputs[0]->data + to, sums, (size_t)columns * sizeof(*sums));
        return;
    }
    const bool is_float = inputs->y_scale == TN_NO_INPUT;
    const bool varies = tn_element_count(call->inputs[inputs->a_scale]) > 1 ||
                        (!is_float && tn_element_count(call->inputs[inputs->y_scale]) > 1);
    const float a_scale = tn_integer_scale(call, inputs->a_scale, at->a, rows, row);
    const float y_scale =
        is_float ? 1.0f : tn_integer_scale(call, inputs->y_scale, at->y, rows, row);
    for (int64_t c = 0; (varies || row == at->first) && c < columns; c++)
        factors[c] = tn_integer_factor(
            a_scale, tn_integer_scale(call, inputs->b_scale, at->b, columns, c), y_scale);
    if (is_float) {
        const tn_tensor *bias = tn_infer_input(call, inputs->bias);
        run->product.level->rows->to_floats(columns, sums, factors, bias ? bias->data : NULL,
                                            (float *)call->outputs[0]->data + to);
        return;
    }
    run->product.level->rows->to_bytes(
        columns, sums, factors, tn_integer_zero(call, inputs->y_zero, at->y, rows, row),
        call->outputs[0]->type == TN_I8, (uint8_t *)call->outputs[0]->data + to);
}

static void read_zeros(const integer_run *run, int64_t matrix, int32_t *zeros) {
    const uint32_t b_zero = tn_integer_inputs_of(run->call)->b_zero;
    const tn_tensor *tensor = tn_infer_input(run->call, b_zero);
    const bool is_one = !tensor || tn_element_count(tensor) == 1;
    const int64_t columns = run->sizes.columns;
    zeros[0] = tn_integer_zero(run->call, b_zero, matrix, columns, 0);
    for (int64_t c = 1; c < columns; c++)
        zeros[c] = is_one ? zeros[0] : tn_integer_zero(run->call, b_zero, matrix, columns, c);
}

static void do_band(const integer_run *run, const band_at *at, char *scratch) {
    tn_call *call = run->call;
    const tn_integer_inputs *inputs = tn_integer_inputs_of(call);
    const int64_t rows = run->sizes.rows, depth = run->sizes.depth;
    char *own = scratch + tn_integer_band_bytes(&run->product);
    int32_t *zeros = (int32_t *)(void *)own;
    float *factors = (float *)(void *)(own + column_bytes(run));
    read_zeros(run, at->b, zeros);
    tn_integer_band band = {.matrix = at->b,
                            .rows = at->count,
                            .a = (const uint8_t *)call->inputs[0]->data +
                                 (at->a * rows + at->first) * depth,
                            .a_stride = depth,
                            .b_zero = zeros};
    for (int64_t r = 0; r < at->count; r++)
        band.a_zero[r] = tn_integer_zero(call, inputs->a_zero, at->a, rows, at->first + r);
    tn_integer_band_run(&run->product, &band, scratch);
    for (int64_t r = 0; r < at->count; r++)
        store_row(run, at, at->first + r, band.sums + r * band.stride, factors);
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const integer_run *run = user;
    tn_broadcast_rows products = *run->products;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t product = unit / run->bands, item = product % products.count;
        tn_broadcast_seek(&products, product / products.count);
        const int64_t first = unit % run->bands * TN_INTEGER_BAND;
        const int64_t left = run->sizes.rows - first;
        const band_at at = {products.offset[0] + item * products.stride[0],
                            products.offset[1] + item * products.stride[1],
                            products.output_offset + item, first,
                            left < TN_INTEGER_BAND ? left : TN_INTEGER_BAND};
        do_band(run, &at, run->scratch + thread * run->scratch_bytes);
    }
    return TN_OK;
}

/* An item is a block of columns. */
static tn_status pack_items(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const integer_run *run = user;
    tn_call *call = run->call;
    (void)thread;
    tn_integer_product_pack(&run->product, call->inputs[tn_integer_inputs_of(call)->b]->data, begin,
                            end, call->workspace);
    return TN_OK;
}

static tn_status pack_varying(integer_run *run) {
    enum { GRAIN = 32768 /* elements */ };
    tn_call *call = run->call;
    const tn_dot_level *dot = run->product.level->dot;
    const int64_t each = run->sizes.depth * dot->lanes * dot->vectors;
    run->product.blob = call->workspace;
    return call->host->parallel_for(call, tn_integer_product_blocks(&run->product),
                                    tn_parallel_grain(GRAIN, each), pack_items, run);
}

static tn_status integer_run_products(tn_call *call) {
    enum { GRAIN = 800000 }; /* multiplications */
    const integer_state *state = call->state;
    const tn_tensor *b = call->inputs[tn_integer_inputs_of(call)->b];
    tn_broadcast_rows products;
    integer_run run;
    if (!read_run(call, state->level, &run))
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "this node does not read as a product of integers");
    const tn_mat_mul_sizes *sizes = &run.sizes;
    tn_broadcast_init(&products, sizes->batch_rank, sizes->batch);
    tn_broadcast_add(&products, sizes->a_batch_rank, call->inputs[0]->shape);
    tn_broadcast_add(&products, sizes->b_batch_rank, b->shape);
    if (tn_element_count(call->outputs[0]) == 0 || !tn_broadcast_begin(&products)) return TN_OK;
    run.products = &products;
    run.scratch = (char *)call->workspace + packed_bytes(call, &run);
    run.product.blob = state->blob;
    if (!state->blob) TN_TRY(pack_varying(&run));
    const int64_t count = tn_infer_product(sizes->batch, 0, sizes->batch_rank);
    const int64_t each = TN_INTEGER_BAND * sizes->depth * sizes->columns;
    return call->host->parallel_for(call, count * run.bands, GRAIN / (each + 1) + 1, do_units,
                                    &run);
}

#define INTEGER_KERNELS(of_domain, prefix, operator_name)                                          \
    TN_LEVEL_KERNELS_OF(, tn_##prefix, TN_LEVELS_VNNI(tn_integer), of_domain, 5, operator_name,    \
                        "integer", "Products of bytes with exact sums, B packed.",                 \
                        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                   \
                        .accepts = integer_accepts, .prepare = integer_prepare,                    \
                        .release = tn_kernel_state_destroy, .reshape = integer_reshape,            \
                        .run = integer_run_products)
INTEGER_KERNELS("", mat_mul_integer, "MatMulInteger");
INTEGER_KERNELS("", q_linear_mat_mul, "QLinearMatMul");
INTEGER_KERNELS("com.microsoft", mat_mul_to_float, "MatMulIntegerToFloat");
