/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device: features and their levels, fingerprint, and its table. */
#include "device/cpu/cpu.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "test.h"

#include <tenon/plugin/device.h>

static bool has(const char *features, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = features; *at;) {
        const size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, name, length) == 0) return true;
        at += word + (at[word] == ',');
    }
    return false;
}

static void test_levels_only_take_away(void **state) {
    (void)state;
    char all[256], avx512[256], avx2[256], baseline[256];
    assert_true(tn_cpu_features(NULL, all, sizeof(all)));
    assert_true(tn_cpu_features("avx512", avx512, sizeof(avx512)));
    assert_true(tn_cpu_features("avx2", avx2, sizeof(avx2)));
    assert_true(tn_cpu_features("baseline", baseline, sizeof(baseline)));
    assert_string_equal(all, avx512);
    assert_memory_equal(all, avx2, strlen(avx2));
    assert_memory_equal(avx2, baseline, strlen(baseline));
    assert_false(has(avx2, "avx512f"));
    assert_false(has(baseline, "avx"));
    assert_false(has(baseline, "avx2"));
    assert_int_equal(has(avx2, "avx2"), has(all, "avx2"));
#if defined(__x86_64__)
    assert_true(has(baseline, "sse2"));
#endif
}

#if defined(__x86_64__)
/* The compiler's own detection, for the names that every supported compiler knows. */
static void test_features_are_those_that_the_compiler_finds(void **state) {
    (void)state;
    char all[256];
    assert_true(tn_cpu_features(NULL, all, sizeof(all)));
    __builtin_cpu_init();
#define SAME(name) assert_int_equal(has(all, name), __builtin_cpu_supports(name) != 0)
    SAME("sse2");
    SAME("sse4.2");
    SAME("avx");
    SAME("avx2");
    SAME("fma");
    SAME("avx512f");
    SAME("avx512bw");
    SAME("avx512vl");
    SAME("avx512dq");
    SAME("avx512vnni");
#undef SAME
}

/* The kernel's view, for those that compilers name differently. */
static void test_features_are_those_that_the_system_reports(void **state) {
    (void)state;
    static const char *const names[][2] = {{"f16c", "f16c"},
                                           {"avxvnni", "avx_vnni"},
                                           {"avx512_bf16", "avx512_bf16"},
                                           {"avx512vbmi", "avx512vbmi"}};
    static char line[8192], padded[64];
    char all[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool is_found = false;
    assert_true(tn_cpu_features(NULL, all, sizeof(all)));
    while (file && !is_found && fgets(line, sizeof(line), file))
        is_found = strncmp(line, "flags", 5) == 0;
    if (file) fclose(file);
    if (!is_found) skip();
    line[strcspn(line, "\n")] = ' ';
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        snprintf(padded, sizeof(padded), " %s ", names[i][1]);
        /* an older kernel may not name what the processor has */
        if (strstr(line, padded)) assert_true(has(all, names[i][0]));
    }
}
#endif

static void test_unknown_levels_are_refused(void **state) {
    (void)state;
    char buffer[256] = "untouched";
    assert_false(tn_cpu_features("", buffer, sizeof(buffer)));
    assert_false(tn_cpu_features("AVX2", buffer, sizeof(buffer)));
    assert_false(tn_cpu_features("avx5120", buffer, sizeof(buffer)));
    assert_string_equal(buffer, "untouched");
}

static void test_names_that_do_not_fit_are_left_out_whole(void **state) {
    (void)state;
    char all[256], small[256];
    assert_true(tn_cpu_features(NULL, all, sizeof(all)));
    for (size_t bytes = 1; bytes <= strlen(all) + 1; bytes++) {
        memset(small, 'x', sizeof(small));
        assert_true(tn_cpu_features(NULL, small, bytes));
        const size_t length = strlen(small);
        assert_true(length < bytes);
        assert_memory_equal(small, all, length);
        assert_true(all[length] == ',' || all[length] == 0 || length == 0);
        assert_int_equal(small[bytes], 'x');
    }
}

