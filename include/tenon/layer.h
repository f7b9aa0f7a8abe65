/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/layer.h: shorthand for authors over tenon/plugin.h, which it includes and adds nothing to:
 * tables in fewer words, shapes asked for and set, elements read and written in double precision.
 * All of it is compiled into the plugin; nothing here is part of the contract between binaries, and
 * what it cannot say the tables of plugin.h say. The folder examples/ shows it in use.
 */
#ifndef TENON_LAYER_H
#define TENON_LAYER_H

#include <stdio.h>
#include <tenon/plugin.h>

/* -------------------------------------------------------------------------------------------------
 * tables */

/* The struct of a node's parameters, with what it must begin with:
 * TN_LAYER_PARAMS(soft_clip, float low, high;); */
#define TN_LAYER_PARAMS(name, ...)                                                                 \
    typedef struct name {                                                                          \
        uint64_t present;                                                                          \
        __VA_ARGS__                                                                                \
    } name

/* Optional fields: a truth value; a number, and a list of `count` numbers, each in low..high. */
#define TN_LAYER_BOOL(params, member, fallback, doc)                                               \
    TN_FIELD(params, member, TN_FIELD_BOOL, TN_OPTIONAL, fallback, doc)
#define TN_LAYER_I64(params, member, fallback, low, high, doc)                                     \
    TN_FIELD_RANGE(params, member, TN_FIELD_I64, TN_OPTIONAL, fallback, low, high, doc)
#define TN_LAYER_F32(params, member, fallback, low, high, doc)                                     \
    TN_FIELD_RANGE(params, member, TN_FIELD_F32, TN_OPTIONAL, fallback, low, high, doc)
#define TN_LAYER_I64S(params, member, fallback, count, low, high, doc)                             \
    TN_FIELD_LIST(params, member, TN_FIELD_I64S, TN_OPTIONAL, fallback, count, count, low, high,   \
                  doc)

/* The reference from a function of yours, static double element(const tn_call *call, int64_t i):
 * what element `i` of output 0 is, in double precision. */
#define TN_LAYER_REFERENCE(element)                                                                \
    static tn_status reference(tn_call *call) {                                                    \
        for (int64_t i = 0; i < tn_layer_count(call->outputs[0]); i++)                             \
            tn_layer_store(call->outputs[0], i, element(call, i));                                 \
        return TN_OK;                                                                              \
    }

/* The kernel's `reshape`, which asks for `bytes` of workspace, an expression over `call`. */
#define TN_LAYER_WORKSPACE(bytes)                                                                  \
    static tn_status reshape(tn_call *call) {                                                      \
        call->workspace_bytes = (uint64_t)(bytes);                                                 \
        return TN_OK;                                                                              \
    }

/* Before a function that is compiled twice with all that it calls, for any processor and for AVX2,
 * which is chosen when the library is loaded. Results are the same: nothing is fused or reordered.
 * By GCC with glibc; nothing elsewhere. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__AVX2__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TN_LAYER_LEVELS __attribute__((flatten, target_clones("avx2", "default")))
#else
#define TN_LAYER_LEVELS
#endif

/* The kernel's `run` on all threads, by a function of yours, static tn_status body(tn_call *call,
 * int64_t begin, int64_t end, uint32_t thread), that does items begin..end-1 of `items`, at least
 * `grain` of them at once: two expressions over `call`. */
#define TN_LAYER_RUN(body, items, grain)                                                           \
    TN_LAYER_LEVELS                                                                                \
    static tn_status tn_layer_body(void *call, int64_t begin, int64_t end, uint32_t thread) {      \
        return body((tn_call *)call, begin, end, thread);                                          \
    }                                                                                              \
    static tn_status run(tn_call *call) {                                                          \
        return call->host->parallel_for(call, items, grain, tn_layer_body, call);                  \
    }

/* Before a loop whose iterations do not depend on each other, which the compiler cannot see. */
#if defined(__GNUC__) && !defined(__clang__)
#define TN_LAYER_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TN_LAYER_INDEPENDENT
#endif

/* A second kernel of the library, in a source file of its own (like one for another device): the
 * build defines TN_LAYER_OTHER_KERNEL as the name of its table. */
