/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that are kept come back under their own key alone, and a damaged file is no plan. The
 * folder is looked for once a process, so that each test is a process of its own.
 */
#include "kit/cuda/cudnn/cudnn_store.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t values[4] = {0, 56, 64, -1};
static const char text[] = "{\"engine\": 7, \"kernel\": \"some bytes\"}";

static tn_cudnn_store_key key_of(const int64_t *some, const char *device_name, uint32_t index) {
    return (tn_cudnn_store_key){some, sizeof(values), device_name, index};
}

/* Whether the text comes back. */
static bool reads(const tn_cudnn_store_key *key) {
    bool is_fused = false;
    char *found = NULL;
    uint64_t bytes = 0;
    if (!tn_cudnn_store_read(key, &is_fused, &found, &bytes)) return false;
    const bool is_same = is_fused && bytes == sizeof(text) && memcmp(found, text, bytes) == 0;
    free(found);
    return is_same;
}

/* Calls `body` in a process that has a cache folder of its own, with its path; it answers whether
 * all is well. */
static bool in_process(bool (*body)(const char *folder)) {
    char folder[] = "/tmp/tenon-store.XXXXXX", command[64];
    int status = 0;
    assert_non_null(mkdtemp(folder));
    const pid_t child = fork();
    if (child == 0) {
        setenv("XDG_CACHE_HOME", folder, 1);
        _exit(body(folder) ? 0 : 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool keeps(const char *folder) {
    const int64_t others[4] = {0, 56, 65, -1};
    const tn_cudnn_store_key key = key_of(values, "a GPU", 3);
    const tn_cudnn_store_key strange[] = {key_of(others, "a GPU", 3), key_of(values, "a gpu", 3),
                                          key_of(values, "a GPU", 4)};
    (void)folder;
    if (reads(&key) || !tn_cudnn_store_write(&key, true, text, sizeof(text))) return false;
    for (int i = 0; i < 3; i++)
        if (reads(&strange[i])) return false;
    return reads(&key);
}

/* The path of the one file that is there. */
static bool find_file(const char *folder, char *path, size_t bytes) {
    char base[200];
    bool is_found = false;
    snprintf(base, sizeof(base), "%s/tenon/cudnn", folder);
    DIR *directory = opendir(base);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (entry->d_name[0] != '.') {
            snprintf(path, bytes, "%s/%s", base, entry->d_name);
            is_found = true;
        }
    if (directory) closedir(directory);
    return is_found;
}

static size_t read_file(const char *path, unsigned char *data, size_t capacity) {
    FILE *file = fopen(path, "rb");
    const size_t bytes = file ? fread(data, 1, capacity, file) : 0;
    if (file) fclose(file);
    return bytes;
}

static bool write_file(const char *path, const unsigned char *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    const bool is_written = file && fwrite(data, 1, bytes, file) == bytes;
    return file && fclose(file) == 0 && is_written;
}

static bool refuses_damage(const char *folder) {
    const tn_cudnn_store_key key = key_of(values, "a GPU", 0);
    unsigned char data[1024], damaged[1024];
    char path[600];
    if (!tn_cudnn_store_write(&key, true, text, sizeof(text)) ||
        !find_file(folder, path, sizeof(path)))
        return false;
    const size_t bytes = read_file(path, data, sizeof(data));
    if (bytes < sizeof(text) || bytes == sizeof(data)) return false;
    for (size_t length = 0; length < bytes; length++)
        if (!write_file(path, data, length) || reads(&key)) return false;
    for (size_t at = 0; at < bytes; at++) {
        memcpy(damaged, data, bytes);
        damaged[at] ^= 0x41;
        if (!write_file(path, damaged, bytes) || reads(&key)) return false;
    }
    memcpy(damaged, data, bytes);
    damaged[bytes] = 0;
    return write_file(path, damaged, bytes + 1) && !reads(&key) && write_file(path, data, bytes) &&
           reads(&key);
}

static bool refuses_open_folder(const char *folder) {
    const tn_cudnn_store_key key = key_of(values, "a GPU", 0);
    char path[200];
    snprintf(path, sizeof(path), "%s/tenon", folder);
    if (mkdir(path, 0700) != 0) return false;
    snprintf(path, sizeof(path), "%s/tenon/cudnn", folder);
    if (mkdir(path, 0700) != 0 || chmod(path, 0777) != 0) return false;
    return !tn_cudnn_store_write(&key, true, text, sizeof(text)) && !reads(&key);
}

static bool lives_without_folder(const char *folder) {
    const tn_cudnn_store_key key = key_of(values, "a GPU", 0);
    (void)folder;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    return !tn_cudnn_store_write(&key, true, text, sizeof(text)) && !reads(&key);
}

static void store_keeps_plans(void **state) {
    (void)state;
    assert_true(in_process(keeps));
}

static void store_refuses_damaged_files(void **state) {
    (void)state;
    assert_true(in_process(refuses_damage));
}

static void store_refuses_a_folder_of_others(void **state) {
    (void)state;
    assert_true(in_process(refuses_open_folder));
    assert_true(in_process(lives_without_folder));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_keeps_plans),
        cmocka_unit_test(store_refuses_damaged_files),
        cmocka_unit_test(store_refuses_a_folder_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
