/* SPDX-License-Identifier: Apache-2.0 */
/* The timing cache: numbers by key, its file between builds and between processes, damage. */
#include "build_test.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct cache_test {
    failing_allocator allocator;
    tn_runtime *runtime;
    char folder[64], path[96], text[512];
    char warnings[1024];
} cache_test;

static void keep_warning(void *user, uint32_t level, const char *text) {
    cache_test *test = user;
    if (level <= TN_LOG_WARNING) snprintf(test->warnings, sizeof test->warnings, "%s", text);
}

static int setup(void **state) {
    cache_test *test = calloc(1, sizeof *test);
    if (!test) return -1;
    failing_allocator_init(&test->allocator);
    tn_runtime_options options = {.size = sizeof options,
                                  .allocator = &test->allocator.functions,
                                  .log = keep_warning,
                                  .log_user = test,
                                  .flags = TN_RUNTIME_NO_ENVIRONMENT};
    *state = test;
    strcpy(test->folder, "/tmp/tenon_cache_XXXXXX");
    if (!mkdtemp(test->folder)) return -1;
    snprintf(test->path, sizeof test->path, "%s/timings", test->folder);
    return tn_runtime_create(&options, &test->runtime) == TN_OK ? 0 : -1;
}

static int teardown(void **state) {
    cache_test *test = *state;
    tn_runtime_release(test->runtime);
    int64_t left = test->allocator.live;
    snprintf(test->text, sizeof test->text, "%s.lock", test->path);
    unlink(test->path);
    unlink(test->text);
    int removed = rmdir(test->folder); /* nothing else was left beside it */
    free(test);
    return left == 0 && removed == 0 ? 0 : -1;
}

static tn_timing_cache *open_cache(cache_test *test, const char *path) {
    tn_timing_cache *cache = NULL;
    assert_int_equal(tn_timing_cache_open(test->runtime, path, &cache), TN_OK);
    return cache;
}

static tn_status set(tn_timing_cache *cache, uint64_t key, double ns) {
    return tn_timing_cache_set(cache, key, (tn_timing_result){ns, 0.25, 1, 7});
}

static double get(const tn_timing_cache *cache, uint64_t key) {
    tn_timing_result result;
    return tn_timing_cache_get(cache, key, &result) ? result.ns : -1;
}

static void test_timings_are_found_by_their_keys(void **state) {
    tn_timing_cache *cache = open_cache(*state, NULL);
    assert_true(get(cache, 0) < 0);
    for (uint64_t i = 0; i < 3000; i++)
        assert_int_equal(set(cache, i * 0x9e3779b97f4a7c15u, (double)i), TN_OK);
    for (uint64_t i = 0; i < 3000; i++)
        assert_true(get(cache, i * 0x9e3779b97f4a7c15u) == (double)i);
    assert_true(get(cache, 12345) < 0);
    assert_int_equal(set(cache, 1, NAN), TN_ERROR_INTERNAL);
    assert_int_equal(tn_timing_cache_set(cache, 1, (tn_timing_result){1, INFINITY, 0, 0}),
                     TN_ERROR_INTERNAL);
    assert_int_equal(tn_timing_cache_save(cache), TN_OK); /* in memory only: nothing to do */
    tn_timing_cache_close(cache);
}

static void test_a_file_keeps_timings_exactly(void **state) {
    cache_test *test = *state;
    tn_timing_cache *cache = open_cache(test, test->path);
    set(cache, 7, 0.1);
    set(cache, UINT64_MAX, 1e9 / 3);
    assert_int_equal(tn_timing_cache_save(cache), TN_OK);
    tn_timing_cache_close(cache);
    cache = open_cache(test, test->path);
    assert_true(get(cache, 7) == 0.1 && get(cache, UINT64_MAX) == 1e9 / 3);
    tn_timing_result result;
    assert_true(tn_timing_cache_get(cache, 7, &result) && result.noise == 0.25 &&
                result.grown_bytes == 7);
    tn_timing_cache_close(cache);
    assert_string_equal(test->warnings, "");
}

static void test_what_others_wrote_meanwhile_is_kept(void **state) {
    cache_test *test = *state;
    tn_timing_cache *mine = open_cache(test, test->path), *theirs = open_cache(test, test->path);
    set(mine, 1, 10);
    set(theirs, 2, 20);
    assert_int_equal(tn_timing_cache_save(theirs), TN_OK);
    assert_int_equal(tn_timing_cache_save(mine), TN_OK);
    tn_timing_cache_close(mine);
    tn_timing_cache_close(theirs);
    mine = open_cache(test, test->path);
    assert_true(get(mine, 1) == 10 && get(mine, 2) == 20);
    tn_timing_cache_close(mine);
}

static size_t read_all(const char *path, char *data, size_t capacity) {
    int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    ssize_t bytes = read(descriptor, data, capacity);
    close(descriptor);
    assert_true(bytes >= 0);
    return (size_t)bytes;
}

static void write_all(const char *path, const char *data, size_t bytes) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, data, bytes), bytes);
    close(descriptor);
}

