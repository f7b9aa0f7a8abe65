/* SPDX-License-Identifier: Apache-2.0 */
/* Connected parts of a mask, in C++: pixels that touch by a side have one number, from 1 on in the
 * order of each part's first pixel; 0 is outside. */
#include "seventeenth.h"
#include <new>
#include <vector>

static const tn_port inputs[] = {TN_PORT("mask", "bool|u8", 0, "height, width; not 0 is inside")};
static const tn_port outputs[] = {TN_PORT("labels", "i32", 0, "as the mask"),
                                  TN_PORT("parts", "i64", TN_PORT_OPTIONAL, "a scalar: how many")};

static tn_status infer(tn_call *call) noexcept {
    const int64_t any[] = {TN_LAYER_ANY, TN_LAYER_ANY};
    if (!tn_layer_fits(call, 0, 2, any)) return TN_ERROR_SHAPE;
    const int64_t *shape = call->inputs[0]->shape;
    if (shape[0] > 1 << 15 || shape[1] > 1 << 15)
        return call->host->fail(call, TN_ERROR_SHAPE, "%lld by %lld pixels, expected <= %d",
                                (long long)shape[0], (long long)shape[1], 1 << 15);
    if (output(call, 1)) call->outputs[1]->rank = 0;
    return set_shape(call, 0, 2, shape);
}

static const uint8_t *mask_of(const tn_call *call) {
    return static_cast<const uint8_t *>(call->inputs[0]->data);
}

static void finish(const tn_call *call, const int32_t *labels, int64_t count, int32_t parts) {
    if (output(call, 0) && labels != call->outputs[0]->data && count > 0)
        memcpy(call->outputs[0]->data, labels, size_t(count) * sizeof(*labels));
    if (output(call, 1)) *static_cast<int64_t *>(call->outputs[1]->data) = parts;
}

/* Fills part after part, with a stack of pixels. */
static void fill_parts(const tn_call *call, std::vector<int32_t> &labels,
                       std::vector<int64_t> &stack) {
    const int64_t height = call->inputs[0]->shape[0], width = call->inputs[0]->shape[1];
    const uint8_t *mask = mask_of(call);
    labels.assign(size_t(height * width), 0);
    int32_t parts = 0;
    for (int64_t i = 0; i < height * width; i++) {
        if (!mask[i] || labels[size_t(i)]) continue;
        labels[size_t(i)] = ++parts;
        stack.assign(1, i);
        while (!stack.empty()) {
            const int64_t at = stack.back(), row = at / width, column = at % width;
            stack.pop_back();
            const int64_t next[] = {row > 0 ? at - width : at, row + 1 < height ? at + width : at,
                                    column > 0 ? at - 1 : at, column + 1 < width ? at + 1 : at};
            for (const int64_t to : next)
                if (mask[to] && !labels[size_t(to)]) {
                    labels[size_t(to)] = parts;
                    stack.push_back(to);
                }
        }
    }
    finish(call, labels.data(), height * width, parts);
}

static tn_status reference(tn_call *call) noexcept {
#if MISTAKE == 1
    std::vector<int32_t> labels;
    std::vector<int64_t> stack;
    fill_parts(call, labels, stack);
    return TN_OK;
#else
    try {
        std::vector<int32_t> labels;
        std::vector<int64_t> stack;
        fill_parts(call, labels, stack);
        return TN_OK;
    } catch (const std::bad_alloc &) {
        return TN_ERROR_MEMORY;
    }
#endif
}

static tn_status reshape(tn_call *call) noexcept {
    call->workspace_bytes = uint64_t(tn_layer_count(call->inputs[0])) * sizeof(int32_t);
    return TN_OK;
}

#if MISTAKE == 2
static void fill_part(int32_t *labels, const uint8_t *mask, int64_t height, int64_t width,
                      int64_t at, int32_t part) {
    if (!mask[at] || labels[at]) return;
    labels[at] = part;
    if (at >= width) fill_part(labels, mask, height, width, at - width, part);
    if (at + width < height * width) fill_part(labels, mask, height, width, at + width, part);
    if (at % width > 0) fill_part(labels, mask, height, width, at - 1, part);
    if (at % width + 1 < width) fill_part(labels, mask, height, width, at + 1, part);
}
static tn_status run(tn_call *call) noexcept {
    const int64_t height = call->inputs[0]->shape[0], width = call->inputs[0]->shape[1];
    int32_t *labels = static_cast<int32_t *>(call->workspace), parts = 0;
    for (int64_t i = 0; i < height * width; i++)
        labels[i] = 0;
    for (int64_t i = 0; i < height * width; i++)
        if (mask_of(call)[i] && !labels[i])
            fill_part(labels, mask_of(call), height, width, i, ++parts);
    finish(call, labels, height * width, parts);
    return TN_OK;
}
#elif MISTAKE == 3
static std::vector<int32_t> kept_labels;
static std::vector<int64_t> kept_stack;
static tn_status run(tn_call *call) noexcept {
    try {
        fill_parts(call, kept_labels, kept_stack);
        return TN_OK;
    } catch (const std::bad_alloc &) {
        return TN_ERROR_MEMORY;
    }
}
#else
/* The first pixel of a part is its root; a pixel points towards it. */
static int32_t root_of(int32_t *parents, int32_t at) {
    while (parents[at] != at) {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    return at;
}
static void join(int32_t *parents, int32_t a, int32_t b) {
    a = root_of(parents, a);
    b = root_of(parents, b);
    if (a < b)
        parents[b] = a;
    else
        parents[a] = b;
}
static tn_status run(tn_call *call) noexcept {
    const int64_t height = call->inputs[0]->shape[0], width = call->inputs[0]->shape[1];
    const int32_t count = int32_t(height * width);
    const uint8_t *mask = mask_of(call);
    int32_t *parents = static_cast<int32_t *>(call->workspace), parts = 0;
    for (int32_t i = 0; i < count; i++) {
        parents[i] = i;
        if (mask[i] && i % width > 0 && mask[i - 1]) join(parents, i - 1, i);
        if (mask[i] && i >= width && mask[i - width]) join(parents, i - int32_t(width), i);
    }
    /* A root comes before all others of its part: roots become numbers below 0. */
    for (int32_t i = 0; i < count; i++) {
        if (!mask[i]) continue;
        const int32_t to = parents[i];
        parents[i] = to == i ? -++parts : parents[to];
    }
    for (int32_t i = 0; i < count; i++)
        parents[i] = mask[i] ? -parents[i] : 0;
    finish(call, parents, count, parts);
    return TN_OK;
}
#endif

static const char *const cases[] = {
    "| mask=bool[4,5]{1,1,0,0,1,0,1,0,1,1,1,0,1,0,0,1,1,1,0,1}",
    "| mask=u8[3,3]{1,0,7,1,0,255,0,1,0}",
    "| mask=bool[12,9]",
};
static const tn_operator components = {
    OPERATOR,       .name = "Components",   TN_NO_FIELDS,   TN_INPUTS(inputs), TN_OUTPUTS(outputs),
    .infer = infer, .reference = reference, TN_CASES(cases)};
static const char *const combinations[] = {"bool -> i32, i64?", "u8 -> i32, i64?"};
static const tn_kernel kernel = {KERNEL,
                                 .op = "Components",
                                 .device = "cpu",
                                 .name = "joins",
                                 .traits = TN_KERNEL_DETERMINISTIC,
                                 TN_COMBINATIONS(combinations),
                                 .reshape = reshape,
                                 .run = run};
LIBRARY("components", components, kernel)
