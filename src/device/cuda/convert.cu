/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion between the storages of a tensor on the GPU: element types (32 and 16-bit floats and
 * 8-bit numbers with a scale), and formats of all types. Declared in cuda.h; the processor's is
 * src/tensor/convert.h, and both mean the same.
 *
 * A tensor is seen as N times C times S elements, S being all that comes after the channels. Where
 * the order stays, elements are converted eight at a time; between linear and channels last, tiles
 * go through shared memory; all else is gathered element by element.
 */
#include "cuda.h"
#include "early.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>

namespace {

enum { THREADS = 256, TILE = 32, TILE_ROWS = 8, LEAST_TILED = 12 };
const int64_t MOST_BLOCKS = 1 << 20;

/* How elements are read and written. MOVE: bits as they are. */
enum { MOVE_1, MOVE_2, MOVE_4, MOVE_8, AS_F32, AS_F16, AS_BF16, AS_I8, AS_U8 };

struct storage {
    uint32_t element; /* of the above */
    uint32_t layout;
    int64_t block;
    float scale; /* 8-bit numbers; 0: they are integers */
    int32_t zero_point;
};

struct job {
    storage from, to;
    int64_t n, c, s, stored; /* `stored`: elements of `to`, padded lanes included */
};

__device__ __forceinline__ int64_t place(const storage &t, const job &j, int64_t n, int64_t c,
                                         int64_t s) {
    if (t.layout == TN_LAYOUT_LINEAR) return (n * j.c + c) * j.s + s;
    if (t.layout == TN_LAYOUT_CHANNELS_LAST) return (n * j.s + s) * j.c + c;
    const int64_t blocks = (j.c + t.block - 1) / t.block;
    return ((n * blocks + c / t.block) * j.s + s) * t.block + c % t.block;
}

__device__ __forceinline__ uint64_t load(const storage &t, const void *data, int64_t at) {
    switch (t.element) {
    case MOVE_1:
        return ((const uint8_t *)data)[at];
    case MOVE_2:
        return ((const uint16_t *)data)[at];
    case MOVE_4:
        return ((const uint32_t *)data)[at];
    case MOVE_8:
        return ((const uint64_t *)data)[at];
    case AS_F32:
        return __float_as_uint(((const float *)data)[at]);
    case AS_F16:
        return __float_as_uint(__half2float(((const __half *)data)[at]));
    case AS_BF16:
        return __float_as_uint(__bfloat162float(((const __nv_bfloat16 *)data)[at]));
    case AS_I8: {
        const int value = ((const int8_t *)data)[at];
        return __float_as_uint(t.scale != 0 ? (float)(value - t.zero_point) * t.scale
                                            : (float)value);
    }
    default: {
        const int value = ((const uint8_t *)data)[at];
        return __float_as_uint(t.scale != 0 ? (float)(value - t.zero_point) * t.scale
                                            : (float)value);
    }
    }
}

/* With a scale rounded to nearest even, without one cut toward zero (NaN: 0); saturated. */
__device__ __forceinline__ int whole(const storage &t, float x, float low, float high) {
    if (t.scale == 0) return isnan(x) ? 0 : (int)fminf(fmaxf(truncf(x), low), high);
    const float steps = rintf(__fdiv_rn(x, t.scale)) + (float)t.zero_point;
    return !(steps > low) ? (int)low : (int)fminf(steps, high);
}

__device__ __forceinline__ void store(const storage &t, void *data, int64_t at, uint64_t bits) {
    const float x = __uint_as_float((uint32_t)bits);
    switch (t.element) {
    case MOVE_1:
        ((uint8_t *)data)[at] = (uint8_t)bits;
        return;
    case MOVE_2:
        ((uint16_t *)data)[at] = (uint16_t)bits;
        return;
    case MOVE_4:
        ((uint32_t *)data)[at] = (uint32_t)bits;
        return;
    case MOVE_8:
        ((uint64_t *)data)[at] = bits;
        return;
    case AS_F32:
        ((float *)data)[at] = x;
        return;
    case AS_F16:
        ((__half *)data)[at] = __float2half_rn(x);
        return;
    case AS_BF16:
        ((__nv_bfloat16 *)data)[at] = __float2bfloat16_rn(x);
        return;
    case AS_I8:
        ((int8_t *)data)[at] = (int8_t)whole(t, x, -128.0f, 127.0f);
        return;
    default:
        ((uint8_t *)data)[at] = (uint8_t)whole(t, x, 0.0f, 255.0f);
    }
}

__device__ __forceinline__ void store_zero(const storage &t, void *data, int64_t at) {
    static const uint8_t bytes[] = {1, 2, 4, 8, 4, 2, 2, 1, 1};
    for (int i = 0; i < bytes[t.element]; i++)
        ((uint8_t *)data)[at * bytes[t.element] + i] = 0;
}

/* One thread an element of `to`, in its order. */
__global__ void gather(job j, const void *from, void *to) {
    wait_for_last();
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x; at < j.stored; at += step) {
        int64_t n, c, s;
        if (j.to.layout == TN_LAYOUT_LINEAR) {
            s = at % j.s, c = at / j.s % j.c, n = at / j.s / j.c;
        } else if (j.to.layout == TN_LAYOUT_CHANNELS_LAST) {
            c = at % j.c, s = at / j.c % j.s, n = at / j.c / j.s;
        } else {
            const int64_t blocks = (j.c + j.to.block - 1) / j.to.block;
            const int64_t row = at / j.to.block, plane = row / j.s;
            s = row % j.s, n = plane / blocks;
            c = plane % blocks * j.to.block + at % j.to.block;
        }
        if (c < j.c)
            store(j.to, to, at, load(j.from, from, place(j.from, j, n, c, s)));
        else
            store_zero(j.to, to, at);
    }
}

