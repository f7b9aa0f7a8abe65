/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmcv::MMCVModulatedDeformConv2d: convolution whose taps are moved by offsets and scaled by a mask
 * (X. Zhu et al., "Deformable ConvNets v2", 2019), with MMCV's inputs and fields; without a mask it
 * is version 1. The kernel gathers what the taps read for a block of places, then multiplies.
 */
#include <math.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(deform, tn_i64s stride, padding, dilation; int64_t groups, deform_groups;);
enum { INPUT, OFFSET, MASK, WEIGHT, BIAS, BLOCK = 32 };

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
        const double room = (double)(in[2 + i] + 2 * p->padding.items[i] - 1) -
                            (double)p->dilation.items[i] * (double)(w[2 + i] - 1);
        if (in[2 + i] < 1 || w[2 + i] < 1 || room < 0 || in[1] % p->groups || w[0] % p->groups ||
            in[1] % p->deform_groups || w[2 + i] > 4096 || in[1] > 1 << 24)
            return call->host->fail(call, TN_ERROR_SHAPE, "window or groups do not fit the input");
        out[2 + i] = (int64_t)(room / (double)p->stride.items[i]) + 1;
    }
    if (!TN_LAYER_FITS(call, OFFSET, in[0], 2 * maps, out[2], out[3]) ||
        !TN_LAYER_FITS(call, MASK, in[0], maps, out[2], out[3]) || !TN_LAYER_FITS(call, BIAS, w[0]))
        return TN_ERROR_SHAPE;
    return tn_layer_set_shape(call, 0, 4, out);
}

/* A call's numbers; places go on over the images, `depth` products make an output. */
typedef struct job {
    const deform *p;
    const float *data[BIAS + 1]; /* of the inputs */
    const int64_t *in, *w, *out; /* shapes */
    int64_t taps, places, depth, column;
    float *output, *columns;
} job;
static job read_job(const tn_call *call) {
    job j = {.p = call->params, .output = call->outputs[0]->data, .columns = call->workspace};
    for (uint32_t i = 0; i <= BIAS; i++)
        j.data[i] = tn_layer_data(call, i);
    j.in = call->inputs[INPUT]->shape, j.w = call->inputs[WEIGHT]->shape;
    j.out = call->outputs[0]->shape, j.places = j.out[2] * j.out[3];
    j.taps = j.w[2] * j.w[3], j.depth = j.w[1] * j.taps, j.column = j.in[1] * j.taps;
    return j;
}

/* What each tap of each channel reads for a place: element c * taps + tap of a column. */
static void read_taps(const job *j, int64_t place, float *column, int64_t step) {
    const int64_t *by = j->p->stride.items, *gap = j->p->dilation.items, *pad = j->p->padding.items;
    const int64_t image = place / j->places, at = place % j->places, *in = j->in;
    const int64_t maps = j->p->deform_groups * j->taps, deep = in[1] / j->p->deform_groups;
    const int64_t down = at / j->out[3] * by[0] - pad[0], right = at % j->out[3] * by[1] - pad[1];
    const float *input = j->data[INPUT] + image * in[1] * in[2] * in[3], *mask = j->data[MASK];
    for (int64_t map = 0; map < maps; map++) {
        const int64_t tap = map % j->taps, m = (image * maps + map) * j->places + at;
        const float *offset = j->data[OFFSET] + 2 * m - at;
        const double y = (double)(down + tap / j->w[3] * gap[0]) + (double)offset[0];
        const double x = (double)(right + tap % j->w[3] * gap[1]) + (double)offset[j->places];
        double weight[4] = {0}, scale = mask ? (double)mask[m] : 1;
        int64_t from[4] = {0};
        for (int k = 0; k < 4; k++) {
            const double row = floor(y) + k / 2, cell = floor(x) + k % 2;
            if (!(fmin(row, cell) >= 0 && row < (double)in[2] && cell < (double)in[3])) continue;
            from[k] = (int64_t)row * in[3] + (int64_t)cell;
            weight[k] = (1 - fabs(y - row)) * (1 - fabs(x - cell)) * scale;
        }
        for (int64_t c = map / j->taps * deep, end = c + deep; c < end; c++) {
            double sum = 0;
            for (int k = 0; k < 4; k++)
                if (weight[k] != 0) sum += weight[k] * (double)input[c * in[2] * in[3] + from[k]];
            column[(c * j->taps + tap) * step] = (float)sum;
        }
    }
}

