/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gemm with a B that varies, a transposed A, or a C that differs from row to row, on the inner loop
 * of tenon/kit/matrix.h: a unit of work is a block of columns by a part of the rows, whose part of
 * B is packed into the thread's scratch memory. A transposed A is copied first, and C, times beta,
 * is where the sums are added to. Few rows are multiplied by B as it is (kit/gemm/thin.h). A
 * constant B is better packed once: kernels.c.
 */
#include "gemm/gemm.h"
#include "kit/gemm/matrix_block.h"
#include "kit/gemm/thin.h"
#include "kit/operator/epilogue_bias.h"
#include "kit/operator/layer.h"
#include "kit/region/tiles.h"
#include <tenon/kit/activation.h>
#include <tenon/kit/levels.h>
#include <tenon/kit/parallel.h>

enum { GRAIN = 400000, /* multiplications */ LEAST_ROWS = 64 /* for which B is packed */ };

typedef struct varying_run {
    const tn_matrix_level *level;
    const tn_thin_level *thin; /* null: B is packed */
    const tn_gemm_params *params;
    tn_gemm_sizes sizes;
    tn_float_epilogue epilogue;
    tn_matrix_product product; /* whose parts all have in common */
    const float *b, *c;        /* c: where it is no bias */
    float *scratch;
    int64_t width, blocks, parts, panel_floats;
} varying_run;

static const tn_tensor *c_of(const tn_call *call) {
    return call->input_count > TN_GEMM_C ? call->inputs[TN_GEMM_C] : NULL;
}

/* Whether C is one number a column, or one in all, as far as its shape is known. */
static bool is_bias(const tn_tensor *c) {
    return !c || c->rank < 2 || c->shape[0] == 1;
}

/* Nothing here looks at extents: those of a run may not be known. */
static tn_status varying_accepts(tn_call *call) {
    const tn_gemm_params *params = call->params;
    const tn_tensor *a = call->inputs[TN_GEMM_A], *b = call->inputs[TN_GEMM_B], *c = c_of(call);
    tn_float_epilogue epilogue;
    if (a->rank != 2 || b->rank != 2 || (c && c->rank > 2) || a->shape[params->transA ? 0 : 1] == 0)
        return TN_ERROR_UNSUPPORTED;
    if (b->data && !params->transA && is_bias(c)) return TN_ERROR_UNSUPPORTED;
    /* One tensor is added to the sums. */
    if (!tn_float_epilogue_read(call, -1, &epilogue) ||
        (!is_bias(c) && epilogue.residual != UINT32_MAX))
        return TN_ERROR_UNSUPPORTED;
    return TN_OK;
}

static tn_status read_run(tn_call *call, varying_run *run) {
    run->level = call->user;
    run->params = call->params;
    TN_TRY(tn_gemm_read(call, &run->sizes));
    if (run->sizes.depth == 0 || !tn_float_epilogue_read(call, -1, &run->epilogue))
        return call->host->fail(call, TN_ERROR_UNSUPPORTED, "a product of no columns by no rows");
    run->width = (int64_t)run->level->lanes * run->level->vectors;
    run->thin = NULL;
    if (run->sizes.rows <= TN_THIN_ROWS && run->params->alpha == 1) {
        run->thin = tn_thin_of(run->level);
        run->width = tn_thin_unit(run->sizes.columns, call->threads);
    }
    run->blocks = (run->sizes.columns + run->width - 1) / run->width;
    run->panel_floats = run->thin ? 0 : run->sizes.depth * run->width;
    /* Few blocks: each thread has a part of the rows, and packs B for them. */
    const int64_t most = (run->sizes.rows + LEAST_ROWS - 1) / LEAST_ROWS;
    run->parts = run->blocks > 0 ? (int64_t)call->threads / run->blocks : 1;
    if (run->parts > most) run->parts = most;
    if (run->parts < 1) run->parts = 1;
    return TN_OK;
}

static tn_status varying_reshape(tn_call *call) {
    varying_run run;
    TN_TRY(read_run(call, &run));
    const int64_t copied = run.params->transA ? run.sizes.rows * run.sizes.depth : 0;
    call->workspace_bytes =
        (uint64_t)(run.blocks * run.width + copied + run.panel_floats * (int64_t)call->threads) *
        sizeof(float);
    return TN_OK;
}

typedef struct transposition {
    const float *from;
    float *to;
    int64_t rows, columns; /* of what is written */
} transposition;

static tn_status do_transpose(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const transposition *job = user;
    const tn_transpose_level *level = TN_KIT_BEST(tn_transpose);
    (void)thread;
    level->bytes_4(end - begin, job->columns, job->from + begin, job->rows,
                   job->to + begin * job->columns, job->columns);
    return TN_OK;
}

/* A', from A as it is stored. */
static tn_status transpose_a(tn_call *call, const tn_gemm_sizes *sizes, float *to) {
    enum { ELEMENTS = 16384 };
    transposition job = {call->inputs[TN_GEMM_A]->data, to, sizes->rows, sizes->depth};
    return call->host->parallel_for(call, job.rows, tn_parallel_grain(ELEMENTS, job.columns),
                                    do_transpose, &job);
}