/* The same order on both sides: runs of eight, read and written whole. */
__device__ __forceinline__ void load_eight(const storage &t, const void *data, int64_t at,
                                           float *x) {
    if (t.element == AS_F32) {
        const float4 *p = (const float4 *)((const float *)data + at);
        const float4 a = p[0], b = p[1];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
        return;
    }
    if (t.element == AS_F16 || t.element == AS_BF16) {
        const uint4 raw = *(const uint4 *)((const uint16_t *)data + at);
        const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
        for (int i = 0; i < 8; i++) {
            const uint16_t half = (uint16_t)(words[i / 2] >> (i % 2 * 16));
            x[i] = t.element == AS_F16 ? __half2float(__ushort_as_half(half))
                                       : __uint_as_float((uint32_t)half << 16);
        }
        return;
    }
    const uint2 raw = *(const uint2 *)((const uint8_t *)data + at);
    const uint32_t words[2] = {raw.x, raw.y};
    for (int i = 0; i < 8; i++) {
        const uint8_t byte = (uint8_t)(words[i / 4] >> (i % 4 * 8));
        const int value = t.element == AS_I8 ? (int)(int8_t)byte : (int)byte;
        x[i] = t.scale != 0 ? (float)(value - t.zero_point) * t.scale : (float)value;
    }
}

__device__ __forceinline__ void store_eight(const storage &t, void *data, int64_t at,
                                            const float *x) {
    if (t.element == AS_F32) {
        float4 *p = (float4 *)((float *)data + at);
        p[0] = make_float4(x[0], x[1], x[2], x[3]);
        p[1] = make_float4(x[4], x[5], x[6], x[7]);
        return;
    }
    if (t.element == AS_F16 || t.element == AS_BF16) {
        uint32_t words[4];
        for (int i = 0; i < 4; i++) {
            uint32_t low, high;
            if (t.element == AS_F16) {
                low = __half_as_ushort(__float2half_rn(x[2 * i]));
                high = __half_as_ushort(__float2half_rn(x[2 * i + 1]));
            } else {
                low = __bfloat16_as_ushort(__float2bfloat16_rn(x[2 * i]));
                high = __bfloat16_as_ushort(__float2bfloat16_rn(x[2 * i + 1]));
            }
            words[i] = low | high << 16;
        }
        *(uint4 *)((uint16_t *)data + at) = make_uint4(words[0], words[1], words[2], words[3]);
        return;
    }
    const float low = t.element == AS_I8 ? -128.0f : 0.0f;
    const float high = t.element == AS_I8 ? 127.0f : 255.0f;
    uint32_t words[2] = {0, 0};
    for (int i = 0; i < 8; i++)
        words[i / 4] |= (uint32_t)(uint8_t)whole(t, x[i], low, high) << (i % 4 * 8);
    *(uint2 *)((uint8_t *)data + at) = make_uint2(words[0], words[1]);
}

