/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Col2Im: columns of windows back as images, where elements of windows that overlap are added. A
 * column is a window's elements of all channels; columns follow each other as windows do.
 */
#include <tenon/kit/parallel.h>
#include "col2im/col2im.h"
#include "kit/operator/layer.h"

typedef struct col2im_params {
    uint64_t present;
    tn_i64s strides, dilations, pads;
} col2im_params;

enum { INPUT = 0, IMAGE_SHAPE = 1, BLOCK_SHAPE = 2 };

static const tn_field col2im_fields[] = {
    TN_FIELD_STRIDES(col2im_params),
    TN_FIELD_DILATIONS(col2im_params),
    TN_FIELD_PADS(col2im_params),
};

tn_status tn_col2im_window(tn_call *call, tn_window *out_window) {
    const col2im_params *params = call->params;
    int64_t image[TN_MAX_RANK], block[TN_MAX_RANK];
    uint32_t rank = 0, block_rank = 0;
    TN_TRY(tn_infer_require_rank(call, INPUT, 3, 3));
    TN_TRY(tn_infer_integers(call, IMAGE_SHAPE, TN_WINDOW_MAX_RANK, image, &rank));
    TN_TRY(tn_infer_integers(call, BLOCK_SHAPE, TN_WINDOW_MAX_RANK, block, &block_rank));
    if (rank == 0 || rank != block_rank)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "inputs 'image_shape' and 'block_shape' have %u and %u extents",
                                rank, block_rank);
    for (uint32_t i = 0; i < rank; i++)
        if (image[i] < 0)
            return call->host->fail(call, TN_ERROR_RANGE, "input 'image_shape' has the extent %lld",
                                    (long long)image[i]);
    const tn_window_fields fields = {.kernel = {rank, block},
                                     .strides = params->strides,
                                     .dilations = params->dilations,
                                     .pads = params->pads};
    return tn_window_resolve(call, &fields, rank, image, out_window);
}

static tn_status col2im_infer(tn_call *call) {
    tn_window window;
    int64_t shape[TN_MAX_RANK];
    TN_TRY(tn_col2im_window(call, &window));
    const int64_t *input = call->inputs[INPUT]->shape;
    const int64_t taps = tn_infer_product(window.kernel, 0, window.rank);
    const int64_t columns = tn_infer_product(window.output, 0, window.rank);
    if (input[1] % taps != 0 || input[2] != columns)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "input 'input' has %lld elements in each of %lld columns; "
                                "expected a multiple of %lld in each of %lld",
                                (long long)input[1], (long long)input[2], (long long)taps,
                                (long long)columns);
    shape[0] = input[0];
    shape[1] = input[1] / taps;
    for (uint32_t i = 0; i < window.rank; i++)
        shape[2 + i] = window.input[i];
    return tn_infer_set_shape(call, 0, window.rank + 2, shape);
}

typedef struct column_job {
    const tn_call *call;
    tn_window window;
    int64_t taps, columns, pixels;
} column_job;

/* The column whose window has tap `tap` at this position of the image; -1: there is none. */
static int64_t find_column(const tn_window *window, const int64_t *position, const int64_t *tap) {
    int64_t column = 0;
    for (uint32_t i = 0; i < window->rank; i++) {
        const int64_t at = position[i] + window->pad_begin[i] - tap[i] * window->dilation[i];
        if (at < 0 || at % window->stride[i] != 0 || at / window->stride[i] >= window->output[i])
            return -1;
        column = column * window->output[i] + at / window->stride[i];
    }
    return column;
}

