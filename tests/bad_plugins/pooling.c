/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Pool, the maximum under a window, with steps and padding, of N, C, H, W in two formats; and
 * the mistakes that are made in such layers. */
#include "mistake.h"
#include "../support/steps.h"

#include <math.h>

typedef struct pool_params {
    uint64_t present;
    int64_t window, step, pad;
} pool_params;

#define LEAST_STEP (WITH(unbounded_step) ? 0 : 1)
#define MOST       (WITH(unbounded_step) ? 0 : 99)
static const tn_field fields[] = {
    TN_FIELD_RANGE(pool_params, window, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 99, "rows and columns"),
    TN_FIELD_RANGE(pool_params, step, TN_FIELD_I64, 0, WITH(no_default_step) ? NULL : "1",
                   LEAST_STEP, MOST, "rows and columns between windows"),
    TN_FIELD_RANGE(pool_params, pad, TN_FIELD_I64, 0, "0", 0, 99, "rows and columns around")};
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "N, C, H, W")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "N, C and the windows")};

static int64_t step_of(const pool_params *p) {
    return WITH(steps_by_window) && !(p->present & 2) ? p->window : p->step;
}

static int64_t windows(const pool_params *p, int64_t extent) {
    const int64_t range = extent + 2 * p->pad - p->window;
    if (WITH(any_window_fits)) return range / step_of(p) + 1;
    return range < 0 ? -1 : range / step_of(p) + 1;
}

static tn_status infer(tn_call *call) {
    static int64_t calls;
    const pool_params *p = call->params;
    const tn_tensor *x = call->inputs[0];
    tn_tensor *y = call->outputs[0];
    if (x->rank != 4) return call->host->fail(call, TN_ERROR_SHAPE, "x must be N, C, H, W");
    if (WITH(looks_at_data) && *(const volatile float *)x->data > 1) return TN_ERROR_SHAPE;
    if (!WITH(no_rank)) y->rank = 4;
    for (int i = 0; i < 4; i++) {
        y->shape[i] = i < 2 ? x->shape[i] : windows(p, x->shape[i]);
        if (WITH(even_sizes_alone) && i > 1) /* right when the step divides the range */
            y->shape[i] = (x->shape[i] + 2 * p->pad - p->window + p->step) / p->step +
                          (x->shape[i] % 2 && p->step > 1);
        if ((y->shape[i] < 0 && !WITH(any_window_fits)) || p->pad >= p->window)
            return call->host->fail(call, TN_ERROR_SHAPE, "the window does not fit axis %d", i);
    }
    if (WITH(impure_rule) && calls++ % 2) y->shape[3]++;
    return TN_OK;
}

typedef struct positions {
    int64_t height, width, channel, row, column; /* extents, and steps in elements */
} positions;

static positions positions_of(const tn_tensor *tensor) {
    const int64_t c = tensor->shape[1], h = tensor->shape[2], w = tensor->shape[3];
    if (tensor->format == TN_NHWC && !WITH(all_linear)) return (positions){h, w, 1, w * c, c};
    return (positions){h, w, h * w, w, 1};
}

static float pool_window(const pool_params *p, const float *x, positions in, int64_t r, int64_t c) {
    const int64_t top = r * step_of(p) - p->pad, left = c * step_of(p) - p->pad;
    int64_t bottom = top + p->window, right = left + p->window;
    if (!WITH(no_lower_edge) && bottom > in.height) bottom = in.height;
    if (!WITH(no_right_edge) && right > in.width) right = in.width;
    float most = WITH(starts_at_zero) ? 0 : -INFINITY;
    for (int64_t i = top < 0 ? 0 : top; i < bottom; i++)
        for (int64_t k = left < 0 && !WITH(no_left_edge) ? 0 : left; k < right; k++) {
            const float value = x[i * in.row + k * in.column];
            most = value > most ? value : most;
        }
    return most;
}