__global__ void follow(job j, const void *from, void *to) {
    wait_for_last();
    const int64_t step = (int64_t)gridDim.x * THREADS * 8;
    for (int64_t at = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * 8; at < j.stored;
         at += step) {
        if (at + 8 <= j.stored) {
            float x[8];
            load_eight(j.from, from, at, x);
            store_eight(j.to, to, at, x);
            continue;
        }
        for (int64_t i = at; i < j.stored; i++)
            store(j.to, to, i, load(j.from, from, i));
    }
}

/* For each n: a matrix of `rows` rows and `columns` columns becomes one of columns and rows. Not
 * for elements of 8 bytes. */
__global__ void turn(job j, int64_t rows, int64_t columns, const void *from, void *to) {
    __shared__ uint32_t tile[TILE][TILE + 1];
    wait_for_last();
    const int64_t across = (columns + TILE - 1) / TILE, down = (rows + TILE - 1) / TILE;
    const int64_t count = across * down * j.n;
    for (int64_t t = blockIdx.x; t < count; t += gridDim.x) {
        const int64_t column = t % across * TILE, row = t / across % down * TILE;
        const int64_t base = t / across / down * rows * columns;
        for (int y = threadIdx.y; y < TILE; y += TILE_ROWS) {
            const int64_t r = row + y, c = column + threadIdx.x;
            if (r < rows && c < columns)
                tile[y][threadIdx.x] = (uint32_t)load(j.from, from, base + r * columns + c);
        }
        __syncthreads();
        for (int y = threadIdx.y; y < TILE; y += TILE_ROWS) {
            const int64_t r = row + threadIdx.x, c = column + y;
            if (r < rows && c < columns) store(j.to, to, base + c * rows + r, tile[threadIdx.x][y]);
        }
        __syncthreads();
    }
}

/* ----------------------------------------------------------------------------------------------
 * host */

const char *unsupported = "between these two storages the GPU does not convert";