static void sum_pixel(const column_job *job, int64_t item) {
    const tn_tensor *x = job->call->inputs[INPUT], *y = job->call->outputs[0];
    const tn_window *window = &job->window;
    int64_t position[TN_WINDOW_MAX_RANK], tap[TN_WINDOW_MAX_RANK] = {0}, rest = item % job->pixels;
    int64_t row = item / job->pixels * job->taps;
    double real = 0;
    uint64_t whole = 0;
    for (uint32_t i = window->rank; i-- > 0; rest /= window->input[i])
        position[i] = rest % window->input[i];
    do {
        const int64_t column = find_column(window, position, tap), at = row++ * job->columns;
        if (column < 0) continue;
        if (tn_element_is_real(x->type))
            real += tn_element_f64(x, at + column);
        else
            whole += (uint64_t)tn_element_i64(x, at + column);
    } while (tn_window_step(window->rank, window->kernel, tap));
    if (tn_element_is_real(y->type))
        tn_element_set_f64(y, item, real);
    else
        tn_element_set_i64(y, item, (int64_t)whole);
}

/* An item is an element of an image. */
static tn_status sum_pixels(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const column_job *job = user;
    (void)thread;
    for (int64_t item = begin; item < end; item++)
        sum_pixel(job, item);
    return TN_OK;
}

static tn_status compute(tn_call *call, bool is_parallel) {
    enum { GRAIN = 4096 };
    column_job job = {.call = call};
    TN_TRY(tn_col2im_window(call, &job.window));
    const int64_t elements = tn_element_count(call->outputs[0]);
    if (elements == 0) return TN_OK;
    job.taps = tn_infer_product(job.window.kernel, 0, job.window.rank);
    job.columns = tn_infer_product(job.window.output, 0, job.window.rank);
    job.pixels = tn_infer_product(job.window.input, 0, job.window.rank);
    if (!is_parallel) return sum_pixels(&job, 0, elements, 0);
    return call->host->parallel_for(call, elements, tn_parallel_grain(GRAIN, job.taps), sum_pixels,
                                    &job);
}

TN_SERIAL_AND_PARALLEL(col2im, compute)

static const tn_port col2im_inputs[] = {
    TN_PORT("input", "T:any", 0, "batch, channels times the window's elements, windows"),
    TN_PORT("image_shape", "i64", TN_PORT_VALUE_NEEDED, "extents of an image"),
    TN_PORT("block_shape", "i64", TN_PORT_VALUE_NEEDED, "extents of the window"),
};
static const tn_port col2im_outputs[] = {
    TN_PORT("output", "T", 0, "batch, channels, images; integers wrap")};
static const char *const col2im_cases[] = {
    "| input=f32[1,5,5] image_shape=i64[2]{5,5} block_shape=i64[2]{1,5}",
    "| input=i32[1,2,2]{1,2,3,4} image_shape=i64[1]{3} block_shape=i64[1]{2}"
    " | output=i32[1,1,3]{1,5,4}",
    "strides=[2,2] | input=f64[2,9,4] image_shape=i64[2]{5,5} block_shape=i64[2]{3,3}",
    "pads=[1,0,1,2] dilations=[1,2] | input=f32[1,8,24] image_shape=i64[2]{3,6} "
    "block_shape=i64[2]{2,2}",
    "| input=f16[1,10,12] image_shape=i64[3]{3,4,5} block_shape=i64[3]{1,1,5}",
    "| input=u8[1,4,4] image_shape=i64[2]{3,3} block_shape=i64[2]{2,2}",
    "| input=bool[1,2,2]{1,0,0,0} image_shape=i64[1]{3} block_shape=i64[1]{2}"
    " | output=bool[1,1,3]{1,0,0}",
    "| input=bf16[0,4,4] image_shape=i64[2]{3,3} block_shape=i64[2]{2,2}",
    "| input=f32[2,72,100] image_shape=i64[2]{12,12} block_shape=i64[2]{3,3}",
};

TN_OPERATOR(col2im, "", "Col2Im", 18, "Columns of windows as images.",
            TN_FIELDS(col2im_params, col2im_fields));

TN_CPU_KERNEL(col2im_elements, "", "Col2Im", "elements",
              "Elements of the images on all threads, in double precision.", .run = col2im_run);

TN_LAYER(col2im, TN_OPERATORS(&col2im_18), TN_KERNELS(&col2im_elements));
