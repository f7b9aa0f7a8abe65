/* SPDX-License-Identifier: Apache-2.0 */
/* Bad::Unpack, floats from elements of 4 and 2 bits, and Bad::Pack, 4-bit integers from floats,
 * rounded and held within -8..7: the types whose elements share a byte. And what is wrong with
 * them. */
#include "mistake.h"

#include <math.h>

/* ----------------------------------------------------------------------------------------------
 * elements */

static int bits_of(tn_type type) {
    return type == TN_I2 || type == TN_U2 ? 2 : 4;
}

/* Element i, the first in the lowest bits. */
static int code_of(const tn_tensor *tensor, int64_t i) {
    const int bits = bits_of(tensor->type), each = 8 / bits;
    const int64_t within = i % each;
    const int byte = ((const unsigned char *)tensor->data)[i / each];
    return byte >> (bits * within) & ((1 << bits) - 1);
}

static float value_of(tn_type type, int code) {
    static const float magnitudes[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    const int bits = bits_of(type), sign = 1 << (bits - 1);
    if (type == TN_F4E2M1) return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
    if (type == TN_I4 || type == TN_I2) return (float)((code ^ sign) - sign);
    return (float)code;
}

/* Of five elements and more, the ones of a byte exchanged. */
static int64_t other_order(const tn_tensor *tensor, int64_t i) {
    const int64_t each = 8 / bits_of(tensor->type);
    return i / each * each + (each - 1 - i % each);
}

/* ----------------------------------------------------------------------------------------------
 * Unpack */

static tn_status unpack(tn_call *call, int with_mistakes) {
    const tn_tensor *x = call->inputs[0];
    float *y = call->outputs[0]->data;
    const int64_t count = count_of(x);
    volatile unsigned char unused;
    for (int64_t i = 0; i < count; i++) {
        int code = code_of(x, with_mistakes && WITH(high_half_first) ? other_order(x, i) : i);
        if (with_mistakes && WITH(sign_of_all) && x->type == TN_U4) code = (code ^ 8) - 8;
        y[i] = value_of(with_mistakes && WITH(unsigned_all) && x->type == TN_I4 ? TN_U4 : x->type,
                        code);
    }
    if (with_mistakes && WITH(reads_whole_words)) {
        const int64_t words = (count * bits_of(x->type) + 31) / 32;
        for (int64_t i = 0; i < words * 4; i++)
            unused = ((const unsigned char *)x->data)[i];
    }
    if (with_mistakes && WITH(a_byte_each) && count > 0)
        unused = ((const unsigned char *)x->data)[count - 1];
    (void)unused;
    return TN_OK;
}
static tn_status unpack_reference(tn_call *call) {
    return unpack(call, 0);
}
static tn_status unpack_run(tn_call *call) {
    return unpack(call, 1);
}

static const tn_port unpack_inputs[] = {
    TN_PORT("x", "i4|u4|i2|u2|f4e2m1", 0, "any shape of packed elements")};
static const tn_port unpack_outputs[] = {TN_PORT("y", "f32", 0, "as x")};
static const char *const unpack_cases[] = {"| x=i4[5]{-8,-1,0,3,7} | y=f32[5]{-8,-1,0,3,7}",
                                           "| x=u4[2,3]{0,15,1,8,2,4}",
                                           "| x=i2[7]{-2,-1,0,1,1,0,-2}",
                                           "| x=u2[3,3]",
                                           "| x=f4e2m1[5]{-6,0.5,1.5,4,-3}",
                                           "| x=i4[3,7]"};
static const char *const unpack_combinations[] = {"i4 -> f32", "u4 -> f32", "i2 -> f32",
                                                  "u2 -> f32", "f4e2m1 -> f32"};

/* ----------------------------------------------------------------------------------------------
 * Pack */

static int pack_code(float x, int with_mistakes) {
    const float rounded = with_mistakes && WITH(cuts_off) ? truncf(x) : rintf(x);
    if (with_mistakes && WITH(wraps_around)) return (int)fmodf(rounded, 65536) & 15;
    return (int)fminf(fmaxf(rounded, -8), 7) & 15;
}

static tn_status pack(tn_call *call, int with_mistakes) {
    const float *x = call->inputs[0]->data;
    unsigned char *y = call->outputs[0]->data;
    const int64_t count = count_of(call->inputs[0]);
    const int skips_last = with_mistakes && WITH(last_half_kept) && count % 2 == 1;
    for (int64_t i = 0; i + 1 < count + 1 - skips_last; i += 2) {
        const int low = pack_code(x[i], with_mistakes);
        const int high = i + 1 < count ? pack_code(x[i + 1], with_mistakes)
                         : with_mistakes && WITH(repeats_the_last) ? low
                                                                   : 0;
        y[i / 2] =
            (unsigned char)(with_mistakes && WITH(high_half_written_first) ? low << 4 | high
                                                                           : high << 4 | low);
    }
    if (with_mistakes && WITH(clears_one_byte_more)) y[(count + 1) / 2] = 0;
    return TN_OK;
}
static tn_status pack_reference(tn_call *call) {
    return pack(call, 0);
}
static tn_status pack_run(tn_call *call) {
    return pack(call, 1);
}

static const tn_port pack_inputs[] = {TN_PORT("x", "f32", 0, "any shape")};
static const tn_port pack_outputs[] = {TN_PORT("y", "i4", 0, "as x")};
static const char *const pack_cases[] = {"| x=f32[5]{-20,-1.25,0,3.75,9} | y=i4[5]{-8,-1,0,4,7}",
                                         "| x=f32[3,4]", "| x=f32[7]"};
static const char *const pack_combinations[] = {"f32 -> i4"};

/* ---------------------------------------------------------------------------------------------- */

#define LAYER(id, title, text)                                                                     \
    static const tn_operator id##_operator = {.size = sizeof(tn_operator),                         \
                                              .since_version = 1,                                  \
                                              .state_version = 1,                                  \
                                              .domain = "Bad",                                     \
                                              .name = title,                                       \
                                              .doc = text,                                         \
                                              TN_NO_FIELDS,                                        \
                                              TN_INPUTS(id##_inputs),                              \
                                              TN_OUTPUTS(id##_outputs),                            \
                                              .infer = infer_same,                                 \
                                              .reference = id##_reference,                         \
                                              TN_CASES(id##_cases)};                               \
    static const tn_kernel id##_cpu = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "Bad",                                            \
                                       .op = title,                                                \
                                       .device = "cpu",                                            \
                                       .name = "plain",                                            \
                                       .traits = TN_KERNEL_DETERMINISTIC,                          \
                                       TN_COMBINATIONS(id##_combinations),                         \
                                       .run = id##_run};
LAYER(unpack, "Unpack", "Floats from elements of 4 and 2 bits.")
LAYER(pack, "Pack", "4-bit integers from floats.")
static const tn_operator *const operators[] = {&unpack_operator, &pack_operator};
static const tn_kernel *const kernels[] = {&unpack_cpu, &pack_cpu};
TN_LIBRARY("bad_nibbles", "1", operators, kernels)
