/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of byte_pool.h, compiled by byte_pool_<level>.c. Before it is included,
 * TN_BYTE_POOL_LEVEL names the table to define.
 */
#include "kit/int8/dot_vector.h"
#include "kit/window/byte_pool.h"

#if defined(__AVX512BW__)
typedef __m512i byte_vector;
TN_INLINE byte_vector bytes_load(const int8_t *from) {
    return _mm512_loadu_si512(from);
}
TN_INLINE void bytes_store(int8_t *to, byte_vector value) {
    _mm512_storeu_si512(to, value);
}
TN_INLINE byte_vector bytes_larger(byte_vector a, byte_vector b) {
    return _mm512_max_epi8(a, b);
}
TN_INLINE byte_vector bytes_flip(byte_vector a, int8_t flip) {
    return _mm512_xor_si512(a, _mm512_set1_epi8(flip));
}
#elif defined(__AVX2__)
typedef __m256i byte_vector;
TN_INLINE byte_vector bytes_load(const int8_t *from) {
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}
TN_INLINE void bytes_store(int8_t *to, byte_vector value) {
    _mm256_storeu_si256((__m256i *)(void *)to, value);
}
TN_INLINE byte_vector bytes_larger(byte_vector a, byte_vector b) {
    return _mm256_max_epi8(a, b);
}
TN_INLINE byte_vector bytes_flip(byte_vector a, int8_t flip) {
    return _mm256_xor_si256(a, _mm256_set1_epi8(flip));
}
#else
typedef int8_t byte_vector __attribute__((vector_size(16)));
TN_INLINE byte_vector bytes_load(const int8_t *from) {
    byte_vector value;
    memcpy(&value, from, sizeof(value));
    return value;
}
TN_INLINE void bytes_store(int8_t *to, byte_vector value) {
    memcpy(to, &value, sizeof(value));
}
TN_INLINE byte_vector bytes_larger(byte_vector a, byte_vector b) {
    const byte_vector mask = a > b;
    return (a & mask) | (b & ~mask);
}
TN_INLINE byte_vector bytes_flip(byte_vector a, int8_t flip) {
    return a ^ flip;
}
#endif
enum { BYTES = sizeof(byte_vector) };

static void larger(int8_t *restrict to, const int8_t *restrict from, int8_t flip, int64_t count) {
    int64_t i = 0;
    for (; i + BYTES <= count; i += BYTES)
        bytes_store(to + i,
                    bytes_larger(bytes_load(to + i), bytes_flip(bytes_load(from + i), flip)));
    for (; i < count; i++) {
        const int8_t value = (int8_t)(from[i] ^ flip);
        to[i] = to[i] > value ? to[i] : value;
    }
}

/* Few channels: element by element. */
static void larger_narrow(const tn_byte_pool *pool, const int8_t *restrict row,
                          int8_t *restrict out) {
    const int64_t channels = pool->channels, step = pool->stride_width * channels;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t x = 0; x < pool->out_width; x++)
            out[x * channels + c] = row[x * step + c];
        for (int64_t k = 1; k < pool->kernel_width; k++) {
            const int8_t *from = row + k * pool->dilation_width * channels + c;
            for (int64_t x = 0; x < pool->out_width; x++) {
                int8_t *to = out + x * channels + c;
                *to = *to > from[x * step] ? *to : from[x * step];
            }
        }
    }
}

static void larger_columns(const tn_byte_pool *pool, const int8_t *restrict row,
                           int8_t *restrict out) {
    const int64_t channels = pool->channels;
    if (channels < 8) {
        larger_narrow(pool, row, out);
        return;
    }
    const int64_t step = pool->dilation_width * channels;
    for (int64_t x = 0; x < pool->out_width; x++) {
        const int8_t *from = row + x * pool->stride_width * channels;
        for (int64_t c = 0; c < channels; c += BYTES) {
            byte_vector value = bytes_load(from + c);
            for (int64_t k = 1; k < pool->kernel_width; k++)
                value = bytes_larger(value, bytes_load(from + c + k * step));
            bytes_store(out + x * channels + c, value);
        }
    }
}

static void add(int32_t *restrict to, const int8_t *restrict from, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void mean_columns(const tn_byte_pool *pool, const int32_t *restrict row,
                         const float *restrict scales, int8_t *restrict out) {
    const int64_t channels = pool->channels, step = pool->dilation_width * channels;
    const tn_vector low = tn_vector_all(-128.0f), high = tn_vector_all(127.0f);
    for (int64_t x = 0; x < pool->out_width; x++) {
        const int32_t *from = row + x * pool->stride_width * channels;
        for (int64_t c = 0; c < channels; c += TN_LANES) {
            tn_vector_whole sum = tn_vector_whole_load(from + c);
            for (int64_t k = 1; k < pool->kernel_width; k++)
                sum += tn_vector_whole_load(from + c + k * step);
            tn_byte_store(out + x * channels + c,
                          tn_byte_clamp(tn_vector_of_whole(sum) * scales[x], low, high), TN_LANES);
        }
    }
}

const tn_byte_pool_level TN_BYTE_POOL_LEVEL = {
    .larger = larger, .larger_columns = larger_columns, .add = add, .mean_columns = mean_columns};