/* Rows begin..end-1 of the output become beta * C. */
static void begin_rows(const varying_run *run, int64_t begin, int64_t end, int64_t first,
                       int64_t last) {
    const tn_gemm_sizes *sizes = &run->sizes;
    const float beta = run->params->beta;
    for (int64_t row = begin; row < end; row++) {
        const float *c = run->c + row * sizes->c_row_stride;
        float *to = run->product.output + row * sizes->columns;
        if (sizes->c_column_stride == 1)
            for (int64_t i = first; i < last; i++)
                to[i] = beta * c[i];
        else
            for (int64_t i = first; i < last; i++)
                to[i] = beta * *c;
    }
}

/* Columns first..last-1 of all rows, which are few. Those of a B that is stored transposed are
 * rows, to which a row of A is the column. */
static void do_thin(const varying_run *run, int64_t first, int64_t last) {
    const tn_matrix_product *all = &run->product;
    if (!run->params->transB) {
        run->thin->columns(all, run->b, first, last);
        return;
    }
    enum { BLOCK = 16 }; /* rows of B that stay in the first cache for all rows of A */
    static const float none = 0;
    tn_matrix_product product = *all;
    product.a = run->b;
    product.rows = all->columns;
    product.columns = 1;
    product.bias = &none;
    for (int64_t from = first; from < last; from += BLOCK) {
        const int64_t to = last - from < BLOCK ? last : from + BLOCK;
        for (int64_t row = 0; row < all->rows; row++) {
            const float *residual = all->residual ? all->residual + row * all->columns : NULL;
            float *output = all->output + row * all->columns;
            for (int64_t i = from; i < to; i++)
                output[i] = all->bias[i] + (residual ? residual[i] : 0);
            product.output = output;
            product.residual = output;
            run->thin->rows(&product, all->a + row * all->depth, from, to);
        }
    }
}

static tn_status do_units(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const varying_run *run = user;
    const tn_gemm_sizes *sizes = &run->sizes;
    float *panel = run->scratch + run->panel_floats * (int64_t)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t first = unit / run->parts * run->width, part = unit % run->parts;
        const int64_t from = tn_parallel_first(sizes->rows, run->parts, part),
                      to = tn_parallel_first(sizes->rows, run->parts, part + 1),
                      left = sizes->columns - first,
                      columns = left < run->width ? left : run->width;
        if (run->c) begin_rows(run, from, to, first, first + columns);
        if (run->thin) {
            do_thin(run, first, first + columns);
            continue;
        }
        tn_matrix_pack(run->level, sizes->depth, columns, run->b + first * sizes->b_column_stride,
                       sizes->b_row_stride, sizes->b_column_stride, run->params->alpha, panel);
        tn_matrix_block_run(&run->product, panel, NULL, first, from, to);
    }
    return TN_OK;
}

/* C where it is no bias, or what the chain adds, is the residual. */
static void set_product(const tn_call *call, varying_run *run, const float *bias) {
    const tn_float_epilogue *epilogue = &run->epilogue;
    float *output = call->outputs[0]->data;
    const float *residual = run->c ? output : NULL;
    if (epilogue->residual != UINT32_MAX) residual = call->operands[epilogue->residual]->data;
    run->product = (tn_matrix_product){.level = run->level,
                                       .a = call->inputs[TN_GEMM_A]->data,
                                       .bias = bias,
                                       .residual = residual,
                                       .output = output,
                                       .rows = run->sizes.rows,
                                       .depth = run->sizes.depth,
                                       .columns = run->sizes.columns,
                                       .activation = epilogue->activation,
                                       .alpha = epilogue->alpha,
                                       .beta = epilogue->beta};
}

static tn_status varying_run_product(tn_call *call) {
    varying_run run = {0};
    TN_TRY(read_run(call, &run));
    const tn_gemm_sizes *sizes = &run.sizes;
    const tn_tensor *c = c_of(call);
    float *workspace = call->workspace;
    if (call->outputs[0]->bytes == 0) return TN_OK;
    run.b = call->inputs[TN_GEMM_B]->data;
    const float *own = c && sizes->c_row_stride == 0 ? c->data : NULL;
    run.c = c && !own ? c->data : NULL;
    tn_epilogue_gather_bias(call, &run.epilogue, own, sizes->c_column_stride, run.params->beta, 0,
                            sizes->columns, workspace);
    set_product(call, &run, workspace);
    workspace += run.blocks * run.width;
    if (run.params->transA) {
        TN_TRY(transpose_a(call, sizes, workspace));
        run.product.a = workspace;
        workspace += sizes->rows * sizes->depth;
    }
    run.scratch = workspace;
    const int64_t each =
        run.thin ? run.width * sizes->depth : run.panel_floats * (sizes->rows / run.parts + 8);
    const int64_t least = run.thin ? TN_THIN_GRAIN : GRAIN;
    return call->host->parallel_for(call, run.blocks * run.parts, least / (each + 1) + 1, do_units,
                                    &run);
}

static const char *const combinations[] = {"f32, f32, f32? -> f32"};

TN_LEVEL_KERNELS_OF(, tn_gemm_varying, TN_LEVELS(tn_matrix), "", 1, "Gemm", "varying",
                    "A B that varies, packed block by block; a transposed A, any C.",
                    .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,
                    .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),
                    TN_COMBINATIONS(combinations), .accepts = varying_accepts,
                    .reshape = varying_reshape, .run = varying_run_product);
