/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA library as the core sees it, on machines with a GPU and without: it loads, its table is
 * sound, its kernels are registered for the device "cuda", and each device has what it must have.
 * `test_cuda_library LIBRARY`.
 */
#include "plugin/registry.h"
#include "plugin/runtime.h"
#include "test.h"

#include <tenon/plugin/device.h>

#include <dlfcn.h>
#include <tenon/tenon.h>

static const char *library_path;

static void keep_log(void *user, uint32_t level, const char *text) {
    (void)level;
    snprintf(user, 1000, "%s", text);
}

typedef struct found {
    size_t kernels, cuda_kernels, with_run, capturable;
    bool has_relu, has_add;
} found;

static bool note_kernel(void *user, const tn_kernel *kernel, const tn_library_info *library) {
    found *f = user;
    if (strcmp(library->name, "cuda") != 0) return true;
    f->kernels++;
    f->cuda_kernels += strcmp(kernel->device, "cuda") == 0;
    f->with_run += kernel->run != NULL;
    f->capturable += (kernel->traits & TN_KERNEL_CAPTURABLE) != 0;
    f->has_relu = f->has_relu || strcmp(kernel->op, "Relu") == 0;
    f->has_add = f->has_add || strcmp(kernel->op, "Add") == 0;
    return true;
}

static void test_library_loads_and_registers_its_kernels(void **state) {
    char log[1000] = "";
    tn_runtime *runtime;
    found f = {0};
    (void)state;
    const tn_runtime_options options = {.size = sizeof(options), .log = keep_log, .log_user = log};
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    if (tn_runtime_load_library(runtime, library_path) != TN_OK)
        fail_msg("%s", tn_last_error()->message);
    tn_runtime_visit_kernels(runtime, note_kernel, &f);
    assert_true(f.kernels > 40);
    assert_int_equal(f.kernels, f.cuda_kernels);
    assert_int_equal(f.kernels, f.with_run);
    assert_true(f.capturable > 40);
    assert_true(f.has_relu);
    assert_true(f.has_add);
    /* Twice is once. */
    const found first = f;
    assert_int_equal(tn_runtime_load_library(runtime, library_path), TN_OK);
    f = (found){0};
    tn_runtime_visit_kernels(runtime, note_kernel, &f);
    assert_int_equal(f.kernels, first.kernels);
    tn_runtime_release(runtime);
}

static const tn_library *open_table(const tn_host *host) {
    tn_library_entry entry = NULL;
    void *handle = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail_msg("%s", dlerror());
    void *symbol = dlsym(handle, TN_LIBRARY_SYMBOL);
    assert_non_null(symbol);
    memcpy(&entry, &symbol, sizeof(symbol));
    return entry(host);
}

/* Without a GPU there is none, and the log says why. */
static void test_devices_are_whole(void **state) {
    char log[1000] = "";
    tn_runtime *runtime;
    (void)state;
    const tn_runtime_options options = {.size = sizeof(options), .log = keep_log, .log_user = log};
    assert_int_equal(tn_runtime_create(&options, &runtime), TN_OK);
    const tn_library *table = open_table(tn_runtime_host(runtime));
    assert_non_null(table);
    assert_true(table->size >= offsetof(tn_library, devices) + sizeof(table->devices));
    if (table->device_count == 0) assert_non_null(strstr(log, "cuda: "));
    for (uint64_t i = 0; i < table->device_count; i++) {
        const tn_device *device = table->devices[i];
        assert_string_equal(device->kind, "cuda");
        assert_int_equal(device->alignment, 256);
        assert_non_null(device->memory);
        assert_non_null(device->name);
        assert_memory_equal(device->fingerprint(device), "cuda; ", 6);
        assert_true(device->allocate && device->deallocate && device->copy && device->fill);
        assert_true(device->stream_create && device->stream_destroy && device->stream_wait);
        assert_true(device->event_create && device->event_destroy && device->event_record);
        assert_true(device->event_wait && device->event_elapsed && device->last_error);
        assert_true(device->capture_begin && device->capture_end && device->graph_launch);
        assert_true(device->graph_destroy && device->convert);
        assert_true(device->host_allocate && device->host_deallocate);
    }
    tn_runtime_release(runtime);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_loads_and_registers_its_kernels),
        cmocka_unit_test(test_devices_are_whole),
    };
    if (argc != 2) {
        fprintf(stderr, "usage: test_cuda_library LIBRARY\n");
        return 2;
    }
    library_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
