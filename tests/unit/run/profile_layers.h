/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weigh: y[n, c] = x[n, c] * w[c], by a kernel for few rows and one for many, which count what they
 * do; any other range is the reference's. And Both: y = a + b, rows and rows. For the tests of
 * plans with several profiles.
 */
#ifndef TN_TESTS_PROFILE_LAYERS_H
#define TN_TESTS_PROFILE_LAYERS_H

#include <string.h>
#include <tenon/plugin.h>

#define LOT_FEW 4 /* rows; more are many */

enum { LOT_SMALL, LOT_LARGE, LOT_REFERENCE, LOT_KERNELS };
static _Atomic int lot_ran[LOT_KERNELS], lot_prepared[LOT_KERNELS], lot_opened[LOT_KERNELS];
static _Atomic int lot_packed;

static void lot_forget(void) {
    for (int i = 0; i < LOT_KERNELS; i++)
        lot_ran[i] = lot_prepared[i] = lot_opened[i] = 0;
    lot_packed = 0;
}

static tn_status lot_infer(tn_call *call) TN_NOEXCEPT {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}

static tn_status lot_weigh(tn_call *call, const float *weights) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    const int64_t rows = call->inputs[0]->shape[0], columns = call->inputs[0]->shape[1];
    for (int64_t i = 0; i < rows * columns; i++)
        y[i] = x[i] * weights[i % columns];
    return TN_OK;
}
static tn_status lot_weigh_reference(tn_call *call) TN_NOEXCEPT {
    lot_ran[LOT_REFERENCE]++;
    return lot_weigh(call, call->inputs[1]->data);
}

static tn_status lot_fill(void *user, void *data, uint64_t bytes) TN_NOEXCEPT {
    lot_packed++;
    memcpy(data, user, (size_t)bytes);
    return TN_OK;
}
static tn_status lot_prepare(tn_call *call, int which) {
    const tn_tensor *weights = call->inputs[1];
    const void *packed = NULL;
    lot_prepared[which]++;
    const tn_status status =
        call->host->packed(call, 1, "plain", weights->bytes, lot_fill, weights->data, &packed);
    call->state = (void *)(uintptr_t)packed;
    return status;
}
static void lot_release(tn_call *call) TN_NOEXCEPT {
    (void)call; /* the host's */
}

#define LOT_KERNEL(kind, which, condition)                                                         \
    static tn_status lot_##kind##_accepts(tn_call *call) TN_NOEXCEPT {                             \
        return (condition)                                                                         \
                   ? TN_OK                                                                         \
                   : call->host->fail(call, TN_ERROR_UNSUPPORTED, "so many rows are not mine");    \
    }                                                                                              \
    static tn_status lot_##kind##_prepare(tn_call *call) TN_NOEXCEPT {                             \
        return lot_prepare(call, which);                                                           \
    }                                                                                              \
    static tn_status lot_##kind##_open(tn_call *call) TN_NOEXCEPT {                                \
        (void)call;                                                                                \
        lot_opened[which]++;                                                                       \
        return TN_OK;                                                                              \
    }                                                                                              \
    static void lot_##kind##_close(tn_call *call) TN_NOEXCEPT {                                    \
        (void)call;                                                                                \
        lot_opened[which]--;                                                                       \
    }                                                                                              \
    static tn_status lot_##kind##_run(tn_call *call) TN_NOEXCEPT {                                 \
        lot_ran[which]++;                                                                          \
        return lot_weigh(call, call->state);                                                       \
    }                                                                                              \
    static const tn_kernel lot_##kind##_kernel = {.size = sizeof(tn_kernel),                       \
                                                  .revision = 1,                                   \
                                                  .domain = "lot",                                 \
                                                  .op = "Weigh",                                   \
                                                  .device = "cpu",                                 \
                                                  .name = #kind,                                   \
                                                  .accepts = lot_##kind##_accepts,                 \
                                                  .prepare = lot_##kind##_prepare,                 \
                                                  .release = lot_release,                          \
                                                  .open = lot_##kind##_open,                       \
                                                  .close = lot_##kind##_close,                     \
                                                  .run = lot_##kind##_run};
