/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PriorBox of Caffe's SSD branch: the default boxes of a feature map, which depend on shapes alone
 * (Liu et al., "SSD: Single Shot MultiBox Detector", 2016). Output [1, 2, height * width * boxes *
 * 4]: first the boxes (xmin, ymin, xmax, ymax in parts of the image), then their variances.
 */
#include "kit/operator/layer.h"

#include <math.h>

typedef struct prior_box_params {
    uint64_t present;
    tn_f32s min_size, max_size, aspect_ratio, variance;
    bool flip, clip;
    int64_t img_size, img_h, img_w;
    float step, step_h, step_w, offset;
} prior_box_params;

enum { PRIOR_BOX_MAP = 0, PRIOR_BOX_IMAGE = 1, PRIOR_BOX_MOST = 32 };

static const tn_field prior_box_fields[] = {
    TN_FIELD_LIST(prior_box_params, min_size, TN_FIELD_F32S, TN_REQUIRED, NULL, 1, PRIOR_BOX_MOST,
                  1, 2147483647,
                  "sides of the smaller squares, in pixels; what is behind the point is dropped"),
    TN_FIELD_LIST(prior_box_params, max_size, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0, PRIOR_BOX_MOST,
                  1, 2147483647,
                  "for each min_size another one: a square of sqrt(min_size * max_size)"),
    TN_FIELD_LIST(prior_box_params, aspect_ratio, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0,
                  PRIOR_BOX_MOST, 1e-6, 1e6, "width by height of further boxes"),
    TN_FIELD_LIST(prior_box_params, variance, TN_FIELD_F32S, TN_OPTIONAL, NULL, 0, 4, 0, 0,
                  "4 numbers, or one for all; absent: 0.1"),
    TN_FIELD(prior_box_params, flip, TN_FIELD_BOOL, TN_OPTIONAL, "1",
             "whether each aspect ratio has its reciprocal beside it"),
    TN_FIELD(prior_box_params, clip, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether boxes end at the image's edges"),
    TN_FIELD_RANGE(prior_box_params, img_size, TN_FIELD_I64, TN_OPTIONAL, NULL, 0, 2147483647,
                   "height and width of the image; 0: from img_h and img_w"),
    TN_FIELD_RANGE(prior_box_params, img_h, TN_FIELD_I64, TN_OPTIONAL, NULL, 0, 2147483647,
                   "height of the image; 0: of the input"),
    TN_FIELD_RANGE(prior_box_params, img_w, TN_FIELD_I64, TN_OPTIONAL, NULL, 0, 2147483647,
                   "width of the image; 0: of the input"),
    TN_FIELD(prior_box_params, step, TN_FIELD_F32, TN_OPTIONAL, "0",
             "pixels between centres; 0: from step_h and step_w"),
    TN_FIELD(prior_box_params, step_h, TN_FIELD_F32, TN_OPTIONAL, "0",
             "pixels between centres, downwards; 0: image's height by map's"),
    TN_FIELD(prior_box_params, step_w, TN_FIELD_F32, TN_OPTIONAL, "0",
             "pixels between centres, sideways; 0: image's width by map's"),
    TN_FIELD(prior_box_params, offset, TN_FIELD_F32, TN_OPTIONAL, "0.5",
             "position of the first centre, in steps"),
};

/* The boxes around one centre: half extents, in pixels. */
typedef struct box_list {
    int64_t count;
    double half_width[PRIOR_BOX_MOST * (2 * PRIOR_BOX_MOST + 2)];
    double half_height[PRIOR_BOX_MOST * (2 * PRIOR_BOX_MOST + 2)];
} box_list;

static void add_ratio(double *ratios, uint32_t *count, double ratio) {
    ratios[(*count)++] = ratio;
}

static bool has_ratio(const double *ratios, uint32_t count, double ratio) {
    for (uint32_t i = 0; i < count; i++)
        if (fabs(ratios[i] - ratio) < 1e-6) return true;
    return false;
}

/* The ratios other than one. */
static uint32_t list_ratios(const prior_box_params *params, double *out_ratios) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < params->aspect_ratio.count; i++) {
        const double ratio = (double)params->aspect_ratio.items[i];
        if (fabs(ratio - 1) < 1e-6 || has_ratio(out_ratios, count, ratio)) continue;
        add_ratio(out_ratios, &count, ratio);
        if (params->flip) add_ratio(out_ratios, &count, 1 / ratio);
    }
    return count;
}

static void add_box(box_list *list, double width, double height) {
    list->half_width[list->count] = width / 2;
    list->half_height[list->count++] = height / 2;
}

static void list_boxes(const prior_box_params *params, box_list *list) {
    double ratios[2 * PRIOR_BOX_MOST];
    const uint32_t ratio_count = list_ratios(params, ratios);
    list->count = 0;
    for (uint64_t i = 0; i < params->min_size.count; i++) {
        const double size = trunc((double)params->min_size.items[i]);
        add_box(list, size, size);
        if (params->max_size.count > 0) {
            const double side = sqrt(size * trunc((double)params->max_size.items[i]));
            add_box(list, side, side);
        }
        for (uint32_t k = 0; k < ratio_count; k++)
            add_box(list, size * sqrt(ratios[k]), size / sqrt(ratios[k]));
    }
}

static tn_status check_fields(tn_call *call) {
    const prior_box_params *params = call->params;
    if (params->max_size.count != 0 && params->max_size.count != params->min_size.count)
        return call->host->fail(
            call, TN_ERROR_ARGUMENT, "field 'max_size' has %llu numbers, min_size has %llu",
            (unsigned long long)params->max_size.count, (unsigned long long)params->min_size.count);
    if (params->variance.count == 2 || params->variance.count == 3)
        return call->host->fail(call, TN_ERROR_ARGUMENT,
                                "field 'variance' has %llu numbers instead of 1 or 4",
                                (unsigned long long)params->variance.count);
    return TN_OK;
}