#ifdef TN_LAYER_OTHER_KERNEL
extern const tn_kernel TN_LAYER_OTHER_KERNEL;
#define TN_LAYER_KERNELS &tn_layer_kernel, &TN_LAYER_OTHER_KERNEL
#else
#define TN_LAYER_KERNELS &tn_layer_kernel
#endif

/* A library of one operator of version 1 in `of_domain`, with fields in the struct `params`, and
 * one deterministic kernel for the processor with one combination: the end of a plugin's source,
 * without a semicolon. The tables `fields`, `inputs`, `outputs` and `cases` and the functions
 * `infer`, `reference` and `run` are those of these names above it; what else the kernel has
 * follows, like .reshape = reshape. For more operators, kernels, versions: the tables themselves,
 * TN_LIBRARY. */
#define TN_LAYER_LIBRARY(library_name, of_domain, of_name, text, params, combination, ...)         \
    static const tn_operator tn_layer_operator = {.size = sizeof(tn_operator),                     \
                                                  .since_version = 1,                              \
                                                  .state_version = 1,                              \
                                                  .domain = of_domain,                             \
                                                  .name = of_name,                                 \
                                                  .doc = text,                                     \
                                                  TN_FIELDS(params, fields),                       \
                                                  TN_INPUTS(inputs),                               \
                                                  TN_OUTPUTS(outputs),                             \
                                                  .infer = infer,                                  \
                                                  .reference = reference,                          \
                                                  TN_CASES(cases)};                                \
    static const char *const tn_layer_combinations[] = {combination};                              \
    static const tn_kernel tn_layer_kernel = {.size = sizeof(tn_kernel),                           \
                                              .revision = 1,                                       \
                                              .domain = of_domain,                                 \
                                              .op = of_name,                                       \
                                              .device = "cpu",                                     \
                                              .name = library_name,                                \
                                              .traits = TN_KERNEL_DETERMINISTIC,                   \
                                              TN_COMBINATIONS(tn_layer_combinations),              \
                                              __VA_ARGS__};                                        \
    static const tn_operator *const tn_layer_operators[] = {&tn_layer_operator};                   \
    static const tn_kernel *const tn_layer_kernels[] = {TN_LAYER_KERNELS};                         \
    TN_LIBRARY(library_name, "1.0", tn_layer_operators, tn_layer_kernels)

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------------------------
 * shapes */

/* An input, null where it is absent: an optional one at the end may not even be counted. */
static inline const tn_tensor *tn_layer_input(const tn_call *call, uint32_t input) {
    return input < call->input_count ? call->inputs[input] : NULL;
}

/* The data of an input, null where it is absent or shape-only. */
static inline const void *tn_layer_data(const tn_call *call, uint32_t input) {
    const tn_tensor *tensor = tn_layer_input(call, input);
    return tensor ? tensor->data : NULL;
}

/* What a shape rule asks of an extent, beside a number: nothing; that there is something. */
enum { TN_LAYER_ANY = -1, TN_LAYER_SOME = -2 };

/* Writes a shape like [1,3,?] into `text`. */
static inline void tn_layer_describe(uint32_t rank, const int64_t *shape, char *text,
                                     size_t bytes) {
    size_t at = (size_t)snprintf(text, bytes, "[");
    for (uint32_t i = 0; i < rank && at < bytes; i++) {
        const char *const comma = i ? "," : "";
        const int written =
            shape[i] < 0 ? snprintf(text + at, bytes - at, "%s%s", comma,
                                    shape[i] == TN_LAYER_SOME ? "1+" : "?")
                         : snprintf(text + at, bytes - at, "%s%lld", comma, (long long)shape[i]);
        at += (size_t)written;
    }
    if (at < bytes) snprintf(text + at, bytes - at, "]");
}

/* The name of an input port, for messages. */
static inline const char *tn_layer_port_name(const tn_call *call, uint32_t input) {
    if (!call->op || input >= call->op->input_count) return "?";
    const char *ports = (const char *)call->op->inputs;
    return ((const tn_port *)(const void *)(ports + (size_t)input * call->op->port_size))->name;
}

/* For shape rules: whether an input has this rank and these extents (or TN_LAYER_ANY ...), or is
 * absent. If not, the reason is recorded and the rule returns TN_ERROR_SHAPE. */
