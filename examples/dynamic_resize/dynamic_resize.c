/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test::DynamicTRTResize: bicubic resize whose output size is known only at run time. A plugin
 * library of its own: it includes tenon/plugin.h alone and links nothing of Tenon.
 *
 * Inputs: an image (N, C, H, W) and a size tensor of rank 4, of which only the shape is read: its
 * last two extents are the output's height and width. Field: align_corners. The kernel is Keys'
 * cubic convolution (R. Keys, "Cubic convolution interpolation for digital image processing", 1981)
 * with coefficient -0.75, as PyTorch computes it; borders are clamped.
 */
#include <math.h>
#include <tenon/plugin.h>

typedef struct resize_params {
    uint64_t present;
    bool align_corners;
} resize_params;

static const tn_field resize_fields[] = {
    TN_FIELD(resize_params, align_corners, TN_FIELD_BOOL, TN_OPTIONAL, "false",
             "true: the corners' centres meet; false: half-pixel centres"),
};
static const tn_port resize_inputs[] = {
    TN_PORT("image", "T:f32|f64", 0, "N, C, H, W"),
    TN_PORT("size", "any", TN_PORT_SHAPE_ONLY,
            "rank 4; its last two extents are the output's height and width"),
};
static const tn_port resize_outputs[] = {
    TN_PORT("output", "T", 0, "N, C, and the size's last two extents")};

/* The shape rule. */
static tn_status resize_infer(tn_call *call) {
    const tn_tensor *image = call->inputs[0], *size = call->inputs[1];
    if (image->rank != 4 || size->rank != 4)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "image and size must have rank 4, they have %u and %u", image->rank,
                                size->rank);
    if (image->shape[2] < 1 || image->shape[3] < 1)
        return call->host->fail(call, TN_ERROR_SHAPE,
                                "an image of height %lld and width %lld cannot be resized",
                                (long long)image->shape[2], (long long)image->shape[3]);
    tn_tensor *output = call->outputs[0];
    output->rank = 4;
    for (int i = 0; i < 4; i++)
        output->shape[i] = i < 2 ? image->shape[i] : size->shape[i];
    return TN_OK;
}

/* Where output index `i` of `out` lies in an axis of `in`: the first of its four taps, and their
 * weights. */
static int64_t cubic_taps(bool align_corners, int64_t in, int64_t out, int64_t i,
                          double weights[4]) {
    const double a = -0.75;
    double x = align_corners ? (out > 1 ? (double)i * (double)(in - 1) / (double)(out - 1) : 0.0)
                             : ((double)i + 0.5) * (double)in / (double)out - 0.5;
    const double base = floor(x), t = x - base;
    for (int k = 0; k < 4; k++) {
        const double d = fabs(t - (double)(k - 1));
        weights[k] = d <= 1.0 ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
                              : ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
    }
    return (int64_t)base - 1;
}