static tn_status prior_box_infer(tn_call *call) {
    const prior_box_params *params = call->params;
    double ratios[2 * PRIOR_BOX_MOST];
    int64_t shape[3] = {1, 2, 4};
    TN_TRY(check_fields(call));
    TN_TRY(tn_infer_require_rank(call, PRIOR_BOX_MAP, 4, 4));
    TN_TRY(tn_infer_require_rank(call, PRIOR_BOX_IMAGE, 4, 4));
    const tn_tensor *map = call->inputs[PRIOR_BOX_MAP];
    const int64_t boxes =
        (int64_t)params->min_size.count * (1 + (int64_t)list_ratios(params, ratios)) +
        (int64_t)params->max_size.count;
    if (!tn_infer_multiply(shape[2], boxes, &shape[2]) ||
        !tn_infer_multiply(shape[2], map->shape[2], &shape[2]) ||
        !tn_infer_multiply(shape[2], map->shape[3], &shape[2]))
        return call->host->fail(call, TN_ERROR_SHAPE, "there are too many boxes");
    return tn_infer_set_shape(call, 0, 3, shape);
}

static double first_given(double a, double b, double otherwise) {
    return a != 0 ? a : b != 0 ? b : otherwise;
}

/* One axis of the image: extent, distance of centres. */
typedef struct image_axis {
    double extent, step;
} image_axis;

static image_axis read_axis(const tn_call *call, uint32_t axis, int64_t given, float step) {
    const prior_box_params *params = call->params;
    image_axis result;
    result.extent = first_given((double)given, (double)params->img_size,
                                (double)call->inputs[PRIOR_BOX_IMAGE]->shape[axis]);
    result.step = first_given((double)step, (double)params->step,
                              result.extent / (double)call->inputs[PRIOR_BOX_MAP]->shape[axis]);
    return result;
}

static float edge(const prior_box_params *params, double value) {
    if (params->clip) value = value < 0 ? 0 : value > 1 ? 1 : value;
    return (float)value;
}

static tn_status prior_box_reference(tn_call *call) {
    const prior_box_params *params = call->params;
    const tn_tensor *map = call->inputs[PRIOR_BOX_MAP], *output = call->outputs[0];
    const image_axis down = read_axis(call, 2, params->img_h, params->step_h);
    const image_axis along = read_axis(call, 3, params->img_w, params->step_w);
    const tn_f32s *variance = &params->variance;
    box_list list;
    float *to = output->data;
    list_boxes(params, &list);
    for (int64_t y = 0; y < map->shape[2]; y++) {
        const double centre_y = ((double)y + (double)params->offset) * down.step;
        for (int64_t x = 0; x < map->shape[3]; x++) {
            const double centre_x = ((double)x + (double)params->offset) * along.step;
            for (int64_t i = 0; i < list.count; i++, to += 4) {
                to[0] = edge(params, (centre_x - list.half_width[i]) / along.extent);
                to[1] = edge(params, (centre_y - list.half_height[i]) / down.extent);
                to[2] = edge(params, (centre_x + list.half_width[i]) / along.extent);
                to[3] = edge(params, (centre_y + list.half_height[i]) / down.extent);
            }
        }
    }
    for (int64_t i = 0; i < output->shape[2]; i++)
        to[i] = variance->count == 0 ? 0.1f : variance->items[variance->count == 1 ? 0 : i % 4];
    return TN_OK;
}

static const tn_port prior_box_inputs[] = {
    TN_PORT("map", "any", TN_PORT_SHAPE_ONLY, "the feature map: batch, channels, height, width"),
    TN_PORT("image", "any", TN_PORT_SHAPE_ONLY, "the image: batch, channels, height, width"),
};
static const tn_port prior_box_outputs[] = {
    TN_PORT("boxes", "f32", 0, "boxes and variances, [1, 2, height * width * boxes * 4]")};
static const char *const prior_box_cases[] = {
    "min_size=[30] | map=f32[1,8,3,4] image=f32[1,3,96,128]",
    "min_size=[30] max_size=[60] aspect_ratio=[2] variance=[0.1,0.1,0.2,0.2] "
    "| map=f32[1,8,3,3] image=f32[1,3,300,300]",
    "min_size=[10,20.7] max_size=[15,30] aspect_ratio=[1,2,2,3] flip=0 clip=1 variance=[0.3] "
    "| map=f32[1,8,2,5] image=f32[2,3,64,32]",
    "min_size=[30] img_size=200 step=16 offset=0 | map=f16[1,1,2,2] image=f32[1,1,1,1]",
    "min_size=[30] img_h=100 img_w=200 step_h=7 step_w=9.5 | map=f32[1,1,2,2] image=f32[1,1,1,1]",
    "min_size=[30] | map=f32[1,8,0,4] image=f32[1,3,96,128]",
};

TN_OPERATOR(
    prior_box, "Caffe", "PriorBox", 1,
    "The default boxes of a feature map, in parts of the image, and their variances. Around "
    "each pixel, row by row: for each min_size a square of it, then one of sqrt(min_size * "
    "max_size) where max_size is given, then for each aspect ratio other than 1 (and its "
    "reciprocal with flip) a box of the square's area.",
    TN_FIELDS(prior_box_params, prior_box_fields));

TN_LAYER_WITHOUT_KERNELS(caffe_prior_box, TN_OPERATORS(&prior_box_1));
