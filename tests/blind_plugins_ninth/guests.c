/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of an author's own for operators of ONNX that Tenon has. */
#include "ninth.h"

#define SOFTMAX (WRONG(0) || WRONG(1))
#define CLIP    (WRONG(50) || WRONG(2) || WRONG(3))
/* else DepthToSpace */

#if SOFTMAX
TN_LAYER_PARAMS(softmax, int64_t axis;);
static const tn_field fields[] = {
    TN_FIELD(softmax, axis, TN_FIELD_I64, TN_OPTIONAL, "-1", "along which")};
static tn_status lines(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0];
    int64_t axis = ((const softmax *)call->kernel_params)->axis;
    if (axis < 0) axis += x->rank;
    const int64_t n = x->rank > 0 ? x->shape[axis] : 1,
                  inner = product(x->shape, axis + 1, x->rank);
    (void)thread;
    for (int64_t item = begin; item < end; item++) {
        const int64_t at = item / inner * n * inner + item % inner;
        const float *from = (const float *)x->data + at;
        float *to = (float *)call->outputs[0]->data + at;
        double largest = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; k++)
            if (!((double)from[k * inner] <= largest)) largest = (double)from[k * inner];
        for (int64_t k = 0; k < n; k++)
            sum += exp((double)from[k * inner] - largest);
        for (int64_t k = 0; k < n; k++)
            to[k * inner] = (float)(exp((double)from[k * inner] - largest) / sum);
    }
    return TN_OK;
}
static int64_t count_lines(const tn_call *call) {
    const tn_tensor *x = call->inputs[0];
    int64_t axis = ((const softmax *)call->kernel_params)->axis;
    if (axis < 0) axis += x->rank;
    return product(x->shape, 0, axis) * product(x->shape, axis + 1, x->rank);
}
TN_LAYER_RUN(lines, count_lines(call), 1)
static const char *const combinations[] = {"f32 -> f32"};
#define OF                                                                                         \
    .op = "Softmax", .minimum_version = WRONG(1) ? 0 : 13, .maximum_version = WRONG(1) ? 0 : 99

#elif CLIP
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const tn_tensor *x = call->inputs[0], *low = tn_layer_input(call, 1);
    const tn_tensor *high = tn_layer_input(call, 2);
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        float v = ((const float *)x->data)[i];
        const float least = WRONG(3) && call->input_count > 1 ? *(const float *)low->data
                            : low                             ? *(const float *)low->data
                                                              : -INFINITY;
        const float most = high ? *(const float *)high->data : INFINITY;
        if (WRONG(2) && v > most) v = most;
        if (v < least) v = least;
        if (!WRONG(2) && v > most) v = most;
        ((float *)call->outputs[0]->data)[i] = v;
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->inputs[0]), 64)
static const char *const combinations[] = {"f32, f32?, f32? -> f32"};
#define OF .op = "Clip", .minimum_version = 11, .maximum_version = 99

#else
typedef struct to_space {
    uint64_t present;
    int64_t blocksize;
    uint32_t mode;
} to_space;
static const tn_field fields[] = {
    TN_FIELD_RANGE(to_space, blocksize, TN_FIELD_I64, TN_REQUIRED, NULL, 1, 65536, "of a block"),
#if !WRONG(4)
    TN_FIELD_CHOICE(to_space, mode, TN_FIELD_ENUM, TN_OPTIONAL, "DCR", "DCR|CRD", "of channels")
#endif
};
static tn_status elements(tn_call *call, int64_t begin, int64_t end, uint32_t thread) {
    const to_space *p = call->kernel_params;
    const int64_t *in = call->inputs[0]->shape, *out = call->outputs[0]->shape, b = p->blocksize;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t x = i % out[3], y = i / out[3] % out[2], c = i / out[3] / out[2] % out[1];
        const int64_t n = i / out[3] / out[2] / out[1], at = y % b * b + x % b;
        const int64_t channel = !WRONG(4) && p->mode == 1 ? c * b * b + at : at * out[1] + c;
        ((float *)call->outputs[0]->data)[i] =
            ((const float *)call->inputs[0]
                 ->data)[((n * in[1] + channel) * in[2] + y / b) * in[3] + x / b];
    }
    return TN_OK;
}
TN_LAYER_RUN(elements, tn_layer_count(call->outputs[0]), 64)
static const char *const combinations[] = {"f32 -> f32"};
#define OF .op = "DepthToSpace"
#endif

static const tn_kernel guest = {.size = sizeof(tn_kernel),
                                .revision = 1,
                                .domain = "",
                                .device = "cpu",
                                .name = "ninth_guest",
                                OF,
                                .traits = TN_KERNEL_DETERMINISTIC,
                                TN_COMBINATIONS(combinations),
#if SOFTMAX
                                TN_FIELDS(softmax, fields),
#elif !CLIP
                                TN_FIELDS(to_space, fields),
#endif
                                .run = run};
static const tn_kernel *const kernels[] = {&guest};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "ninth_guests",
                                 .version = "1.0",
                                 .kernel_count = 1,
                                 .kernels = kernels};
    (void)host;
    return &library;
}