static int64_t clamp(int64_t i, int64_t count) {
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

/* The reference: what the operator means, in double precision, for any of its types. */
static double element(const tn_tensor *tensor, int64_t i) {
    return tensor->type == TN_F64 ? ((const double *)tensor->data)[i]
                                  : (double)((const float *)tensor->data)[i];
}
static tn_status resize_reference(tn_call *call) {
    const resize_params *params = call->params;
    const tn_tensor *image = call->inputs[0], *output = call->outputs[0];
    const int64_t height = image->shape[2], width = image->shape[3];
    const int64_t out_height = output->shape[2], out_width = output->shape[3];
    const int64_t count = output->shape[0] * output->shape[1] * out_height * out_width;
    for (int64_t i = 0; i < count; i++) {
        const int64_t x = i % out_width, y = i / out_width % out_height,
                      plane = i / out_width / out_height * height * width;
        double across[4], down[4], sum = 0;
        const int64_t left = cubic_taps(params->align_corners, width, out_width, x, across);
        const int64_t top = cubic_taps(params->align_corners, height, out_height, y, down);
        for (int64_t j = 0; j < 16; j++)
            sum += down[j / 4] * across[j % 4] *
                   element(image,
                           plane + clamp(top + j / 4, height) * width + clamp(left + j % 4, width));
        if (output->type == TN_F64)
            ((double *)output->data)[i] = sum;
        else
            ((float *)output->data)[i] = (float)sum;
    }
    return TN_OK;
}

/* The kernel: each thread keeps the last four input rows that it resampled across, and joins them
 * down. */
typedef struct resize_job {
    const float *image;
    float *output, *rows; /* rows: 4 rows of out_width a thread */
    const int32_t *index; /* 4 x out_width */
    const float *weight;  /* 4 x out_width */
    int64_t height, width, out_height, out_width;
    bool align_corners;
} resize_job;

static void resample_row(const resize_job *job, const float *restrict from, float *restrict to) {
    const int32_t *restrict index = job->index;
    const float *restrict weight = job->weight;
    const int64_t n = job->out_width;
    for (int64_t x = 0; x < n; x++)
        to[x] = weight[x] * from[index[x]] + weight[n + x] * from[index[n + x]] +
                weight[2 * n + x] * from[index[2 * n + x]] +
                weight[3 * n + x] * from[index[3 * n + x]];
}

/* One item is an output row of a plane. */
static tn_status resize_rows(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const resize_job *job = user;
    float *ring = job->rows + 4 * job->out_width * thread;
    int64_t held[4] = {-1, -1, -1, -1};
    for (int64_t item = begin; item < end; item++) {
        const int64_t plane = item / job->out_height;
        const float *restrict rows[4];
        double down[4];
        const int64_t top = cubic_taps(job->align_corners, job->height, job->out_height,
                                       item % job->out_height, down);
        for (int64_t k = 0; k < 4; k++) {
            const int64_t row = plane * job->height + clamp(top + k, job->height);
            float *kept = ring + row % 4 * job->out_width;
            if (held[row % 4] != row) resample_row(job, job->image + row * job->width, kept);
            held[row % 4] = row;
            rows[k] = kept;
        }
        float *restrict to = job->output + item * job->out_width;
        const float w0 = (float)down[0], w1 = (float)down[1], w2 = (float)down[2],
                    w3 = (float)down[3];
        for (int64_t x = 0; x < job->out_width; x++)
            to[x] = w0 * rows[0][x] + w1 * rows[1][x] + w2 * rows[2][x] + w3 * rows[3][x];
    }
    return TN_OK;
}

static tn_status resize_reshape(tn_call *call) {
    call->workspace_bytes =
        (uint64_t)call->outputs[0]->shape[3] * (8 + 4 * (uint64_t)call->threads) * sizeof(float);
    return TN_OK;
}

static tn_status resize_run(tn_call *call) {
    const resize_params *params = call->params;
    const tn_tensor *image = call->inputs[0], *output = call->outputs[0];
    const int64_t width = image->shape[3], n = output->shape[3];
    int32_t *index = call->workspace;
    float *weight = (float *)(index + 4 * n);
    for (int64_t x = 0; x < n; x++) {
        double weights[4];
        const int64_t left = cubic_taps(params->align_corners, width, n, x, weights);
        for (int64_t k = 0; k < 4; k++) {
            index[k * n + x] = (int32_t)clamp(left + k, width);
            weight[k * n + x] = (float)weights[k];
        }
    }
    resize_job job = {image->data, output->data,         weight + 4 * n, index,
                      weight,      image->shape[2],      width,          output->shape[2],
                      n,           params->align_corners};
    return call->host->parallel_for(call, output->shape[0] * output->shape[1] * output->shape[2],
                                    32, resize_rows, &job);
}

static const char *const resize_cases[] = {
    "| image=f32[1,3,8,9] size=f32[1,1,16,18]",
    "align_corners=true | image=f32[2,1,5,4] size=f32[1,1,7,3]",
    "| image=f64[1,1,1,1] size=f32[1,1,4,5]",
    "| image=f32[1,2,6,6] size=u8[0,0,6,6]",
    "| image=f32[1,1,33,47] size=f32[1,1,21,80]",
};
static const tn_operator dynamic_resize = {
    .size = sizeof(tn_operator),
    .since_version = 1,
    .state_version = 1,
    .traits = 0,
    .domain = "Test",
    .name = "DynamicTRTResize",
    .doc = "Bicubic resize to the last two extents of a size tensor.",
    TN_FIELDS(resize_params, resize_fields),
    TN_INPUTS(resize_inputs),
    TN_OUTPUTS(resize_outputs),
    .infer = resize_infer,
    .reference = resize_reference,
    TN_CASES(resize_cases),
};

static const char *const resize_combinations[] = {"f32, * -> f32"};
static const tn_kernel resize_cpu = {
    .size = sizeof(tn_kernel),
    .revision = 1,
    .domain = "Test",
    .op = "DynamicTRTResize",
    .device = "cpu",
    .name = "rows",
    .doc = "Rows resampled across once, then joined down.",
    .traits = TN_KERNEL_DETERMINISTIC,
    TN_COMBINATIONS(resize_combinations),
    .reshape = resize_reshape,
    .run = resize_run,
};

static const tn_operator *const operators[] = {&dynamic_resize};
#ifdef WITH_CUDA
extern const tn_kernel dynamic_resize_cuda; /* cuda.cu */
static const tn_kernel *const kernels[] = {&resize_cpu, &dynamic_resize_cuda};
#else
static const tn_kernel *const kernels[] = {&resize_cpu};
#endif
TN_LIBRARY("dynamic_resize", "1.0", operators, kernels)
