/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the stub device: the operators' references, enqueued. Sigmoid and Softmax have none,
 * so that they run on the processor; LeakyRelu takes images with the channels last alone; MaxPool
 * asks for a workspace, in one of two kernels for a large one. */
#include "stub_private.h"

#include <tenon/plugin/resource.h>

#define STUB_KERNEL(variable, operator_name, kernel_traits)                                        \
    static const tn_kernel variable = {.size = sizeof(tn_kernel),                                  \
                                       .revision = 1,                                              \
                                       .domain = "",                                               \
                                       .op = operator_name,                                        \
                                       .device = "stub",                                           \
                                       .name = "stub",                                             \
                                       .traits = kernel_traits,                                    \
                                       .run = tn_stub_enqueue}

STUB_KERNEL(add, "Add", TN_KERNEL_CAPTURABLE | TN_KERNEL_CONCURRENT);
STUB_KERNEL(gemm, "Gemm", TN_KERNEL_CAPTURABLE);
STUB_KERNEL(mat_mul, "MatMul", TN_KERNEL_CAPTURABLE);
STUB_KERNEL(concat, "Concat", 0);
/* The reference is right as well where the state is updated on its own memory. */
STUB_KERNEL(scatter_nd, "ScatterND", TN_KERNEL_CAPTURABLE);

/* Relu is asked, as all callbacks are called, where its device is the thread's current one. */
static tn_status relu_accepts(tn_call *call) {
    return stub_current() == call->device->index + 1 ? TN_OK : TN_ERROR_UNSUPPORTED;
}
static const tn_kernel relu = {.size = sizeof(tn_kernel),
                               .revision = 1,
                               .domain = "",
                               .op = "Relu",
                               .device = "stub",
                               .name = "stub",
                               .traits = TN_KERNEL_IN_PLACE | TN_KERNEL_CAPTURABLE,
                               .accepts = relu_accepts,
                               .run = tn_stub_enqueue};

/* Conv shares what a numerical library would have: one for the device, a handle a context. */
typedef struct shared_thing {
    uint64_t *freed;
} shared_thing;

static tn_status create_thing(tn_call *call, uint64_t *made, uint64_t *freed, void **out_thing) {
    shared_thing *thing = call->host->allocate(call->host, sizeof(*thing), 16);
    if (!thing) return TN_ERROR_MEMORY;
    thing->freed = freed;
    __atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
    *out_thing = thing;
    return TN_OK;
}
static tn_status create_library(tn_call *call, void *user, void **out_library) {
    tn_stub_state *state = stub_state(call->device);
    (void)user;
    return create_thing(call, &state->libraries_made, &state->libraries_freed, out_library);
}
static tn_status create_handle(tn_call *call, void *user, void **out_handle) {
    tn_stub_state *state = stub_state(call->device);
    (void)user;
    return create_thing(call, &state->handles_made, &state->handles_freed, out_handle);
}
static void destroy_thing(tn_call *call, void *user, void *thing) {
    (void)user;
    __atomic_add_fetch(((shared_thing *)thing)->freed, 1, __ATOMIC_RELAXED);
    call->host->deallocate(call->host, thing);
}
static const tn_resource library = {.size = sizeof(tn_resource),
                                    .scope = TN_SCOPE_DEVICE,
                                    .key = "stub.library/1",
                                    .create = create_library,
                                    .destroy = destroy_thing};
static const tn_resource handle = {.size = sizeof(tn_resource),
                                   .scope = TN_SCOPE_CONTEXT,
                                   .key = "stub.handle/1",
                                   .create = create_handle,
                                   .destroy = destroy_thing};

static const tn_resources *resources_of(const tn_call *call) {
    return call->host->extension(call->host, TN_RESOURCES);
}
static tn_status conv_prepare(tn_call *call) {
    return resources_of(call)->acquire(call, &library, &call->state);
}
static void conv_release(tn_call *call) {
    resources_of(call)->release(call, &library, call->state);
}
static tn_status conv_open(tn_call *call) {
    return resources_of(call)->acquire(call, &handle, &call->context);
}
static void conv_close(tn_call *call) {
    resources_of(call)->release(call, &handle, call->context);
}
static const tn_kernel conv = {.size = sizeof(tn_kernel),
                               .revision = 1,
                               .domain = "",
                               .op = "Conv",
                               .device = "stub",
                               .name = "stub",
                               .traits = TN_KERNEL_CAPTURABLE,
                               .prepare = conv_prepare,
                               .release = conv_release,
                               .open = conv_open,
                               .close = conv_close,
                               .run = tn_stub_enqueue};

