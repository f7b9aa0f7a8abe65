/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmcv::grid_sampler: samples of images at the positions of a grid, with the fields that MMCV
 * exports and the meaning of PyTorch's grid_sample (positions in -1..1, x first). A plugin library
 * of its own: it includes Tenon's headers for authors and links nothing of Tenon. Reference and
 * kernel share what a sample is made of; the kernel uses it for all channels of a position.
 */
#include <math.h>
#include <tenon/layer.h>

TN_LAYER_PARAMS(sampler, int64_t interpolation_mode, padding_mode, align_corners;);
enum { ZEROS = 0, BORDER = 1, REFLECTION = 2 }; /* of padding_mode */

static const tn_field fields[] = {
    TN_LAYER_I64(sampler, interpolation_mode, "0", 0, 2, "0: bilinear, 1: nearest, 2: bicubic"),
    TN_LAYER_I64(sampler, padding_mode, "0", 0, 2,
                 "outside the image: 0: zeros, 1: the border, 2: reflection"),
    TN_LAYER_I64(sampler, align_corners, "0", 0, 1,
                 "1: -1 and 1 are the middles of the outer elements; 0: their outer edges")};
static const tn_port inputs[] = {TN_PORT("input", "T:f32|f64", 0, "N, C, H, W"),
                                 TN_PORT("grid", "T", 0, "N, height, width, 2: x and y")};
static const tn_port outputs[] = {TN_PORT("output", "T", 0, "N, C, height, width")};

static tn_status infer(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape, *grid = call->inputs[1]->shape;
    if (!TN_LAYER_FITS(call, 0, -1, -1, TN_LAYER_SOME, TN_LAYER_SOME) ||
        !TN_LAYER_FITS(call, 1, in[0], -1, -1, 2))
        return TN_ERROR_SHAPE;
    return TN_LAYER_SET_SHAPE(call, 0, in[0], in[1], grid[1], grid[2]);
}

/* Clamps a position, in elements along an axis, into the image, as padding_mode says. */
static double pad(const sampler *params, double at, double size) {
    if (params->padding_mode == ZEROS) return at;
    if (params->padding_mode == REFLECTION) {
        const double low = params->align_corners ? 0 : -0.5;
        const double span = params->align_corners ? size - 1 : size;
        const double phase = span > 0 ? fmod(fabs(at - low), 2 * span) : 0;
        at = low + (phase > span ? 2 * span - phase : phase);
    }
    return fmin(fmax(at, 0), size - 1); /* not a number: 0 */
}

/* Cubic convolution (R. Keys, 1981) with coefficient -0.75, as PyTorch has it. */
static double cubic(double d) {
    return d <= 1 ? (1.25 * d - 2.25) * d * d + 1 : ((-0.75 * d + 3.75) * d - 6) * d + 3;
}

/* Elements that a sample is made of, by their offsets; those outside the image are left out. */
typedef struct taps {
    int count;
    int64_t offset[16];
    double weight[16];
} taps;

/* Along one axis of `extent` elements. */
static taps find_taps(const sampler *params, double position, int64_t extent) {
    const double size = (double)extent;
    const int count = (const int[]){2, 1, 4}[params->interpolation_mode];
    double at =
        params->align_corners ? (position + 1) / 2 * (size - 1) : ((position + 1) * size - 1) / 2;
    if (count < 4) at = pad(params, at, size);
    const double first = count == 1 ? nearbyint(at) : floor(at) - (count == 4);
    taps found = {.count = 0};
    for (int k = 0; k < count; k++) {
        const double distance = fabs(at - first - k);
        const double tap = count < 4 ? first + k : pad(params, first + k, size);
        if (!(tap >= 0 && tap < size)) continue;
        found.offset[found.count] = (int64_t)tap;
        found.weight[found.count++] = count == 1 ? 1 : count == 2 ? 1 - distance : cubic(distance);
    }
    return found;
}

/* In a plane, for position `i` of the grid. */
static taps find_sample(const tn_call *call, int64_t i) {
    const int64_t *in = call->inputs[0]->shape;
    const taps x = find_taps(call->params, tn_layer_load(call->inputs[1], 2 * i), in[3]);
    const taps y = find_taps(call->params, tn_layer_load(call->inputs[1], 2 * i + 1), in[2]);
    taps both = {.count = x.count * y.count};
    for (int k = 0; k < both.count; k++) {
        both.offset[k] = y.offset[k / x.count] * in[3] + x.offset[k % x.count];
        both.weight[k] = y.weight[k / x.count] * x.weight[k % x.count];
    }
    return both;
}

static tn_status reference(tn_call *call) {
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    for (int64_t i = 0, positions = out[2] * out[3]; i < tn_layer_count(call->outputs[0]); i++) {
        const taps sample = find_sample(call, i / positions / in[1] * positions + i % positions);
        double sum = 0;
        for (int k = 0; k < sample.count; k++)
            sum += sample.weight[k] *
                   tn_layer_load(call->inputs[0], i / positions * in[2] * in[3] + sample.offset[k]);
        tn_layer_store(call->outputs[0], i, sum);
    }
    return TN_OK;
}

/* Items begin..end-1: positions of the grid, of all images. */
static tn_status sample_range(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = (const tn_call *)user;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape;
    const int64_t positions = out[2] * out[3], plane = in[2] * in[3];
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const taps sample = find_sample(call, i);
        const float *from = (const float *)call->inputs[0]->data + i / positions * in[1] * plane;
        float *to =
            (float *)call->outputs[0]->data + i / positions * in[1] * positions + i % positions;
        float weight[16];
        for (int k = 0; k < sample.count; k++)
            weight[k] = (float)sample.weight[k];
        for (int64_t c = 0; c < in[1]; c++, from += plane, to += positions) {
            float sum = 0;
            for (int k = 0; k < sample.count; k++)
                sum += weight[k] * from[sample.offset[k]];
            *to = sum;
        }
    }
    return TN_OK;
}
static tn_status run(tn_call *call) {
    const int64_t *out = call->outputs[0]->shape;
    return call->host->parallel_for(call, out[0] * out[2] * out[3], 64, sample_range, call);
}

static const char *const cases[] = {
    "| input=f32[2,3,4,5] grid=f32[2,6,7,2]",
    "interpolation_mode=1 padding_mode=1 | input=f32[1,2,4,5] grid=f32[1,3,3,2]",
    "interpolation_mode=2 padding_mode=2 align_corners=1 | input=f32[1,2,4,5] grid=f32[1,3,3,2]",
    "interpolation_mode=2 | input=f64[1,2,1,5] grid=f64[1,9,1,2]",
    "padding_mode=2 | input=f32[1,1,2,3] grid=f32[1,1,4,2]{nan,0,inf,0,0,-1e30,-3,2.5}",
    "| input=f32[0,3,4,5] grid=f32[0,6,7,2]",
    "padding_mode=1 align_corners=1 | input=f32[1,16,14,14] grid=f32[1,14,14,2]"};
TN_LAYER_LIBRARY("grid_sample", "mmcv", "grid_sampler", "Images sampled at a grid's positions.",
                 sampler, "f32, f32 -> f32", .run = run)