static tn_status reference(tn_call *call) {
    const job j = read_job(call);
    float *column = call->host->allocate(call->host, (uint64_t)j.column * sizeof(float), 64);
    if (!column) return call->host->fail(call, TN_ERROR_MEMORY, "no memory for a column");
    for (int64_t place = 0; place < j.out[0] * j.places; place++) {
        read_taps(&j, place, column, 1);
        for (int64_t o = 0; o < j.out[1]; o++) {
            const float *part = column + o / (j.out[1] / j.p->groups) * j.depth;
            double sum = j.data[BIAS] ? (double)j.data[BIAS][o] : 0;
            for (int64_t k = 0; k < j.depth; k++)
                sum += (double)j.data[WEIGHT][o * j.depth + k] * (double)part[k];
            j.output[(place / j.places * j.out[1] + o) * j.places + place % j.places] = (float)sum;
        }
    }
    call->host->deallocate(call->host, column);
    return TN_OK;
}

/* Items are places; BLOCK of them are multiplied at once. */
static tn_status convolve(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const job *j = user;
    float *columns = j->columns + thread * j->column * BLOCK;
    for (int64_t first = begin; first < end; first += BLOCK) {
        for (int64_t i = 0; i < BLOCK && first + i < end; i++)
            read_taps(j, first + i, columns + i, BLOCK);
        for (int64_t o = 0; o < j->out[1]; o++) {
            const float *part = columns + o / (j->out[1] / j->p->groups) * j->depth * BLOCK;
            float sum[BLOCK] = {0}, bias = j->data[BIAS] ? j->data[BIAS][o] : 0;
            for (int64_t k = 0; k < j->depth; k++)
                for (int i = 0; i < BLOCK; i++)
                    sum[i] += j->data[WEIGHT][o * j->depth + k] * part[k * BLOCK + i];
            for (int64_t i = 0, at = first, n = j->places; i < BLOCK && at < end; i++, at++)
                j->output[(at / n * j->out[1] + o) * n + at % n] = sum[i] + bias;
        }
    }
    return TN_OK;
}
static tn_status reshape(tn_call *call) {
    call->workspace_bytes = (uint64_t)read_job(call).column * BLOCK * sizeof(float) * call->threads;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    job j = read_job(call);
    return call->host->parallel_for(call, j.out[0] * j.places, BLOCK, convolve, &j);
}
static const char *const cases[] = {
    "stride=[2,1] dilation=[1,2] | input=f32[2,3,7,7] offset=f32[2,18,3,3] weight=f32[4,3,3,3]",
    "groups=2 deform_groups=2 | input=f32[2,4,3,2] offset=f32[2,8,2,2] weight=f32[6,2,2,1]",
    "padding=[1,0] | input=f32[1,1,1,1] offset=f32[1,2,3,1]{nan,0,9,0,inf,1} weight=f32[1,1,1,1]",
    "| input=f32[1,8,9,9] offset=f32[1,18,7,7] mask=f32[1,9,7,7] weight=f32[4,8,3,3] bias=f32[4]"};
TN_LAYER_LIBRARY("deformable_convolution", "mmcv", "MMCVModulatedDeformConv2d",
                 "Convolution with moved taps.", deform, "f32, f32, f32?, f32, f32? -> f32",
                 .reshape = reshape, .run = run)
