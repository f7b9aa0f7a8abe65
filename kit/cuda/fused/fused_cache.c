/* SPDX-License-Identifier: Apache-2.0 */
/* The files of fused_cache.h: a head, the key, the code. */
#include "kit/cuda/fused/fused_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_PATH = 4096, MOST_KEY = 1 << 20, MOST_CODE = 1 << 26 };

typedef struct cache_head {
    char magic[8];
    uint64_t key_bytes, code_bytes, checksum;
} cache_head;

static const char magic[8] = "tnfused1";

/* FNV-1a (Fowler, Noll, Vo), 64 bits: against damage and for names, not against malice, from which
 * the folder's owner and mode protect. */
static uint64_t hash(const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        value = (value ^ at[i]) * UINT64_C(0x100000001b3);
    return value;
}

/* ----------------------------------------------------------------------------------------------
 * the folder */

static bool make_folders(char *path) {
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at) continue;
        const char kept = *at;
        *at = 0;
        const bool is_made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = kept;
        if (!is_made || !kept) return is_made;
    }
}

/* What lies in it will be run: nobody else may put it there. */
static bool is_own(const char *folder) {
    struct stat info;
    return stat(folder, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           !(info.st_mode & (S_IWGRP | S_IWOTH));
}

bool tn_cuda_fused_cache_folder(const tn_host *host, char *out_folder, size_t bytes) {
    const tn_environment *environment = host->extension(host, TN_ENVIRONMENT);
    if (!environment) return false;
    const char *base = environment->get(host, "XDG_CACHE_HOME"), *middle = "";
    if (!base || base[0] != '/') {
        base = environment->get(host, "HOME");
        middle = "/.cache";
    }
    if (!base || base[0] != '/') return false;
    const int length = snprintf(out_folder, bytes, "%s%s/tenon", base, middle);
    return length > 0 && (size_t)length < bytes && make_folders(out_folder) && is_own(out_folder);
}

static bool print_path(const char *folder, const char *key, char *out_path) {
    const int length = snprintf(out_path, MOST_PATH, "%s/fused-%016" PRIx64 ".cubin", folder,
                                hash(key, strlen(key)));
    return length > 0 && length < MOST_PATH;
}

/* ----------------------------------------------------------------------------------------------
 * files */

static bool read_all(int file, void *data, size_t bytes) {
    char *at = data;
    while (bytes > 0) {
        const ssize_t count = read(file, at, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        bytes -= (size_t)count;
    }
    return true;
}

static bool write_all(int file, const void *data, size_t bytes) {
    const char *at = data;
    while (bytes > 0) {
        const ssize_t count = write(file, at, bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        bytes -= (size_t)count;
    }
    return true;
}

/* The key and the code behind a head that fits; null: something does not. */
static char *read_rest(const tn_host *host, int file, const cache_head *head, const char *key) {
    const size_t key_bytes = (size_t)head->key_bytes, code_bytes = (size_t)head->code_bytes;
    char *data = host->allocate(host, key_bytes + code_bytes, 64), more;
    const bool is_sound = data && read_all(file, data, key_bytes + code_bytes) &&
                          read(file, &more, 1) == 0 && memcmp(data, key, key_bytes) == 0 &&
                          hash(data, key_bytes + code_bytes) == head->checksum;
    if (is_sound) {
        memmove(data, data + key_bytes, code_bytes);
        return data;
    }
    host->deallocate(host, data);
    return NULL;
}

bool tn_cuda_fused_cache_find(const tn_host *host, const char *folder, const char *key,
                              void **out_code, size_t *out_bytes) {
    char path[MOST_PATH];
    cache_head head;
    char *data = NULL;
    if (!print_path(folder, key, path)) return false;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return false;
    if (read_all(file, &head, sizeof(head)) && memcmp(head.magic, magic, sizeof(magic)) == 0 &&
        head.key_bytes == strlen(key) && head.key_bytes <= MOST_KEY && head.code_bytes > 0 &&
        head.code_bytes <= MOST_CODE)
        data = read_rest(host, file, &head, key);
    (void)close(file);
    if (!data) return false;
    *out_code = data;
    *out_bytes = (size_t)head.code_bytes;
    return true;
}

/* The checksum of both together, without laying them side by side. */
static uint64_t hash_both(const char *key, size_t key_bytes, const void *code, size_t bytes) {
    uint64_t value = hash(key, key_bytes);
    const unsigned char *at = code;
    for (size_t i = 0; i < bytes; i++)
        value = (value ^ at[i]) * UINT64_C(0x100000001b3);
    return value;
}

void tn_cuda_fused_cache_add(const char *folder, const char *key, const void *code, size_t bytes) {
    static uint64_t number; /* tells a process's own files apart */
    char path[MOST_PATH], beside[MOST_PATH + 64];
    const size_t key_bytes = strlen(key);
    cache_head head = {.key_bytes = key_bytes,
                       .code_bytes = bytes,
                       .checksum = hash_both(key, key_bytes, code, bytes)};
    memcpy(head.magic, magic, sizeof(magic));
    if (key_bytes > MOST_KEY || bytes > MOST_CODE || !print_path(folder, key, path)) return;
    snprintf(beside, sizeof(beside), "%s.%ld-%" PRIu64, path, (long)getpid(),
             __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
    const int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return;
    bool is_written = write_all(file, &head, sizeof(head)) && write_all(file, key, key_bytes) &&
                      write_all(file, code, bytes);
    is_written = close(file) == 0 && is_written;
    if (!is_written || rename(beside, path) != 0) (void)unlink(beside);
}
