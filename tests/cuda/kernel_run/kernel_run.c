/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the CUDA library's kernels of convolutions and products one by one through their tables:
 * every combination and tactic of cases.c, compared at sampled pixels with sums in double
 * precision, and timed as replays of a captured graph. A tool for who writes such kernels, not a
 * test of the suite: conformance/ checks all cases of all operators. A case's node is node.c, its
 * tensors tensor.c, what is right reference.c.
 *
 *   kernel_run LIBTENON_CUDA.so [SECONDS [PART_OF_A_CASE'S_NAME [PART_OF_A_KERNEL'S_NAME]]]
 */
#include "node.h"

#include <tenon/plugin/device.h>
#include <tenon/plugin/resource.h>

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPLAYED = 20, LAUNCHES = 5, MOST_TACTICS = 12 };

static double deadline;
static int failures;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ----------------------------------------------------------------------------------------------
 * a host */

static char reason[1200];

/* One kernel runs at a time, so that nothing is shared. */
static tn_status acquire(tn_call *call, const tn_resource *resource, void **out_resource) {
    return resource->create(call, resource->user, out_resource);
}
static void release(tn_call *call, const tn_resource *resource, void *acquired) {
    resource->destroy(call, resource->user, acquired);
}
static const void *extension(const tn_host *host, const char *name) {
    static const tn_resources resources = {sizeof(resources), acquire, release};
    (void)host;
    return strcmp(name, TN_RESOURCES) == 0 ? &resources : NULL;
}
static tn_status fail(tn_call *call, tn_status status, const char *format, ...) {
    va_list arguments;
    (void)call;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return status;
}
static void log_line(const tn_host *host, uint32_t level, const char *text) {
    (void)host;
    printf("log %u: %s\n", level, text);
}
static void *allocate(const tn_host *host, uint64_t bytes, uint64_t alignment) {
    (void)host;
    const uint64_t each = alignment < 16 ? 16 : alignment;
    return aligned_alloc(each, (bytes / each + 1) * each);
}
static void deallocate(const tn_host *host, void *memory) {
    (void)host;
    free(memory);
}
static const tn_host host = {.size = sizeof(tn_host),
                             .abi_major = TN_ABI_MAJOR,
                             .abi_minor = TN_ABI_MINOR,
                             .extension = extension,
                             .fail = fail,
                             .log = log_line,
                             .allocate = allocate,
                             .deallocate = deallocate};

/* ----------------------------------------------------------------------------------------------
 * a tactic */

static tn_status time_replays(run_node *n, const tn_kernel *kernel, double *out_us) {
    void *graph = NULL, *from = NULL, *to = NULL;
    double best = 1e30, ns = 0;
    run_require(run_device->capture_begin(run_device, run_stream), "capture");
    tn_status status = TN_OK;
    for (int i = 0; i < REPLAYED && status == TN_OK; i++)
        status = kernel->run(&n->call);
    run_require(run_device->capture_end(run_device, run_stream, &graph), "capture's end");
    if (status != TN_OK) return status;
    run_require(run_device->event_create(run_device, &from), "event");
    run_require(run_device->event_create(run_device, &to), "event");
    run_require(run_device->graph_launch(run_device, graph, run_stream), "launch");
    for (int i = 0; i < LAUNCHES; i++) {
        run_require(run_device->event_record(run_device, from, run_stream), "record");
        run_require(run_device->graph_launch(run_device, graph, run_stream), "launch");
        run_require(run_device->event_record(run_device, to, run_stream), "record");
        run_require(run_device->stream_wait(run_device, run_stream), "wait");
        run_require(run_device->event_elapsed(run_device, from, to, &ns), "elapsed");
        if (ns < best) best = ns;
    }
    run_device->event_destroy(run_device, from);
    run_device->event_destroy(run_device, to);
    run_device->graph_destroy(run_device, graph);
    *out_us = best / REPLAYED / 1000;
    return TN_OK;
}

static tn_status run_opened(run_node *n, const tn_kernel *kernel, double *out_us,
                            double *out_error) {
    tn_call *call = &n->call;
    void *workspace = NULL;
    run_node_show(n, false);
    call->workspace_bytes = 0;
    tn_status status = kernel->reshape ? kernel->reshape(call) : TN_OK;
    if (status != TN_OK) return status;
    const uint64_t bytes = call->workspace_bytes;
    if (bytes)
        run_require(run_device->allocate(run_device, bytes, run_stream, &workspace), "workspace");
    call->workspace = workspace;
    run_node_show(n, true);
    run_require(run_device->fill(run_device, n->device_y, 0xff, n->y.tensor.bytes, run_stream),
                "fill");
    status = kernel->run(call);
    if (status == TN_OK)
        run_require(run_device->stream_wait(run_device, run_stream), "running the kernel");
    if (status == TN_OK) *out_error = run_reference_compare(n);
    if (status == TN_OK) status = time_replays(n, kernel, out_us);
    if (workspace) run_device->deallocate(run_device, workspace, run_stream);
    return status;
}