static void test_a_damaged_file_is_ignored_with_a_warning(void **state) {
    cache_test *test = *state;
    char data[256], damaged[256];
    tn_timing_cache *cache = open_cache(test, test->path);
    for (uint64_t i = 1; i < 6; i++)
        set(cache, i, (double)i);
    assert_int_equal(tn_timing_cache_save(cache), TN_OK);
    tn_timing_cache_close(cache);
    size_t bytes = read_all(test->path, data, sizeof data);
    assert_int_equal(bytes, 24 + 5 * 40 + 8);
    for (size_t i = 0; i < 2 * bytes; i++) {
        bool is_cut = i >= bytes;
        memcpy(damaged, data, bytes);
        if (!is_cut) damaged[i] ^= 0x40;
        size_t length = is_cut ? i - bytes : bytes;
        if (length == 0 || (!is_cut && i < 8)) continue; /* the magic: another file */
        write_all(test->path, damaged, length);
        test->warnings[0] = '\0';
        cache = open_cache(test, test->path);
        for (uint64_t key = 1; key < 6; key++)
            assert_true(get(cache, key) < 0);
        tn_timing_cache_close(cache);
        assert_non_null(strstr(test->warnings, test->path));
    }
    cache = open_cache(test, test->path); /* and is written anew */
    set(cache, 9, 9);
    assert_int_equal(tn_timing_cache_save(cache), TN_OK);
    tn_timing_cache_close(cache);
    cache = open_cache(test, test->path);
    assert_true(get(cache, 9) == 9);
    tn_timing_cache_close(cache);
}

static void test_another_file_is_refused_and_stays(void **state) {
    cache_test *test = *state;
    static const char *const texts[] = {"x", "a model's bytes, of which nothing may be lost"};
    char kept[64];
    for (size_t i = 0; i < 2; i++) {
        tn_timing_cache *cache = NULL;
        unlink(test->path);
        tn_timing_cache *earlier = open_cache(test, test->path);
        set(earlier, 1, 1);
        write_all(test->path, texts[i], strlen(texts[i]));
        assert_int_equal(tn_timing_cache_open(test->runtime, test->path, &cache), TN_ERROR_FORMAT);
        assert_null(cache);
        assert_non_null(strstr(tn_last_error()->message, test->path));
        assert_int_equal(tn_timing_cache_save(earlier), TN_ERROR_FORMAT); /* written meanwhile */
        tn_timing_cache_close(earlier);
        assert_int_equal(read_all(test->path, kept, sizeof kept), strlen(texts[i]));
        assert_memory_equal(kept, texts[i], strlen(texts[i]));
    }
}

static void test_a_folder_that_is_not_there_is_an_error_to_save_to(void **state) {
    cache_test *test = *state;
    snprintf(test->text, sizeof test->text, "%s/none/timings", test->folder);
    tn_timing_cache *cache = open_cache(test, test->text);
    set(cache, 1, 1);
    assert_int_equal(tn_timing_cache_save(cache), TN_ERROR_IO);
    assert_non_null(strstr(tn_last_error()->message, "none/timings"));
    tn_timing_cache_close(cache);
}

enum { PROCESSES = 6, ROUNDS = 25 };

/* Each round opens, adds and saves, as a build would. */
static int add_from_a_process(cache_test *test, uint64_t process) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        tn_timing_cache *cache = NULL;
        if (tn_timing_cache_open(test->runtime, test->path, &cache) != TN_OK) return 1;
        if (set(cache, 1 + process * 1000 + round, (double)round) != TN_OK) return 2;
        if (tn_timing_cache_save(cache) != TN_OK) return 3;
        tn_timing_cache_close(cache);
    }
    return test->warnings[0] ? 4 : 0;
}

static void test_processes_lose_nothing_of_each_other(void **state) {
    cache_test *test = *state;
    pid_t children[PROCESSES];
    for (uint64_t p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        assert_true(children[p] >= 0);
        if (children[p] == 0) _exit(add_from_a_process(test, p));
    }
    for (int p = 0; p < PROCESSES; p++) {
        int result = -1;
        assert_int_equal(waitpid(children[p], &result, 0), children[p]);
        assert_true(WIFEXITED(result));
        assert_int_equal(WEXITSTATUS(result), 0);
    }
    tn_timing_cache *cache = open_cache(test, test->path);
    for (uint64_t p = 0; p < PROCESSES; p++)
        for (uint64_t round = 0; round < ROUNDS; round++)
            assert_true(get(cache, 1 + p * 1000 + round) == (double)round);
    tn_timing_cache_close(cache);
}

#define CACHE_TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHE_TEST(test_timings_are_found_by_their_keys),
        CACHE_TEST(test_a_file_keeps_timings_exactly),
        CACHE_TEST(test_what_others_wrote_meanwhile_is_kept),
        CACHE_TEST(test_a_damaged_file_is_ignored_with_a_warning),
        CACHE_TEST(test_another_file_is_refused_and_stays),
        CACHE_TEST(test_a_folder_that_is_not_there_is_an_error_to_save_to),
        CACHE_TEST(test_processes_lose_nothing_of_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
