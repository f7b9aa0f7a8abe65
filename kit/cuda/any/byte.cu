/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of byte_job.h: an element of the output a thread. */
#include "kit/cuda/any/byte_job.h"
#include "kit/cuda/any/each.cuh"

namespace {

/* To nearest even; NaN counts as 0. */
__device__ __forceinline__ double whole_near(float value) {
    return isnan(value) ? 0 : rint((double)value);
}

struct quantize {
    tn_cuda_quantize_job job;
    __device__ void operator()(int64_t i) const {
        uint32_t inner, k;
        const uint32_t rest = tn_divide_rest((uint32_t)i, job.inner, &inner);
        const uint32_t outer = tn_divide_rest(rest, job.lane, &k);
        int64_t at = k / job.block;
        if (job.is_blocked) at = ((int64_t)outer * job.scales + at) * job.inner.divisor + inner;
        const double scale = tn_any_f64(job.scale, job.scale_type, at);
        if (job.is_back) {
            const int64_t zero = job.zero ? tn_any_i64(job.zero, job.zero_type, at) : 0;
            tn_any_set_f64(job.y, job.y_type, i,
                           (double)(tn_any_i64(job.x, job.x_type, i) - zero) * scale);
            return;
        }
        const float quotient = (float)tn_any_f64(job.x, job.x_type, i) / (float)scale;
        const double zero = job.zero ? tn_any_f64(job.zero, job.zero_type, at) : 0;
        tn_any_set_f64(job.y, job.y_type, i, whole_near(quotient) + zero);
    }
};

struct join_most {
    __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/* Lowest and highest number of a part, 0 among them; NaN is not. */
struct range_parts {
    tn_cuda_dynamic_job job;
    int64_t parts;
    __device__ void operator()(int64_t part) const {
        const int64_t each = (job.count + parts - 1) / parts, begin = part * each;
        const int64_t end = begin + each < job.count ? begin + each : job.count;
        float low = 0, high = 0;
        for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
            low = job.x[i] < low ? job.x[i] : low;
            high = job.x[i] > high ? job.x[i] : high;
        }
        low = -tn_block_join(-low, join_most());
        high = tn_block_join(high, join_most());
        if (threadIdx.x != 0) return;
        job.scratch[2 + 2 * part] = low;
        job.scratch[3 + 2 * part] = high;
    }
};

/* The scale and the zero point, before the parts. */
struct choose_scale {
    tn_cuda_dynamic_job job;
    int64_t parts;
    __device__ void operator()(int64_t) const {
        float low = 0, high = 0;
        for (int64_t part = 0; part < parts; part++) {
            low = fminf(low, job.scratch[2 + 2 * part]);
            high = fmaxf(high, job.scratch[3 + 2 * part]);
        }
        const float scale = (high == low ? 1.0f : high - low) / 255.0f;
        const float exact = 0.0f - low / scale;
        const uint8_t zero = (uint8_t)(exact > 0 ? rintf(exact < 255 ? exact : 255) : 0);
        job.scratch[0] = scale;
        job.scratch[1] = (float)zero;
        if (job.scale) *job.scale = scale;
        if (job.zero) *job.zero = zero;
    }
};

struct quantize_bytes {
    tn_cuda_dynamic_job job;
    __device__ void operator()(int64_t i) const {
        const float quotient = job.x[i] / job.scratch[0];
        tn_any_set_f64(job.y, TN_U8, i, whole_near(quotient) + (double)job.scratch[1]);
    }
};

__device__ __forceinline__ int64_t whole_of(const tn_cuda_parameter &of, int64_t matrix,
                                            int64_t index) {
    return of.data ? tn_any_i64(of.data, of.type, matrix * of.matrix_step + index * of.step) : 0;
}
__device__ __forceinline__ float real_of(const tn_cuda_parameter &of, int64_t matrix,
                                         int64_t index) {
    return (float)tn_any_f64(of.data, of.type, matrix * of.matrix_step + index * of.step);
}

/* A sum as an 8-bit integer: by a factor in 32-bit floats, rounded to nearest even. */
__device__ __forceinline__ void store(void *y, tn_type type, int64_t i, int64_t sum, float a,
                                      float b, float of_y, int64_t zero) {
    const float product = __fmul_rn(a, b);
    const float value = __fmul_rn((float)(int32_t)sum, __fdiv_rn(product, of_y));
    tn_any_set_f64(y, type, i, whole_near(value) + (double)zero);
}

struct byte_product {
    tn_cuda_byte_product_job job;
    __device__ void operator()(int64_t i) const {
        const int64_t column = i % job.columns, row = i / job.columns % job.rows;
        const int64_t matrix = i / job.columns / job.rows;
        int64_t from[2];
        tn_box_find(job.batch, (uint32_t)matrix, from);
        const int64_t a_zero = whole_of(job.a_zero, from[0], row);
        const int64_t b_zero = whole_of(job.b_zero, from[1], column);
        const int64_t a = (from[0] * job.rows + row) * job.depth;
        const int64_t b = from[1] * job.depth * job.columns + column;
        if (tn_any_is_real(job.a_type)) {
            double real = 0;
            for (int64_t k = 0; k < job.depth; k++)
                real += tn_any_f64(job.a, job.a_type, a + k) *
                        tn_any_f64(job.b, job.b_type, b + k * job.columns);
            tn_any_set_f64(job.y, job.y_type, i, real);
            return;
        }
        int64_t sum = 0;
        for (int64_t k = 0; k < job.depth; k++)
            sum = (int64_t)((uint64_t)sum +
                            (uint64_t)(tn_any_i64(job.a, job.a_type, a + k) - a_zero) *
                                (uint64_t)(tn_any_i64(job.b, job.b_type, b + k * job.columns) -
                                           b_zero));
        if (!job.y_scale.data)
            tn_any_set_i64(job.y, job.y_type, i, sum);
        else
            store(job.y, job.y_type, i, sum, real_of(job.a_scale, from[0], row),
                  real_of(job.b_scale, from[1], column), real_of(job.y_scale, matrix, row),
                  whole_of(job.y_zero, matrix, row));
    }
};

struct byte_conv {
    tn_cuda_byte_conv_job job;
    __device__ void operator()(int64_t i) const {
        int64_t index[TN_MAX_RANK], tap[TN_WINDOW_MAX_RANK] = {0}, sum = 0;
        const tn_window &window = job.window;
        const int rank = (int)window.rank;
        const bool is_real = tn_any_is_real(job.x_type);
        int64_t plane = 1, taps = 1;
        double real = 0;
        tn_box_index(job.box, (uint32_t)i, index);
        for (int axis = 0; axis < rank; axis++) {
            plane *= window.input[axis];
            taps *= window.kernel[axis];
        }
        const int64_t filter = index[1];
        const int64_t first =
            index[0] * job.channels + filter / job.group_filters * job.group_channels;
        const int64_t x_zero = whole_of(job.x_zero, 0, 0), w_zero = whole_of(job.w_zero, 0, filter);
        for (int64_t t = 0; t < taps; t++) {
            int64_t at = 0;
            bool is_there = true;
            for (int axis = 0; axis < rank; axis++) {
                const int64_t position = index[2 + axis] * window.stride[axis] -
                                         window.pad_begin[axis] + tap[axis] * window.dilation[axis];
                is_there = is_there && position >= 0 && position < window.input[axis];
                at = at * window.input[axis] + position;
            }
            for (int64_t c = 0; is_there && is_real && c < job.group_channels; c++)
                real += tn_any_f64(job.x, job.x_type, (first + c) * plane + at) *
                        tn_any_f64(job.w, job.w_type, (filter * job.group_channels + c) * taps + t);
            for (int64_t c = 0; is_there && !is_real && c < job.group_channels; c++)
                sum +=
                    (tn_any_i64(job.x, job.x_type, (first + c) * plane + at) - x_zero) *
                    (tn_any_i64(job.w, job.w_type, (filter * job.group_channels + c) * taps + t) -
                     w_zero);
            for (int axis = rank - 1; axis >= 0; axis--) {
                if (++tap[axis] < window.kernel[axis]) break;
                tap[axis] = 0;
            }
        }
        if (is_real) {
            if (job.bias) real += tn_any_f64(job.bias, job.bias_type, filter);
            tn_any_set_f64(job.y, job.y_type, i, real);
            return;
        }
        if (job.bias) sum += tn_any_i64(job.bias, job.bias_type, filter);
        if (!job.y_scale.data)
            tn_any_set_i64(job.y, job.y_type, i, sum);
        else
            store(job.y, job.y_type, i, sum, real_of(job.x_scale, 0, 0),
                  real_of(job.w_scale, 0, filter), real_of(job.y_scale, 0, 0),
                  whole_of(job.y_zero, 0, 0));
    }
};

} // namespace

