/* SPDX-License-Identifier: Apache-2.0 */
/* Files: mapped, written whole or not at all, and paths. Each test has a folder of its own. */
#include "base/file.h"
#include "base/status.h"

#include "test.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file_test {
    failing_allocator memory;
    char folder[64], path[96];
} file_test;

static int set_up(void **state) {
    file_test *test = calloc(1, sizeof(*test));
    if (!test) return -1;
    *state = test;
    failing_allocator_init(&test->memory);
    strcpy(test->folder, "file-test-XXXXXX");
    if (!mkdtemp(test->folder)) return -1;
    snprintf(test->path, sizeof(test->path), "%s/file", test->folder);
    return 0;
}

/* Removes the folder's files; answers how many there were. */
static int empty_folder(const char *folder) {
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[400];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        remove(path);
        count++;
    }
    if (entries) closedir(entries);
    return count;
}

static int tear_down(void **state) {
    file_test *test = *state;
    const int64_t live = test->memory.live;
    empty_folder(test->folder);
    rmdir(test->folder);
    free(test);
    return live == 0 ? 0 : -1;
}

#define FILE_TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static int count_files(const char *folder) {
    int count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    if (entries) closedir(entries);
    return count;
}

static void assert_content(file_test *test, const void *data, size_t bytes) {
    tn_file file;
    assert_int_equal(tn_file_map(&test->memory.functions, test->path, &file), TN_OK);
    assert_int_equal(file.bytes, bytes);
    if (bytes) assert_memory_equal(file.data, data, bytes);
    tn_file_unmap(&file);
    assert_null(file.data);
    tn_file_unmap(&file);
}

static void test_what_is_written_is_mapped(void **state) {
    file_test *test = *state;
    static char content[100000];
    for (size_t i = 0; i < sizeof(content); i++)
        content[i] = (char)(i * 7);
    for (size_t bytes = 0; bytes <= sizeof(content); bytes += 12345) {
        assert_int_equal(tn_file_write(&test->memory.functions, test->path, content, bytes), TN_OK);
        assert_content(test, content, bytes);
        assert_int_equal(count_files(test->folder), 1);
    }
}

static tn_status set_first(void *user) {
    *(unsigned char *)user = 42;
    return TN_OK;
}

static tn_status refuse_to_finish(void *user) {
    (void)user;
    return tn_fail(TN_ERROR_MEMORY, "there is nothing to finish with");
}

/* Parts end within what one call writes, and one is longer than that. What could not be finished
 * leaves the file as it was. */
static void test_parts_of_any_size_are_written_in_order(void **state) {
    file_test *test = *state;
    enum { COUNT = 150 };
    size_t sizes[COUNT] = {[0] = 1, [70] = 20u << 20, [71] = 0, [140] = (8u << 20) + 5};
    tn_file_part parts[COUNT];
    tn_file file;
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < COUNT; i++)
        bytes += sizes[i] = sizes[i] > 0 || i == 71 ? sizes[i] : 1000 + i;
    unsigned char *data = malloc(bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i * 7 + i / 4099);
    for (size_t i = 0; i < COUNT; at += sizes[i++])
        parts[i] = (tn_file_part){data + at, sizes[i]};
    assert_int_equal(
        tn_file_write_parts(&test->memory.functions, test->path, COUNT, parts, set_first, data),
        TN_OK);
    assert_failed(tn_file_write_parts(&test->memory.functions, test->path, COUNT - 1, parts,
                                      refuse_to_finish, NULL),
                  TN_ERROR_MEMORY, "nothing to finish with");
    assert_int_equal(tn_file_map(&test->memory.functions, test->path, &file), TN_OK);
    assert_int_equal(file.bytes, bytes);
    assert_int_equal(data[0], 42); /* the first part was written behind its call */
    assert_memory_equal(file.data, data, bytes);
    tn_file_unmap(&file);
    free(data);
}

static void test_an_empty_file_has_a_pointer(void **state) {
    file_test *test = *state;
    tn_file file;
    assert_int_equal(tn_file_write(&test->memory.functions, test->path, NULL, 0), TN_OK);
    assert_int_equal(tn_file_map(&test->memory.functions, test->path, &file), TN_OK);
    assert_non_null(file.data);
    tn_file_unmap(&file);
    assert_int_equal(tn_file_copy(&test->memory.functions, NULL, 0, &file), TN_OK);
    assert_non_null(file.data);
    assert_int_equal(file.bytes, 0);
    tn_file_unmap(&file);
}