static void test_the_fingerprint_tells_features_apart(void **state) {
    (void)state;
    char one[384], again[384], other[384], cut[16];
    tn_cpu_fingerprint("sse2,avx2", one, sizeof(one));
    tn_cpu_fingerprint("sse2,avx2", again, sizeof(again));
    tn_cpu_fingerprint("sse2", other, sizeof(other));
    assert_string_equal(one, again);
    assert_string_not_equal(one, other);
    assert_non_null(strstr(one, "sse2,avx2"));
    assert_memory_equal(one, "cpu; ", 5);
    tn_cpu_fingerprint("sse2", cut, sizeof(cut));
    assert_true(strlen(cut) < sizeof(cut));
}

static void test_the_device_has_memory(void **state) {
    (void)state;
    tn_device device;
    tn_cpu_device_init(&device, "print");
    assert_int_equal(device.size, sizeof(device));
    assert_string_equal(device.kind, "cpu");
    assert_string_equal(device.fingerprint(&device), "print");
    assert_int_equal(device.capabilities, 0);
    void *a = NULL, *b = NULL, *none = NULL;
    assert_int_equal(device.allocate(&device, 100, NULL, &a), TN_OK);
    assert_int_equal(device.allocate(&device, 0, NULL, &b), TN_OK);
    assert_non_null(b);
    assert_int_equal((uintptr_t)a % device.alignment, 0);
    assert_int_equal(device.allocate(&device, UINT64_MAX / 2, NULL, &none), TN_ERROR_MEMORY);
    assert_null(none);
    assert_true(strlen(device.last_error(&device)) > 0);
    assert_int_equal(device.fill(&device, a, 0x5a, 100, NULL), TN_OK);
    assert_int_equal(((unsigned char *)a)[99], 0x5a);
    assert_int_equal(device.copy(&device, a, "copied", 7, 0, NULL), TN_OK);
    assert_string_equal(a, "copied");
    assert_int_equal(device.copy(&device, NULL, NULL, 0, 0, NULL), TN_OK);
    assert_int_equal(device.fill(&device, NULL, 0, 0, NULL), TN_OK);
    device.deallocate(&device, a, NULL);
    device.deallocate(&device, b, NULL);
    device.deallocate(&device, NULL, NULL);
}

static void test_events_measure_time(void **state) {
    (void)state;
    tn_device device;
    void *stream = &device, *first = NULL, *second = NULL;
    double ns = -1;
    tn_cpu_device_init(&device, "print");
    assert_int_equal(device.stream_create(&device, &stream), TN_OK);
    assert_int_equal(device.event_create(&device, &first), TN_OK);
    assert_int_equal(device.event_create(&device, &second), TN_OK);
    assert_int_equal(device.event_record(&device, first, stream), TN_OK);
    assert_int_equal(device.event_record(&device, second, stream), TN_OK);
    assert_int_equal(device.event_wait(&device, second, stream), TN_OK);
    assert_int_equal(device.stream_wait(&device, stream), TN_OK);
    assert_int_equal(device.event_elapsed(&device, first, second, &ns), TN_OK);
    assert_true(ns >= 0 && ns < 60e9);
    device.event_destroy(&device, first);
    device.event_destroy(&device, second);
    device.stream_destroy(&device, stream);
    assert_null(device.capture_begin);
}

static void test_there_is_a_core(void **state) {
    (void)state;
    assert_in_range(tn_cpu_core_count(), 1, 65536);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_only_take_away),
#if defined(__x86_64__)
        cmocka_unit_test(test_features_are_those_that_the_compiler_finds),
        cmocka_unit_test(test_features_are_those_that_the_system_reports),
#endif
        cmocka_unit_test(test_unknown_levels_are_refused),
        cmocka_unit_test(test_names_that_do_not_fit_are_left_out_whole),
        cmocka_unit_test(test_the_fingerprint_tells_features_apart),
        cmocka_unit_test(test_the_device_has_memory),
        cmocka_unit_test(test_events_measure_time),
        cmocka_unit_test(test_there_is_a_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
