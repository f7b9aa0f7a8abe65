/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A third party's kernel that shares a resource with the device's own kernels, by its key alone: a
 * network of a Conv and a MatMul, behind them the third party's node. All kernels before it hold
 * theirs when it is opened, so that nothing is created for it. Declared in device_run.h.
 */
#include "device_run.h"

#include <tenon/plugin/device.h>
#include <tenon/plugin/resource.h>

#include <stdio.h>
#include <string.h>

static uint32_t created, acquired;
static tn_resource resource;

static tn_status create(tn_call *call, void *user, void **out_resource) TN_NOEXCEPT {
    (void)user, (void)out_resource;
    created++;
    return call->host->fail(call, TN_ERROR_STATE, "nobody has '%s'", resource.key);
}
/* The last one to use it is the kernel that created it. */
static void destroy(tn_call *call, void *user, void *shared) TN_NOEXCEPT {
    (void)call, (void)user, (void)shared;
    network_die("the resource was left to the third party");
}

static const tn_resources *resources_of(const tn_call *call) {
    return call->host->extension(call->host, TN_RESOURCES);
}

static tn_status pass_open(tn_call *call) {
    const tn_status status = resources_of(call)->acquire(call, &resource, &call->context);
    if (status == TN_OK) acquired++;
    return status;
}
static void pass_close(tn_call *call) {
    resources_of(call)->release(call, &resource, call->context);
}
static tn_status pass_run(tn_call *call) {
    const tn_device *device = call->device;
    const tn_status status = device->copy(device, call->outputs[0]->data, call->inputs[0]->data,
                                          call->inputs[0]->bytes, TN_COPY_ON_DEVICE, call->stream);
    return status == TN_OK ? TN_OK
                           : call->host->fail(call, status, "%s", device->last_error(device));
}

static tn_status pass_infer(tn_call *call) {
    tn_tensor *y = call->outputs[0];
    y->rank = call->inputs[0]->rank;
    memcpy(y->shape, call->inputs[0]->shape, y->rank * sizeof(*y->shape));
    return TN_OK;
}
static tn_status pass_reference(tn_call *call) {
    memcpy(call->outputs[0]->data, call->inputs[0]->data, (size_t)call->inputs[0]->bytes);
    return TN_OK;
}

static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "anything")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "the same")};
static const tn_operator pass = {.size = sizeof(tn_operator),
                                 .since_version = 1,
                                 .state_version = 1,
                                 .domain = "third",
                                 .name = "Pass",
                                 TN_NO_FIELDS,
                                 TN_INPUTS(inputs),
                                 TN_OUTPUTS(outputs),
                                 .infer = pass_infer,
                                 .reference = pass_reference};
static tn_kernel pass_kernel = {.size = sizeof(tn_kernel),
                                .revision = 1,
                                .domain = "third",
                                .op = "Pass",
                                .name = "third",
                                .open = pass_open,
                                .close = pass_close,
                                .run = pass_run};

static tn_library *third_entry(const tn_host *host) TN_NOEXCEPT {
    static const tn_operator *const operators[] = {&pass};
    static const tn_kernel *const kernels[] = {&pass_kernel};
    static tn_library library = {.size = sizeof(tn_library),
                                 .abi_major = TN_ABI_MAJOR,
                                 .abi_minor = TN_ABI_MINOR,
                                 .name = "third",
                                 .version = "1",
                                 .operator_count = 1,
                                 .operators = operators,
                                 .kernel_count = 1,
                                 .kernels = kernels};
    (void)host;
    return &library;
}

/* ----------------------------------------------------------------------------------------------
 * the network */

enum { EXTENT = 8, WEIGHTS = EXTENT * EXTENT };

static tn_tensor_id add(tn_graph *graph, const char *domain, const char *op, tn_tensor_id x,
                        tn_tensor_id weights) {
    const tn_tensor_id both[] = {x, weights};
    const tn_node_description node = {.size = sizeof(node),
                                      .domain = domain,
                                      .op = op,
                                      .name = op,
                                      .input_count = weights == TN_NO_TENSOR ? 1 : 2,
                                      .inputs = both,
                                      .output_count = 1};
    tn_tensor_id made = TN_NO_TENSOR;
    network_must(tn_graph_add_node(graph, &node, &made), op);
    return made;
}