static inline bool tn_layer_fits(tn_call *call, uint32_t input, uint32_t rank,
                                 const int64_t *shape) {
    const tn_tensor *tensor = tn_layer_input(call, input);
    bool is_same = !tensor || tensor->rank == rank;
    for (uint32_t i = 0; tensor && is_same && i < rank; i++)
        is_same = tensor->shape[i] == shape[i] || shape[i] == TN_LAYER_ANY ||
                  (shape[i] == TN_LAYER_SOME && tensor->shape[i] > 0);
    if (is_same) return true;
    char expected[128], found[128];
    tn_layer_describe(rank, shape, expected, sizeof(expected));
    tn_layer_describe(tensor->rank, tensor->shape, found, sizeof(found));
    call->host->fail(call, TN_ERROR_SHAPE, "input '%s' is %s, expected %s",
                     tn_layer_port_name(call, input), found, expected);
    return false;
}

/* Sets rank and shape of an output, in a shape rule, to `rank` extents, at most TN_MAX_RANK. */
static inline tn_status tn_layer_set_shape(tn_call *call, uint32_t output, uint32_t rank,
                                           const int64_t *shape) {
    call->outputs[output]->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        call->outputs[output]->shape[i] = shape[i];
    return TN_OK;
}

/* The same with the extents as arguments, in C: TN_LAYER_FITS(call, 1, batch, TN_LAYER_ANY, 2). */
#define TN_LAYER_EXTENTS(...)                                                                      \
    (uint32_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {      \
        __VA_ARGS__                                                                                \
    }
#define TN_LAYER_FITS(call, input, ...) tn_layer_fits(call, input, TN_LAYER_EXTENTS(__VA_ARGS__))
#define TN_LAYER_SET_SHAPE(call, output, ...)                                                      \
    tn_layer_set_shape(call, output, TN_LAYER_EXTENTS(__VA_ARGS__))

/* -------------------------------------------------------------------------------------------------
 * elements */

/* The number of elements. */
static inline int64_t tn_layer_count(const tn_tensor *tensor) {
    uint64_t count = 1; /* the extents before a zero may have a product beyond int64 */
    for (uint32_t i = 0; i < tensor->rank; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

/* The number of rows: elements along all axes but the last one. */
static inline int64_t tn_layer_rows(const tn_tensor *tensor) {
    uint64_t count = 1;
    for (uint32_t i = 0; i + 1 < tensor->rank; i++)
        count *= (uint64_t)tensor->shape[i];
    return (int64_t)count;
}

/* The one scale of a tensor at a port that names qi8 or qu8, and its zero point. */
static inline float tn_layer_scale(const tn_tensor *tensor) {
    return *(const float *)tensor->quantization->scales;
}
static inline int32_t tn_layer_zero_point(const tn_tensor *tensor) {
    const void *zero = tensor->quantization->zero_points;
    if (!zero) return 0;
    return tensor->type == TN_I8 ? *(const int8_t *)zero : *(const uint8_t *)zero;
}

/* Element `index` of a linear tensor of f64, f32, integers of 32 and 64 bits, bytes or bool; of
 * another type: not a number. */
static inline double tn_layer_load(const tn_tensor *tensor, int64_t index) {
    switch (tensor->type) {
    case TN_F64:
        return ((const double *)tensor->data)[index];
    case TN_F32:
        return (double)((const float *)tensor->data)[index];
    case TN_I64:
        return (double)((const int64_t *)tensor->data)[index];
    case TN_I32:
        return (double)((const int32_t *)tensor->data)[index];
    case TN_I8:
        return (double)((const int8_t *)tensor->data)[index];
    case TN_U8:
    case TN_BOOL:
        return (double)((const uint8_t *)tensor->data)[index];
    default:
        return __builtin_nan("");
    }
}

/* Writes an element of a linear tensor of f64 or f32; of another type: nothing. */
static inline void tn_layer_store(const tn_tensor *tensor, int64_t index, double value) {
    if (tensor->type == TN_F64)
        ((double *)tensor->data)[index] = value;
    else if (tensor->type == TN_F32)
        ((float *)tensor->data)[index] = (float)value;
}

#ifdef __cplusplus
}
#endif

#endif
