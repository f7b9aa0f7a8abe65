/* SPDX-License-Identifier: Apache-2.0 */
/* What is right at sampled elements of a node's output, and how far a kernel's lies from it. */
#include "node.h"

#include <tenon/plugin/device.h>

#include <math.h>
#include <string.h>

static double activate(uint32_t which, double x) {
    const double alpha = run_activations[which].alpha, beta = run_activations[which].beta;
    switch (run_activations[which].activation) {
    case TN_ACTIVATION_RELU:
        return x < 0 ? 0 : x;
    case TN_ACTIVATION_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case TN_ACTIVATION_CLIP:
        return fmin(fmax(x, alpha), beta);
    case TN_ACTIVATION_TANH:
        return tanh(x);
    case TN_ACTIVATION_HARD_SWISH:
        return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    default:
        return x;
    }
}

static double sum_of_product(const run_node *n, int64_t at) {
    const bool is_gemm = strcmp(n->c->op, "Gemm") == 0, is_transposed = is_gemm && n->c->group == 1;
    const uint32_t rank = n->x.tensor.rank;
    const int64_t rows = n->x.shape[rank - 2], depth = n->x.shape[rank - 1];
    const int64_t columns = n->y.shape[rank - 1];
    const int64_t column = at % columns, row = at / columns % rows, batch = at / columns / rows;
    const float *a = n->x.values + (batch * rows + row) * depth;
    const float *b = n->w.values + (n->w.tensor.rank == 3 ? batch * depth * columns : 0);
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += (double)a[k] * (double)b[is_transposed ? column * depth + k : k * columns + column];
    return sum + (n->c->has_bias ? (double)n->b.values[column] : 0);
}

static double sum_of_convolution(const run_node *n, int64_t at) {
    const run_case *c = n->c;
    const bool is_transposed = c->op[4] != 0;
    const uint32_t spatial = c->rank - 2;
    int64_t position[3] = {0, 0, 0}, tap[3] = {0, 0, 0}, taps = 1, rest = at;
    for (uint32_t i = spatial; i-- > 0;) {
        position[i] = rest % n->made[2 + i];
        rest /= n->made[2 + i];
        taps *= c->w[2 + i];
    }
    const int64_t filter = rest % n->made[1], image = rest / n->made[1];
    const int64_t filters = n->made[1] / c->group, channels = c->x[1] / c->group;
    const int64_t group = filter / filters;
    double sum = c->has_bias ? (double)n->b.values[filter] : 0;
    for (int64_t t = 0; t < taps; t++) {
        int64_t offset = 0, left = t;
        bool is_inside = true;
        for (uint32_t i = spatial; i-- > 0; left /= c->w[2 + i])
            tap[i] = left % c->w[2 + i];
        for (uint32_t i = 0; i < spatial; i++) {
            int64_t p = is_transposed
                            ? position[i] + c->pads[i] - tap[i] * c->dilations[i]
                            : position[i] * c->strides[i] - c->pads[i] + tap[i] * c->dilations[i];
            if (is_transposed) {
                is_inside = is_inside && p >= 0 && p % c->strides[i] == 0;
                p /= c->strides[i];
            }
            is_inside = is_inside && p >= 0 && p < c->x[2 + i];
            offset = offset * c->x[2 + i] + p;
        }
        if (!is_inside) continue;
        const int64_t plane = n->x.count / c->x[0] / c->x[1];
        for (int64_t k = 0; k < channels; k++) {
            const int64_t channel = group * channels + k;
            const int64_t weight = is_transposed ? (channel * filters + filter % filters) * taps + t
                                                 : (filter * channels + k) * taps + t;
            sum += (double)n->x.values[(image * c->x[1] + channel) * plane + offset] *
                   (double)n->w.values[weight];
        }
    }
    return sum;
}

/* Before the mean where there is one. */
static double element(const run_node *n, int64_t at) {
    double sum = n->c->op[0] == 'C' ? sum_of_convolution(n, at) : sum_of_product(n, at);
    if (n->c->has_residual) sum += (double)n->residual.values[at];
    return activate(n->c->activation, sum);
}

static double mean_of_plane(const run_node *n, int64_t plane) {
    int64_t pixels = 1;
    double sum = 0;
    for (uint32_t i = 2; i < n->c->rank; i++)
        pixels *= n->made[i];
    for (int64_t i = 0; i < pixels; i++)
        sum += element(n, plane * pixels + i);
    return sum / (double)pixels;
}

void run_reference_sample(run_node *n) {
    const int samples = n->c->has_mean ? RUN_MEANS : RUN_SAMPLES;
    n->ceiling = 1e-9;
    for (int i = 0; i < samples; i++) {
        const int64_t at = i < samples / 10
                               ? i % n->y.count
                               : (int64_t)((run_random() * 0.5f + 0.5f) * (float)(n->y.count - 1));
        n->sampled[i] = at;
        n->expected[i] = n->c->has_mean ? mean_of_plane(n, at) : element(n, at);
        if (fabs(n->expected[i]) > n->ceiling) n->ceiling = fabs(n->expected[i]);
    }
}

double run_reference_compare(run_node *n) {
    const int samples = n->c->has_mean ? RUN_MEANS : RUN_SAMPLES;
    double worst = 0;
    run_require(run_device->copy(run_device, n->y.stored, n->device_y, n->y.tensor.bytes,
                                 TN_COPY_TO_HOST, run_stream),
                "copy");
    run_require(run_device->stream_wait(run_device, run_stream), "wait");
    for (int i = 0; i < samples; i++) {
        const double error =
            fabs((double)run_tensor_get(&n->y, n->sampled[i]) - n->expected[i]) / n->ceiling;
        if (!(error <= worst)) worst = error;
        if (isnan(error)) break;
    }
    return worst;
}