LOT_KERNEL(few, LOT_SMALL, call->inputs[0]->shape[0] <= LOT_FEW)
LOT_KERNEL(many, LOT_LARGE, call->inputs[0]->shape[0] > LOT_FEW)

static tn_status lot_both_infer(tn_call *call) TN_NOEXCEPT {
    if (call->inputs[0]->shape[0] != call->inputs[1]->shape[0])
        return call->host->fail(call, TN_ERROR_SHAPE, "a and b have other numbers of rows");
    return lot_infer(call);
}
static tn_status lot_both(tn_call *call) TN_NOEXCEPT {
    const float *a = call->inputs[0]->data, *b = call->inputs[1]->data;
    for (uint64_t i = 0; i < call->outputs[0]->bytes / sizeof(float); i++)
        ((float *)call->outputs[0]->data)[i] = a[i] + b[i];
    return TN_OK;
}

static const tn_port lot_weigh_inputs[] = {TN_PORT("x", "f32", 0, "rows"),
                                           TN_PORT("w", "f32", 0, "a weight a column")};
static const tn_port lot_both_inputs[] = {TN_PORT("a", "f32", 0, "rows"),
                                          TN_PORT("b", "f32", 0, "as many")};
static const tn_port lot_outputs[] = {TN_PORT("y", "f32", 0, "rows")};
static const tn_operator lot_weigh_operator = {.size = sizeof(tn_operator),
                                               .since_version = 1,
                                               .state_version = 1,
                                               .domain = "lot",
                                               .name = "Weigh",
                                               .doc = "for tests of profiles",
                                               TN_INPUTS(lot_weigh_inputs),
                                               TN_OUTPUTS(lot_outputs),
                                               .infer = lot_infer,
                                               .reference = lot_weigh_reference};
static const tn_operator lot_both_operator = {.size = sizeof(tn_operator),
                                              .since_version = 1,
                                              .state_version = 1,
                                              .domain = "lot",
                                              .name = "Both",
                                              .doc = "for tests of profiles",
                                              TN_INPUTS(lot_both_inputs),
                                              TN_OUTPUTS(lot_outputs),
                                              .infer = lot_both_infer,
                                              .reference = lot_both};

/* --- Dozen: y = x, of 12 elements in any two extents --- */
static tn_status lot_dozen_infer(tn_call *call) TN_NOEXCEPT {
    const tn_tensor *x = call->inputs[0];
    if (x->rank != 2 || x->shape[0] * x->shape[1] != 12)
        return call->host->fail(call, TN_ERROR_SHAPE, "expected 12 elements");
    return lot_infer(call);
}
static tn_status lot_dozen(tn_call *call) TN_NOEXCEPT {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->outputs[0]->bytes);
    return TN_OK;
}
static const tn_port lot_dozen_inputs[] = {TN_PORT("x", "f32", 0, "12 elements")};
static const tn_operator lot_dozen_operator = {.size = sizeof(tn_operator),
                                               .since_version = 1,
                                               .state_version = 1,
                                               .domain = "lot",
                                               .name = "Dozen",
                                               .doc = "for tests of profiles",
                                               TN_INPUTS(lot_dozen_inputs),
                                               TN_OUTPUTS(lot_outputs),
                                               .infer = lot_dozen_infer,
                                               .reference = lot_dozen};

static const tn_operator *const lot_operators[] = {&lot_weigh_operator, &lot_both_operator,
                                                   &lot_dozen_operator};
static const tn_kernel *const lot_kernels[] = {&lot_few_kernel, &lot_many_kernel};

static inline tn_library *lot_entry(const tn_host *host) TN_NOEXCEPT {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "lot_layers",
                                 .version = "1",
                                 .operator_count = TN_COUNT(lot_operators),
                                 .operators = lot_operators,
                                 .kernel_count = TN_COUNT(lot_kernels),
                                 .kernels = lot_kernels};
    (void)host;
    return &library;
}

#endif