static tn_tensor_id add_weights(tn_graph *graph, const char *name, uint32_t rank,
                                const int64_t *shape) {
    static float values[WEIGHTS];
    tn_tensor_id made = TN_NO_TENSOR;
    for (int i = 0; i < WEIGHTS; i++)
        values[i] = (float)(i * 7 % 11) / 8 - 0.5f;
    network_must(
        tn_graph_add_constant(graph, name, TN_F32, rank, shape, values, sizeof(values), &made),
        name);
    return made;
}

static tn_graph *make_graph(tn_runtime *runtime) {
    static const int64_t shape[] = {1, EXTENT, EXTENT, EXTENT}, matrix[] = {EXTENT, EXTENT};
    static const int64_t filters[] = {EXTENT, EXTENT, 1, 1};
    tn_graph *graph = NULL;
    tn_tensor_id x = TN_NO_TENSOR;
    network_must(tn_graph_create(runtime, "shared", &graph), "a graph");
    network_must(tn_graph_add_input(graph, "x", TN_F32, 4, shape, NULL, &x), "an input");
    x = add(graph, "", "Conv", x, add_weights(graph, "filters", 4, filters));
    x = add(graph, "", "MatMul", x, add_weights(graph, "matrix", 2, matrix));
    x = add(graph, "third", "Pass", x, TN_NO_TENSOR);
    network_must(tn_graph_add_output(graph, x, "y"), "an output");
    return graph;
}

/* The results of a run; the kernels are pinned, so that those run that hold the resource. */
static void run(tn_runtime *runtime, tn_graph *graph, const char *device, const char *const *pins,
                uint32_t pin_count, const float *x, float *y) {
    const tn_builder_options build = {.size = sizeof(build),
                                      .threads = 1,
                                      .device = device,
                                      .flags = TN_BUILD_NO_TIMING | TN_BUILD_NO_FUSION,
                                      .pins = pins,
                                      .pin_count = pin_count};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes = 0;
    const uint64_t size = sizeof(float) * EXTENT * WEIGHTS;
    network_must(tn_build(graph, &build, &plan), "the build");
    const void *data = tn_plan_bytes(plan, &bytes);
    const tn_engine_options load = {.size = sizeof(load), .device = device};
    network_must(tn_engine_load_bytes(runtime, data, bytes, &load, &engine), "loading");
    network_must(tn_context_create(engine, &context), "a context");
    network_must(tn_context_bind_input(context, 0, x, size), "the input");
    network_must(tn_context_bind_output(context, 0, y, size), "the output");
    for (int i = 0; i < 3; i++)
        network_must(tn_context_run(context), "a run");
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
}

int device_run_shared(network_options *options, const char *device, int argc, char **argv) {
    static float x[EXTENT * WEIGHTS], y[2][EXTENT * WEIGHTS];
    static char kind[16];
    size_t outside = 0;
    if (argc < 1) network_die("shared needs 'device' or 'context', and pins of kernels");
    snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(device, ":"), device);
    pass_kernel.device = kind;
    resource =
        (tn_resource){.size = sizeof(resource),
                      .scope = strcmp(argv[0], "device") == 0 ? TN_SCOPE_DEVICE : TN_SCOPE_CONTEXT,
                      .key = options->model, /* where other commands have their network */
                      .create = create,
                      .destroy = destroy};
    network_must(tn_runtime_register_library(options->runtime, third_entry), "the third party");
    tn_graph *graph = make_graph(options->runtime);
    for (int i = 0; i < EXTENT * WEIGHTS; i++)
        x[i] = (float)(i * 37 % 101) / 64 - 0.75f;
    run(options->runtime, graph, "cpu", NULL, 0, x, y[0]);
    run(options->runtime, graph, device, (const char *const *)argv + 1, (uint32_t)argc - 1, x,
        y[1]);
    const double error = network_error(y[0], y[1], EXTENT * WEIGHTS, 1e-3, 1e-5, &outside);
    const bool is_fine = acquired == 1 && created == 0 && outside == 0;
    printf("%s '%s' acquired %u times, created %u times for the third party; norm of error %.2g\n",
           is_fine ? "ok" : "FAIL", resource.key, acquired, created, error);
    tn_graph_destroy(graph);
    return is_fine ? 0 : 1;
}