/* Mul keeps a number in the device's memory, which its plans keep as well. */
static tn_status keep(tn_call *call, const uint64_t *number) {
    const tn_device *device = call->device;
    if (!call->stream) return call->host->fail(call, TN_ERROR_DEVICE, "there is no stream");
    tn_status status = device->allocate(device, sizeof(*number), call->stream, &call->state);
    if (status == TN_OK)
        status = device->copy(device, call->state, number, sizeof(*number), TN_COPY_TO_DEVICE,
                              call->stream);
    return status == TN_OK ? TN_OK
                           : call->host->fail(call, status, "%s", device->last_error(device));
}

static tn_status mul_prepare(tn_call *call) {
    const uint64_t number = 0x4d554c;
    return keep(call, &number);
}

static void mul_release(tn_call *call) {
    call->device->deallocate(call->device, call->state, call->stream);
}

static tn_status mul_save(tn_call *call, void *data, uint64_t *inout_bytes) {
    const tn_device *device = call->device;
    *inout_bytes = sizeof(uint64_t);
    if (!data) return TN_OK;
    tn_status status =
        device->copy(device, data, call->state, sizeof(uint64_t), TN_COPY_TO_HOST, call->stream);
    if (status == TN_OK) status = device->stream_wait(device, call->stream);
    return status == TN_OK ? TN_OK
                           : call->host->fail(call, status, "%s", device->last_error(device));
}

static tn_status mul_load(tn_call *call, const void *data, uint64_t bytes) {
    if (bytes != sizeof(uint64_t) || *(const uint64_t *)data != 0x4d554c)
        return call->host->fail(call, TN_ERROR_FORMAT, "the number is damaged");
    return keep(call, data);
}

static const tn_kernel mul = {.size = sizeof(tn_kernel),
                              .revision = 1,
                              .domain = "",
                              .op = "Mul",
                              .device = "stub",
                              .name = "stub",
                              .traits = TN_KERNEL_CAPTURABLE,
                              .prepare = mul_prepare,
                              .release = mul_release,
                              .run = tn_stub_enqueue,
                              .save = mul_save,
                              .load = mul_load};

static tn_status max_pool_reshape(tn_call *call) {
    call->workspace_bytes = call->inputs[0]->bytes;
    return TN_OK;
}
static const char *const max_pool_combinations[] = {"f32 -> f32"};
static const tn_kernel max_pool = {.size = sizeof(tn_kernel),
                                   .revision = 1,
                                   .domain = "",
                                   .op = "MaxPool",
                                   .device = "stub",
                                   .name = "stub",
                                   .traits = TN_KERNEL_CAPTURABLE,
                                   TN_COMBINATIONS(max_pool_combinations),
                                   .reshape = max_pool_reshape,
                                   .run = tn_stub_enqueue};

/* The same with far more memory than it needs. */
static tn_status greedy_reshape(tn_call *call) {
    call->workspace_bytes = 1 << 20;
    return TN_OK;
}
static const tn_kernel greedy = {.size = sizeof(tn_kernel),
                                 .revision = 1,
                                 .domain = "",
                                 .op = "MaxPool",
                                 .device = "stub",
                                 .name = "stub_greedy",
                                 .traits = TN_KERNEL_CAPTURABLE,
                                 TN_COMBINATIONS(max_pool_combinations),
                                 .reshape = greedy_reshape,
                                 .run = tn_stub_enqueue};

static const char *const relu_last_combinations[] = {"f32:nhwc -> f32:nhwc"};
static const tn_kernel leaky = {.size = sizeof(tn_kernel),
                                .revision = 1,
                                .domain = "",
                                .op = "LeakyRelu",
                                .device = "stub",
                                .name = "stub_last",
                                TN_COMBINATIONS(relu_last_combinations),
                                .run = tn_stub_enqueue};

const tn_kernel *const tn_stub_kernels[] = {
    &relu, &add, &mul, &conv, &gemm, &mat_mul, &concat, &max_pool, &greedy, &leaky, &scatter_nd};
const uint64_t tn_stub_kernel_count = TN_COUNT(tn_stub_kernels);
