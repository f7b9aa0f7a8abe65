/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression on CUDA, by kit/cuda/any/select/boxes.cu. */
#include "kit/cuda/any/select/select_job.h"
#include "kit/operator/layer.h"

enum { BOXES = 0, SCORES = 1, IOU = 3, SCORE = 4 };

/* The kernel's own. */
typedef struct suppression_params {
    uint64_t present;
    bool center_point_box;
} suppression_params;
static const tn_field suppression_fields[] = {
    TN_FIELD(suppression_params, center_point_box, TN_FIELD_BOOL, TN_OPTIONAL, "0",
             "whether a box is x, y of its centre, width, height instead of y, x of two opposite "
             "corners")};

/* Of each class of an image, as the shape rule has it. */
static int64_t most_of(const tn_call *call) {
    const int64_t rows = tn_infer_product(call->inputs[SCORES]->shape, 0, 2);
    return rows > 0 ? call->outputs[0]->shape[0] / rows : 0;
}

static tn_status suppression_reshape(tn_call *call) {
    const int64_t *shape = call->inputs[SCORES]->shape;
    const int64_t rows = shape[0] * shape[1];
    call->workspace_bytes =
        (uint64_t)(1 + rows + rows * most_of(call)) * sizeof(int64_t) + (uint64_t)(rows * shape[2]);
    return TN_OK;
}

static tn_status suppression_run(tn_call *call) {
    const suppression_params *params = call->kernel_params;
    const int64_t *shape = call->inputs[SCORES]->shape;
    const int64_t rows = shape[0] * shape[1], most = most_of(call);
    int64_t *found = call->workspace;
    (void)tn_cuda_count_offered(call, 0, 0);
    const tn_cuda_boxes_job job = {.boxes = call->inputs[BOXES]->data,
                                   .scores = call->inputs[SCORES]->data,
                                   .iou = tn_infer_data(tn_infer_input(call, IOU)),
                                   .score = tn_infer_data(tn_infer_input(call, SCORE)),
                                   .y = call->outputs[0]->data,
                                   .images = shape[0],
                                   .classes = shape[1],
                                   .count = shape[2],
                                   .most = most,
                                   .is_centre = params->center_point_box,
                                   .firsts = found + 1,
                                   .kept = found + 1 + rows,
                                   .is_dropped = (uint8_t *)(found + 1 + rows + rows * most),
                                   .found = found};
    TN_TRY(tn_cuda_any_run(call, tn_cuda_boxes_launch, &job));
    return tn_cuda_count_hand_out(call, found, (const int32_t[]){0});
}

static const char *const combinations[] = {"f32, f32, i64?, f32?, f32? -> i64:counted"};
TN_CUDA_ANY_KERNEL(suppression_classes, "", "NonMaxSuppression", "classes",
                   "A class of an image a block, which takes the best box that is left.",
                   TN_COMBINATIONS(combinations), .accepts = tn_cuda_any_accepts,
                   .reshape = suppression_reshape, .run = suppression_run,
                   TN_FIELDS(suppression_params, suppression_fields));
TN_CUDA_LAYER(non_max_suppression, &suppression_classes);