static tn_status run_tactic(run_node *n, const tn_kernel *kernel, uint32_t tactic, double *out_us,
                            double *out_error) {
    tn_call *call = &n->call;
    call->tactic = tactic;
    call->state = call->context = NULL;
    run_node_show(n, false);
    tn_status status = kernel->prepare ? kernel->prepare(call) : TN_OK;
    if (status != TN_OK) return status;
    status = kernel->open ? kernel->open(call) : TN_OK;
    if (status == TN_OK) {
        status = run_opened(n, kernel, out_us, out_error);
        if (kernel->close) kernel->close(call);
    }
    run_node_show(n, false);
    if (kernel->release) kernel->release(call);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * kernels */

static bool read_port(const char *text, tn_type *out_type, tn_format *out_format) {
    static const struct {
        const char *name;
        tn_type type;
    } types[] = {{"f32", TN_F32}, {"f16", TN_F16}, {"bf16", TN_BF16}, {"qi8", TN_I8}};
    for (size_t i = 0; i < 4; i++) {
        const size_t length = strlen(types[i].name);
        if (strncmp(text, types[i].name, length) != 0) continue;
        *out_type = types[i].type;
        *out_format = strncmp(text + length, ":nhwc", 5) == 0 ? TN_NHWC : TN_LINEAR;
        return text[length] != ':' || *out_format == TN_NHWC;
    }
    return false;
}

static double limit_of(const tn_kernel *kernel, tn_type type, tn_type y_type) {
    if (type == TN_I8 || y_type == TN_I8) return 0.04;
    if (type == TN_BF16 || y_type == TN_BF16) return 0.02;
    if (type == TN_F16 || y_type == TN_F16 || strstr(kernel->name, "tf32")) return 3e-3;
    return 2e-5;
}

static void run_combination(const run_case *c, const tn_kernel *kernel, const char *text) {
    tn_type type, w_type, y_type;
    tn_format format, w_format, y_format;
    const char *w_text = strstr(text, ", "), *y_text = strstr(text, "-> ");
    if (c->only && strncmp(text, c->only, strlen(c->only)) != 0) return;
    if (!w_text || !y_text || !read_port(text, &type, &format) ||
        !read_port(w_text + 2, &w_type, &w_format) || !read_port(y_text + 3, &y_type, &y_format))
        return;
    static run_node n;
    run_node_make(&n, c, &host, type, w_type, y_type, format, y_format);
    n.call.user = kernel->user;
    run_node_show(&n, false);
    if (kernel->accepts && kernel->accepts(&n.call) != TN_OK) {
        run_node_clear(&n);
        return;
    }
    n.call.tactic_count = 1;
    const tn_status status = kernel->tactics ? kernel->tactics(&n.call) : TN_OK;
    const uint32_t tactics = n.call.tactic_count;
    double best = 1e30, worst = 0;
    char all[600] = "";
    if (status != TN_OK) snprintf(all, sizeof(all), " tactics: %.200s", reason);
    for (uint32_t i = 0; status == TN_OK && i < tactics && i < MOST_TACTICS; i++) {
        double us = 0, error = 0;
        const size_t at = strlen(all);
        if (now() > deadline) break;
        if (run_tactic(&n, kernel, i, &us, &error) != TN_OK) {
            snprintf(all + at, sizeof(all) - at, " %u:(%.90s)", i, reason);
            continue;
        }
        snprintf(all + at, sizeof(all) - at, " %u:%.2f", i, us);
        if (us < best) best = us;
        if (!(error <= worst)) worst = error;
    }
    const bool is_wrong = !(worst <= limit_of(kernel, type, y_type));
    failures += is_wrong;
    printf("%-15s %-14s %-34s %8.2f us err %.1e%s |%s\n", c->name, kernel->name, text,
           best < 1e29 ? best : NAN, worst, is_wrong ? " WRONG" : "", all);
    fflush(stdout);
    run_node_clear(&n);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fprintf(stderr, "usage: %s LIBTENON_CUDA.so [SECONDS [CASE [KERNEL]]]\n", arguments[0]);
        return 2;
    }
    void *opened = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    tn_library_entry entry = (tn_library_entry)dlsym(opened, TN_LIBRARY_SYMBOL);
    tn_library *library = entry ? entry(&host) : NULL;
    if (!library || library->device_count == 0) {
        fprintf(stderr, "there is no GPU here\n");
        return 1;
    }
    run_device = library->devices[0];
    printf("%s\n", run_device->fingerprint(run_device));
    run_require(run_device->stream_create(run_device, &run_stream), "stream");
    deadline = now() + (count > 2 ? atof(arguments[2]) : 150); /* the device has begun */
    for (size_t i = 0; i < run_case_count; i++) {
        const run_case *c = &run_cases[i];
        if (count > 3 && !strstr(c->name, arguments[3])) continue;
        for (uint64_t k = 0; k < library->kernel_count; k++) {
            const tn_kernel *kernel = library->kernels[k];
            if (strcmp(kernel->op, c->op) != 0 || strcmp(kernel->domain, "") != 0) continue;
            if (count > 4 && !strstr(kernel->name, arguments[4])) continue;
            if (c->has_mean && !(kernel->absorbs && strstr(kernel->absorbs, TN_FACET_PLANE_MEAN)))
                continue;
            for (uint32_t j = 0; j < kernel->combination_count && now() < deadline; j++)
                run_combination(c, kernel, kernel->combinations[j]);
        }
    }
    run_device->stream_destroy(run_device, run_stream);
    printf("%d wrong\n", failures);
    return failures != 0;
}