static void test_a_copy_is_aligned_and_its_own(void **state) {
    file_test *test = *state;
    tn_file file = {0};
    char content[5] = "abcd";
    assert_int_equal(tn_file_copy(&test->memory.functions, content, 5, &file), TN_OK);
    content[0] = 'z';
    assert_string_equal(file.data, "abcd");
    assert_int_equal((uintptr_t)file.data % 64, 0);
    tn_file_unmap(&file);
    test->memory.fail_at = test->memory.allocations + 1;
    assert_failed(tn_file_copy(&test->memory.functions, content, 5, &file), TN_ERROR_MEMORY,
                  "copy");
    assert_null(file.data);
}

static void test_what_is_not_a_file_is_not_mapped(void **state) {
    file_test *test = *state;
    const tn_allocator *allocator = &test->memory.functions;
    tn_file file = {.bytes = 7};
    assert_failed(tn_file_map(allocator, test->path, &file), TN_ERROR_NOT_FOUND, test->path);
    assert_failed(tn_file_map(allocator, "", &file), TN_ERROR_NOT_FOUND, "''");
    assert_failed(tn_file_map(allocator, test->folder, &file), TN_ERROR_IO, "regular");
    assert_failed(tn_file_map(allocator, "/dev/zero", &file), TN_ERROR_IO, "regular");
    assert_int_equal(mkfifo(test->path, 0600), 0); /* no writer: opening it must not wait */
    assert_failed(tn_file_map(allocator, test->path, &file), TN_ERROR_IO, "regular");
    assert_int_equal(file.bytes, 7);
}

static void test_a_truncated_file_has_the_size_that_is_there(void **state) {
    file_test *test = *state;
    assert_int_equal(tn_file_write(&test->memory.functions, test->path, "0123456789", 10), TN_OK);
    for (int bytes = 9; bytes >= 0; bytes -= 3) {
        assert_int_equal(truncate(test->path, bytes), 0);
        assert_content(test, "0123456789", (size_t)bytes);
    }
}