uint32_t element_bytes(tn_type type) {
    static const uint8_t bytes[TN_TYPE_COUNT] = {0, 8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
    return type < TN_TYPE_COUNT ? bytes[type] : 0;
}

bool read_scale(const tn_tensor *tensor, storage *out) {
    const tn_quantization *q = tensor->quantization;
    out->scale = 0;
    out->zero_point = 0;
    if (!q || (tensor->type != TN_I8 && tensor->type != TN_U8)) return !q;
    if (q->axis_count != 0 || q->scale_type != TN_F32 || !q->scales) return false;
    out->scale = *(const float *)q->scales;
    if (q->zero_points)
        out->zero_point = tensor->type == TN_I8 ? *(const int8_t *)q->zero_points
                                                : *(const uint8_t *)q->zero_points;
    return out->scale > 0;
}

bool element_of(tn_type type, uint32_t *out_element) {
    switch (type) {
    case TN_F32:
        *out_element = AS_F32;
        return true;
    case TN_F16:
        *out_element = AS_F16;
        return true;
    case TN_BF16:
        *out_element = AS_BF16;
        return true;
    case TN_I8:
        *out_element = AS_I8;
        return true;
    case TN_U8:
        *out_element = AS_U8;
        return true;
    default:
        return false;
    }
}

/* Elements that lie without gaps in the order of the format. */
bool read_layout(const tn_tensor *tensor, storage *out) {
    out->layout = tensor->rank < 2 ? (uint32_t)TN_LAYOUT_LINEAR : tensor->format & 0xff;
    out->block = out->layout == TN_LAYOUT_BLOCKED ? tensor->format >> 16 : 0;
    if (out->layout > TN_LAYOUT_BLOCKED || tensor->rank > TN_MAX_RANK) return false;
    if (out->layout == TN_LAYOUT_BLOCKED && (out->block < 1 || (tensor->format >> 8 & 0xff) != 1))
        return false;
    if (!tensor->strides) return true;
    int64_t step = out->block ? out->block : 1;
    if (out->layout == TN_LAYOUT_CHANNELS_LAST) {
        if (tensor->shape[1] != 1 && tensor->strides[1] != 1) return false;
        step = tensor->shape[1];
    }
    for (uint32_t i = tensor->rank; i-- > 0;) {
        if (i == 1 && out->layout == TN_LAYOUT_CHANNELS_LAST) continue;
        if (tensor->shape[i] != 1 && tensor->strides[i] != step) return false;
        step *= i == 1 && out->block ? (tensor->shape[1] + out->block - 1) / out->block
                                     : tensor->shape[i];
    }
    return true;
}

bool same_numbers(const storage *a, const storage *b, const tn_tensor *from, const tn_tensor *to) {
    return from->type == to->type && a->scale == b->scale && a->zero_point == b->zero_point;
}

bool describe(const tn_tensor *from, const tn_tensor *to, job *out) {
    static const uint32_t moves[9] = {0, MOVE_1, MOVE_2, 0, MOVE_4, 0, 0, 0, MOVE_8};
    if (from->rank != to->rank || !read_layout(from, &out->from) || !read_layout(to, &out->to) ||
        !read_scale(from, &out->from) || !read_scale(to, &out->to))
        return false;
    out->n = out->c = out->s = 1;
    for (uint32_t i = 0; i < from->rank; i++) {
        if (from->shape[i] != to->shape[i]) return false;
        *(i == 0 ? &out->n : i == 1 ? &out->c : &out->s) *= from->shape[i];
    }
    const int64_t block = out->to.block;
    out->stored = out->n * (block ? (out->c + block - 1) / block * block : out->c) * out->s;
    if (same_numbers(&out->from, &out->to, from, to)) {
        out->from.element = out->to.element = moves[element_bytes(from->type)];
        return element_bytes(from->type) != 0;
    }
    const bool are_integers =
        (from->type == TN_I8 || from->type == TN_U8) && (to->type == TN_I8 || to->type == TN_U8);
    if (are_integers && out->from.scale == 0 && out->to.scale == 0) return false; /* keep bits */
    return element_of(from->type, &out->from.element) && element_of(to->type, &out->to.element);
}

unsigned int blocks_for(int64_t items, int64_t each) {
    const int64_t blocks = (items + each - 1) / each;
    return (unsigned int)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

bool is_turned(const job *j) {
    const uint32_t a = j->from.layout, b = j->to.layout;
    return ((a == TN_LAYOUT_LINEAR && b == TN_LAYOUT_CHANNELS_LAST) ||
            (a == TN_LAYOUT_CHANNELS_LAST && b == TN_LAYOUT_LINEAR)) &&
           j->c >= LEAST_TILED && j->s >= LEAST_TILED && j->from.element != MOVE_8;
}

/* Whether the elements lie in one order on both sides; padded lanes are then zero on both. */
bool keeps_order(const job *j) {
    if (j->from.layout == j->to.layout && j->from.block == j->to.block)
        return j->from.block == 0 || (j->from.zero_point == 0 && j->to.zero_point == 0);
    return j->from.block == 0 && j->to.block == 0 && (j->c == 1 || j->s == 1);
}

cudaError_t launch(const job *j, const void *from, void *to, uint64_t bytes, cudaStream_t stream) {
    if (keeps_order(j) && j->from.element <= MOVE_8)
        return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
    if (keeps_order(j))
        return launch_early(follow, blocks_for(j->stored, THREADS * 8), THREADS, stream, *j, from,
                            to);
    if (is_turned(j)) {
        const bool is_linear = j->from.layout == TN_LAYOUT_LINEAR;
        const int64_t rows = is_linear ? j->c : j->s, columns = is_linear ? j->s : j->c;
        const int64_t tiles = (rows + TILE - 1) / TILE * ((columns + TILE - 1) / TILE) * j->n;
        return launch_early(turn, blocks_for(tiles, 1), dim3(TILE, TILE_ROWS), stream, *j, rows,
                            columns, from, to);
    }
    return launch_early(gather, blocks_for(j->stored, THREADS), THREADS, stream, *j, from, to);
}

} // namespace

tn_status tn_cuda_convert(const tn_device *device, const tn_tensor *from, const tn_tensor *to,
                          void *stream) noexcept {
    job j;
    if (!describe(from, to, &j)) return tn_cuda_error_set_text(TN_ERROR_UNSUPPORTED, unsupported);
    if (j.stored == 0) return TN_OK;
    const int before = tn_cuda_device_enter(device);
    const cudaStream_t on = stream ? (cudaStream_t)stream : cudaStreamPerThread;
    cudaError_t error = launch(&j, from->data, to->data, to->bytes, on);
    if (error == cudaSuccess && !stream) error = cudaStreamSynchronize(on);
    tn_cuda_device_leave(device, before);
    return tn_cuda_error_set(device, error, "a conversion");
}
