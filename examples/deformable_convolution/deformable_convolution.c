/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmcv::MMCVModulatedDeformConv2d: convolution whose taps are moved by offsets and scaled by a mask
 * (X. Zhu et al., "Deformable ConvNets v2", 2019; without a mask, version 1), as MMCV has it. The
 * kernel gathers what the taps read for a block of output pixels, then multiplies.
 */
#include <math.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(deform, tn_i64s stride, padding, dilation; int64_t groups, deform_groups;);
enum { INPUT, OFFSET, MASK, WEIGHT, BIAS, BLOCK = 16, ROWS = 4 };
static const tn_field fields[] = {
    TN_LAYER_I64S(deform, stride, "[1, 1]", 2, 1, 65535, "step of the window: down, right"),
    TN_LAYER_I64S(deform, padding, "[0, 0]", 2, 0, 65535, "zeros on both sides: rows, columns"),
    TN_LAYER_I64S(deform, dilation, "[1, 1]", 2, 1, 65535, "step between taps: down, right"),
    TN_LAYER_I64(deform, groups, "1", 1, 65535, "parts that are convolved each for itself"),
    TN_LAYER_I64(deform, deform_groups, "1", 1, 65535, "parts with offsets of their own")};
static const tn_port inputs[] = {
    TN_PORT("input", "f32", 0, "N, C, H, W"),
    TN_PORT("offset", "f32", 0, "N, deform_groups * taps * 2 (down, right), height, width"),
    TN_PORT("mask", "f32", TN_PORT_OPTIONAL, "N, deform_groups * taps, height, width; or ones"),
    TN_PORT("weight", "f32", 0, "outputs, C / groups, height and width of the window"),
    TN_PORT("bias", "f32", TN_PORT_OPTIONAL, "outputs; or zeros")};
static const tn_port outputs[] = {TN_PORT("output", "f32", 0, "N, outputs, height, width")};

static tn_status infer(tn_call *call) {
    const deform *p = call->params;
    const int64_t *in = call->inputs[INPUT]->shape, *w = call->inputs[WEIGHT]->shape;
    if (!TN_LAYER_FITS(call, INPUT, -1, -1, -1, -1) ||
        !TN_LAYER_FITS(call, WEIGHT, -1, in[1] / p->groups, -1, -1))
        return TN_ERROR_SHAPE;
    int64_t out[4] = {in[0], w[0]}, maps = p->deform_groups * w[2] * w[3];
    for (int i = 0; i < 2; i++) {
        const double range = (double)(in[2 + i] + 2 * p->padding.items[i] - 1) -
                             (double)p->dilation.items[i] * (double)(w[2 + i] - 1);
        if (in[2 + i] < 1 || w[2 + i] < 1 || range < 0 || in[1] % p->groups || w[0] % p->groups ||
            in[1] % p->deform_groups || w[2 + i] > 4096 || in[1] > 1 << 24)
            return call->host->fail(call, TN_ERROR_SHAPE, "window or groups do not fit the input");
        out[2 + i] = (int64_t)(range / (double)p->stride.items[i]) + 1;
    }
    if (!TN_LAYER_FITS(call, OFFSET, in[0], 2 * maps, out[2], out[3]) ||
        !TN_LAYER_FITS(call, MASK, in[0], maps, out[2], out[3]) || !TN_LAYER_FITS(call, BIAS, w[0]))
        return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, 4, out);
}

/* A call's numbers. `maps` taps have offsets of their own, `depth` products make an output. */
typedef struct job {
    const deform *p;
    const float *data[BIAS + 1]; /* of the inputs */
    const int64_t *in, *w, *out; /* shapes */
    int64_t taps, maps, pixels, blocks, depth, group, part, scratch;
} job;
static job read_job(const tn_call *call) {
    job j = {.p = call->params, .out = call->outputs[0]->shape};
    for (uint32_t i = 0; i <= BIAS; i++)
        j.data[i] = tn_layer_data(call, i);
    j.in = call->inputs[INPUT]->shape, j.w = call->inputs[WEIGHT]->shape;
    j.taps = j.w[2] * j.w[3], j.depth = j.w[1] * j.taps, j.maps = j.p->deform_groups * j.taps;
    j.pixels = j.out[2] * j.out[3], j.blocks = (j.pixels + BLOCK - 1) / BLOCK;
    j.group = j.out[1] / j.p->groups, j.part = j.in[1] / j.p->deform_groups;
    j.scratch = j.in[1] * (1 + j.taps * BLOCK);
    return j;
}

/* The cells around the spot that a tap reads for a pixel of image n, and how much they count. */
static void find_cells(const job *j, int64_t n, int64_t at, int64_t map, int64_t *cell, double *w) {
    const int64_t *by = j->p->stride.items, *gap = j->p->dilation.items, *pad = j->p->padding.items;
    const int64_t tap = map % j->taps, next = j->pixels, m = (n * j->maps + map) * next + at;
    const float *off = j->data[OFFSET] + 2 * m - at, *mask = j->data[MASK];
    const double y = (double)(at / j->out[3] * by[0] - pad[0] + tap / j->w[3] * gap[0]) + off[0];
    const double x = (double)(at % j->out[3] * by[1] - pad[1] + tap % j->w[3] * gap[1]) + off[next];
    const double height = (double)j->in[2], width = (double)j->in[3], scale = mask ? mask[m] : 1;
    for (int k = 0; k < 4; k++) {
        const double row = floor(y) + k / 2, column = floor(x) + k % 2;
        const bool is_inside = row >= 0 && row < height && column >= 0 && column < width;
        cell[k] = is_inside ? (int64_t)row * j->in[3] + (int64_t)column : 0;
        w[k] = is_inside ? (1 - fabs(y - row)) * (1 - fabs(x - column)) * scale : 0;
    }
}