extern "C" cudaError_t tn_cuda_quantize_launch(const void *user, cudaStream_t stream) {
    const quantize function = {*(const tn_cuda_quantize_job *)user};
    return tn_each_launch(function, function.job.count, stream);
}

extern "C" cudaError_t tn_cuda_dynamic_launch(const void *user, cudaStream_t stream) {
    const tn_cuda_dynamic_job &job = *(const tn_cuda_dynamic_job *)user;
    const int64_t parts = tn_cuda_blocks(job.count, 4096, TN_CUDA_RANGE_BLOCKS);
    const range_parts first = {job, parts};
    const choose_scale second = {job, parts};
    const quantize_bytes third = {job};
    cudaError_t error = tn_each_block_launch(first, parts, 256, stream);
    if (error == cudaSuccess) error = tn_each_launch(second, 1, stream);
    if (error == cudaSuccess && job.y) error = tn_each_launch(third, job.count, stream);
    return error;
}

extern "C" cudaError_t tn_cuda_byte_product_launch(const void *user, cudaStream_t stream) {
    const byte_product function = {*(const tn_cuda_byte_product_job *)user};
    const tn_cuda_byte_product_job &job = function.job;
    return tn_each_launch(function, job.batch.count * job.rows * job.columns, stream);
}

extern "C" cudaError_t tn_cuda_byte_conv_launch(const void *user, cudaStream_t stream) {
    const byte_conv function = {*(const tn_cuda_byte_conv_job *)user};
    return tn_each_launch(function, function.job.box.count, stream);
}