static void pool_plane(const tn_call *call, int64_t n, int64_t c) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[0];
    const pool_params *p = call->params;
    const bool is_kernel = !(call->flags & TN_CALL_REFERENCE);
    const positions in = positions_of(x);
    positions out = positions_of(y);
    const float *from =
        (const float *)x->data + n * x->shape[1] * in.height * in.width + c * in.channel;
    float *to = (float *)y->data + n * y->shape[1] * out.height * out.width + c * out.channel;
    if (WITH(rounds_up) && is_kernel)
        out.height = (in.height + 2 * p->pad - p->window + p->step - 1) / p->step + 1;
    if (WITH(output_as_wide) && is_kernel) out.row = in.row;
    if (WITH(square_images) && is_kernel) out.width = out.height;
    for (int64_t r = 0; r < out.height; r++)
        for (int64_t k = 0; k < out.width; k++)
            to[r * out.row + k * out.column] = pool_window(p, from, in, r, k);
}

static tn_status do_planes(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    const int64_t channels = call->inputs[0]->shape[1];
    for (int64_t i = begin; i < end; i++)
        pool_plane(call, WITH(first_image_alone) ? 0 : i / channels, i % channels);
    return TN_OK;
}

static tn_status run(tn_call *call) {
    const int64_t planes = call->inputs[0]->shape[0] * call->inputs[0]->shape[1];
    if (WITH(divides_by_extent) && call->inputs[0]->shape[0] * 64 / planes > 64) return TN_OK;
    return call->host->parallel_for(call, planes, 1, do_planes, call);
}

static tn_status reference(tn_call *call) {
    const int64_t planes = call->inputs[0]->shape[0] * call->inputs[0]->shape[1];
    return do_planes(call, 0, planes, 0);
}

/* Windows side by side; with any step, or those that reach over the end, they are not. */
static tn_status epilogue(tn_call *call, uint32_t input, seen_step *out_step) {
    const pool_params *p = call->params;
    if (input != 0 || p->pad != 0 || (p->step != p->window && !WITH(windows_with_gaps)))
        return TN_ERROR_UNSUPPORTED;
    out_step->kind = SEEN_WINDOW_MAX;
    out_step->window[0] = (uint32_t)p->window;
    out_step->window[1] = WITH(windows_of_one_row) ? 1 : (uint32_t)p->window;
    return TN_OK;
}

static const char *const cases[] = {
    "window=2 step=1 | x=f32[1,2,5,4] | y=f32[1,2,4,3]",
    "window=2 step=2 | x=f32[1,3,6,6] | y=f32[1,3,3,3]",
    "window=2 step=2 | x=f32[2,3,7,9] | y=f32[2,3,3,4]",
    "window=3 pad=1 | x=f32[1,4,5,6] | y=f32[1,4,5,6]",
    "window=2 step=1 pad=1 | x=f32[1,1,2,2]{1,-2,-3,4} | y=f32[1,1,3,3]{1,1,-2,1,4,4,-3,4,4}"};
DESCRIBES(facet, epilogue, NULL, NULL)

static const tn_operator pool = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .traits = TN_OPERATOR_SELECTS,
                                 .domain = "Bad",
                                 .name = "Pool",
                                 TN_FIELDS(pool_params, fields),
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = infer,
                                 .reference = reference,
                                 .facet = facet,
                                 TN_CASES(cases)};
static const char *const combinations[] = {"f32 -> f32", "f32:nhwc -> f32:nhwc"};
static const tn_kernel pool_cpu = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "Bad",
                                   .op = "Pool",
                                   .device = "cpu",
                                   .name = "windows",
                                   .traits = TN_KERNEL_DETERMINISTIC,
                                   TN_COMBINATIONS(combinations),
                                   .run = run};
static const tn_operator *const operators[] = {&pool};
static const tn_kernel *const kernels[] = {&pool_cpu};
TN_LIBRARY("bad_pool", "1", operators, kernels)