static double element(const tn_call *call, int64_t i) {
    const job j = read_job(call);
    const int64_t o = i / j.pixels % j.out[1], image = i / j.pixels / j.out[1];
    double weight[4], sum = j.data[BIAS] ? j.data[BIAS][o] : 0;
    for (int64_t k = 0, cell[4]; k < j.depth; k++) {
        const int64_t c = o / j.group * j.w[1] + k / j.taps, map = c / j.part * j.taps + k % j.taps;
        const float *plane = j.data[INPUT] + (image * j.in[1] + c) * j.in[2] * j.in[3];
        find_cells(&j, image, i % j.pixels, map, cell, weight);
        for (int q = 0; q < 4; q++)
            if (weight[q] != 0) sum += weight[q] * plane[cell[q]] * j.data[WEIGHT][o * j.depth + k];
    }
    return sum;
}
TN_LAYER_REFERENCE(element)

/* What the taps read for a pixel, in the order of the weights; the input's channels lie last. */
static void read_taps(const job *j, int64_t image, int64_t at, const float *zeros, float *columns) {
    for (int64_t map = 0, cell[4]; map < j->maps; map++) {
        const int64_t first = map / j->taps * j->part, plane = j->in[2] * j->in[3];
        float *to = columns + (first * j->taps + map % j->taps) * BLOCK;
        const float *input = j->data[INPUT] + image * plane * j->in[1] + first, *from[4];
        double w[4];
        find_cells(j, image, at, map, cell, w);
        for (int k = 0; k < 4; k++) /* what does not count may be infinite: it is not read */
            from[k] = w[k] != 0 ? input + cell[k] * j->in[1] : zeros;
        for (int64_t c = 0; c < j->part; c++)
            to[c * j->taps * BLOCK] = (float)w[0] * from[0][c] + (float)w[1] * from[1][c] +
                                      (float)w[2] * from[2][c] + (float)w[3] * from[3][c];
    }
}

/* Items are blocks of pixels of an image. ROWS outputs at once: their sums stay in registers. */
static tn_status convolve(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const job j = read_job(call);
    float *zeros = (float *)call->workspace + thread * j.scratch, *columns = zeros + j.in[1];
    for (int64_t c = 0; c < j.in[1]; c++)
        zeros[c] = 0;
    for (int64_t item = begin, rows; item < end; item++) {
        const int64_t image = item / j.blocks, first = item % j.blocks * BLOCK;
        for (int64_t i = 0; i < BLOCK && first + i < j.pixels; i++)
            read_taps(&j, image, first + i, zeros, columns + i);
        for (int64_t o = 0; o < j.out[1]; o += rows) {
            rows = o % j.group + ROWS <= j.group ? ROWS : 1;
            const int64_t step = rows == ROWS ? j.depth : 0, to = image * j.out[1] + o;
            const float *part = columns + o / j.group * j.depth * BLOCK, *bias = j.data[BIAS];
            const float *weight = j.data[WEIGHT] + o * j.depth;
            float sum[ROWS][BLOCK] = {{0}}, *out = call->outputs[0]->data;
            for (int64_t k = 0; k < j.depth; k++)
                for (int i = 0; i < BLOCK; i++)
                    for (int r = 0; r < ROWS; r++)
                        sum[r][i] += weight[r * step + k] * part[k * BLOCK + i];
            for (int64_t r = 0; r < rows; r++)
                for (int64_t i = 0; i < BLOCK && first + i < j.pixels; i++)
                    out[(to + r) * j.pixels + first + i] = sum[r][i] + (bias ? bias[o + r] : 0);
        }
    }
    return TN_OK;
}
TN_LAYER_WORKSPACE((uint64_t)read_job(call).scratch * sizeof(float) * call->threads)
TN_LAYER_RUN(convolve, call->outputs[0]->shape[0] * read_job(call).blocks, 1)
static const char *const cases[] = {
    "stride=[2,1] dilation=[1,2] | input=f32[2,3,7,7] offset=f32[2,18,3,3] weight=f32[4,3,3,3]",
    "groups=2 deform_groups=2 | input=f32[2,4,3,2] offset=f32[2,8,2,2] weight=f32[6,2,2,1]",
    "padding=[1,0] | input=f32[1,1,1,1] offset=f32[1,2,3,1]{nan,0,9,0,inf,1} weight=f32[1,1,1,1]",
    "| input=f32[1,8,9,9] offset=f32[1,18,7,7] mask=f32[1,9,7,7] weight=f32[4,8,3,3] bias=f32[4]"};
TN_LAYER_LIBRARY("deformable_convolution", "mmcv", "MMCVModulatedDeformConv2d",
                 "Convolution with moved taps.", deform, "f32:nhwc, f32, f32?, f32, f32? -> f32",
                 .reshape = reshape, .run = run)