static void test_a_full_disk_leaves_the_old_file(void **state) {
    file_test *test = *state;
    static char content[100000];
    struct rlimit before, small;
    assert_int_equal(tn_file_write(&test->memory.functions, test->path, "old", 3), TN_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const tn_status status =
        tn_file_write(&test->memory.functions, test->path, content, sizeof(content));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_failed(status, TN_ERROR_IO, "File too large");
    assert_failed(status, TN_ERROR_IO, test->path);
    assert_int_equal(count_files(test->folder), 1);
    assert_content(test, "old", 3);
}

static void test_what_cannot_be_written_is_said(void **state) {
    file_test *test = *state;
    const tn_allocator *allocator = &test->memory.functions;
    char path[200], name[300];
    snprintf(path, sizeof(path), "%s/none/file", test->folder);
    assert_failed(tn_file_write(allocator, path, "x", 1), TN_ERROR_NOT_FOUND, path);
    assert_failed(tn_file_write(allocator, test->folder, "x", 1), TN_ERROR_IO, "regular");
    assert_failed(tn_file_write(allocator, "/dev/full", "x", 1), TN_ERROR_IO, "regular");
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    assert_failed(tn_file_write(allocator, name, "x", 1), TN_ERROR_IO, "too long");
    assert_int_equal(count_files(test->folder), 0);
}

static void test_files_have_the_mode_of_ordinary_files(void **state) {
    file_test *test = *state;
    struct stat info;
    const mode_t before = umask(027);
    assert_int_equal(tn_file_write(&test->memory.functions, test->path, "x", 1), TN_OK);
    umask(before);
    assert_int_equal(stat(test->path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void test_what_a_killed_writer_left_is_no_obstacle(void **state) {
    file_test *test = *state;
    for (int i = 0; i < 64; i++) {
        char path[160];
        snprintf(path, sizeof(path), "%s.%ld.%d.part", test->path, (long)getpid(), i);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fclose(file);
    }
    assert_int_equal(tn_file_write(&test->memory.functions, test->path, "x", 1), TN_OK);
    assert_content(test, "x", 1);
    assert_int_equal(count_files(test->folder), 65);
}

static void test_writing_survives_each_failing_allocation(void **state) {
    file_test *test = *state;
    assert_int_equal(tn_file_write(tn_allocator_default(), test->path, "old", 3), TN_OK);
    uint64_t failed = 0;
    for (tn_status status = TN_ERROR_MEMORY; status != TN_OK;) {
        test->memory.fail_at = test->memory.allocations + failed + 1;
        status = tn_file_write(&test->memory.functions, test->path, "new", 3);
        assert_int_equal(test->memory.live, 0);
        assert_int_equal(count_files(test->folder), 1);
        if (status != TN_OK) {
            assert_failed(status, TN_ERROR_MEMORY, "no memory");
            failed++;
        }
        assert_content(test, status == TN_OK ? "new" : "old", 3);
    }
    assert_true(failed >= 2);
}

typedef struct writer {
    const char *path;
    char content[5000];
    tn_status status;
} writer;

static void *write_often(void *user) {
    writer *self = user;
    for (int i = 0; i < 20 && self->status == TN_OK; i++)
        self->status =
            tn_file_write(tn_allocator_default(), self->path, self->content, sizeof(self->content));
    return NULL;
}

static void test_two_writers_leave_one_whole_file(void **state) {
    file_test *test = *state;
    static writer writers[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        writers[i].path = test->path;
        memset(writers[i].content, 'a' + i, sizeof(writers[i].content));
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, &writers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(writers[0].status, TN_OK);
    assert_int_equal(writers[1].status, TN_OK);
    tn_file file;
    assert_int_equal(tn_file_map(tn_allocator_default(), test->path, &file), TN_OK);
    const int winner = *(const char *)file.data - 'a';
    assert_in_range(winner, 0, 1);
    tn_file_unmap(&file);
    assert_content(test, writers[winner].content, sizeof(writers[winner].content));
    assert_int_equal(count_files(test->folder), 1);
}

static void test_existence_is_seen(void **state) {
    file_test *test = *state;
    assert_false(tn_file_exists(test->path));
    assert_int_equal(tn_file_write(&test->memory.functions, test->path, "", 0), TN_OK);
    assert_true(tn_file_exists(test->path));
    assert_true(tn_file_exists(test->folder));
}

static void test_paths_are_taken_apart_and_joined(void **state) {
    (void)state;
    tn_arena *arena;
    assert_int_equal(tn_arena_create(tn_allocator_default(), &arena), TN_OK);
    assert_string_equal(tn_path_folder(arena, "a/b/c.onnx"), "a/b");
    assert_string_equal(tn_path_folder(arena, "c.onnx"), ".");
    assert_string_equal(tn_path_folder(arena, "/c.onnx"), "/");
    assert_string_equal(tn_path_name("a/b/c.onnx"), "c.onnx");
    assert_string_equal(tn_path_name("c.onnx"), "c.onnx");
    assert_string_equal(tn_path_name("a/"), "");
    assert_string_equal(tn_path_join(arena, "a", "b"), "a/b");
    assert_string_equal(tn_path_join(arena, "a/", "b"), "a/b");
    assert_string_equal(tn_path_join(arena, "/", "b"), "/b");
    tn_arena_destroy(arena);
}

static void test_paths_that_leave_their_folder_are_known(void **state) {
    (void)state;
    static const char *const inside[] = {"a", "a/b", "./a", "a/./b", "..a", "a..", "a/b..c", "..."};
    static const char *const outside[] = {"",       "/a",   "..",    "../a",      "a/..",
                                          "a/../b", "./..", "a//..", "a/b/../..", "/"};
    for (size_t i = 0; i < TEST_COUNT(inside); i++)
        if (!tn_path_is_inside(inside[i])) fail_msg("'%s' is inside", inside[i]);
    for (size_t i = 0; i < TEST_COUNT(outside); i++)
        if (tn_path_is_inside(outside[i])) fail_msg("'%s' is outside", outside[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_what_is_written_is_mapped),
        FILE_TEST(test_parts_of_any_size_are_written_in_order),
        FILE_TEST(test_an_empty_file_has_a_pointer),
        FILE_TEST(test_a_copy_is_aligned_and_its_own),
        FILE_TEST(test_what_is_not_a_file_is_not_mapped),
        FILE_TEST(test_a_truncated_file_has_the_size_that_is_there),
        FILE_TEST(test_a_full_disk_leaves_the_old_file),
        FILE_TEST(test_what_cannot_be_written_is_said),
        FILE_TEST(test_files_have_the_mode_of_ordinary_files),
        FILE_TEST(test_what_a_killed_writer_left_is_no_obstacle),
        FILE_TEST(test_writing_survives_each_failing_allocation),
        FILE_TEST(test_two_writers_leave_one_whole_file),
        FILE_TEST(test_existence_is_seen),
        cmocka_unit_test(test_paths_are_taken_apart_and_joined),
        cmocka_unit_test(test_paths_that_leave_their_folder_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
