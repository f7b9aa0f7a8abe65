/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of cuDNN as files; see cudnn_store.h. */
#include "kit/cuda/cudnn/cudnn_store.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES      ((uint64_t)512 << 20)
#define MOST_FILE_BYTES ((uint64_t)64 << 20)
enum { PATH_BYTES = 1024, MOST_FILES = 1 << 16 };
static const char magic[8] = {'T', 'N', 'C', 'U', 'D', 'N', 'N', '1'};

typedef struct file_header {
    char magic[8];
    uint64_t is_fused, number_bytes, location_bytes, text_bytes;
    uint64_t checksum; /* of is_fused and of all that follows */
} file_header;

static uint64_t add_hash(uint64_t hash, const void *data, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}
static const uint64_t first_hash = UINT64_C(0xcbf29ce484222325);

/* ----------------------------------------------------------------------------------------------
 * the folder */

static bool make_folder(const char *path) {
    struct stat info;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool find_folder(char *path) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const bool is_base = base && base[0] == '/';
    struct stat info;
    if (!is_base && !(home && home[0] == '/')) return false;
    const int length = is_base ? snprintf(path, PATH_BYTES, "%s", base)
                               : snprintf(path, PATH_BYTES, "%s/.cache", home);
    if (length < 0 || length > PATH_BYTES - 100 || !make_folder(path)) return false;
    strcat(path, "/tenon");
    if (!make_folder(path)) return false;
    strcat(path, "/cudnn");
    return make_folder(path) && stat(path, &info) == 0 && info.st_uid == geteuid() &&
           !(info.st_mode & (S_IWGRP | S_IWOTH));
}

static pthread_once_t folder_once = PTHREAD_ONCE_INIT;
static char folder_path[PATH_BYTES];
static bool is_folder_usable;

static bool evict(const char *base);

/* Once a process: finds the folder, and evicts old files. */
static void open_folder(void) {
    is_folder_usable = find_folder(folder_path) && evict(folder_path);
}

static bool make_path(const tn_cudnn_store_key *key, char *path) {
    (void)pthread_once(&folder_once, open_folder);
    if (!is_folder_usable) return false;
    uint64_t hash = add_hash(first_hash, key->numbers, key->number_bytes);
    hash = add_hash(hash, key->location, strlen(key->location));
    const int length = snprintf(path, PATH_BYTES, "%s/%016llx-%u", folder_path,
                                (unsigned long long)hash, key->index);
    return length > 0 && length < PATH_BYTES;
}

typedef struct old_file {
    char name[32];
    int64_t time;
    uint64_t bytes;
} old_file;

static int compare_times(const void *a, const void *b) {
    const int64_t left = ((const old_file *)a)->time, right = ((const old_file *)b)->time;
    return left < right ? -1 : left > right;
}

static uint64_t list(const char *base, DIR *directory, old_file *files, uint32_t *out_count) {
    uint64_t total = 0;
    uint32_t count = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) && count < MOST_FILES;) {
        char path[PATH_BYTES + 64];
        struct stat info;
        const size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || length >= sizeof(files->name)) continue;
        snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        memcpy(files[count].name, entry->d_name, length + 1);
        files[count].time = (int64_t)info.st_mtime;
        files[count].bytes = (uint64_t)info.st_size;
        total += files[count++].bytes;
    }
    *out_count = count;
    return total;
}

/* Removes the oldest files when there are more bytes than may be, down to half of that. */
static bool evict(const char *base) {
    uint32_t count = 0;
    DIR *directory = opendir(base);
    if (!directory) return false;
    old_file *files = malloc(MOST_FILES * sizeof(old_file));
    if (files) {
        uint64_t total = list(base, directory, files, &count);
        const bool is_full = total > MOST_BYTES || count == MOST_FILES;
        if (is_full) qsort(files, count, sizeof(*files), compare_times);
        for (uint32_t i = 0; is_full && i < count && (total > MOST_BYTES / 2 || i < count / 2);
             i++) {
            char path[PATH_BYTES + 64];
            snprintf(path, sizeof(path), "%s/%s", base, files[i].name);
            if (unlink(path) == 0) total -= files[i].bytes;
        }
    }
    free(files);
    closedir(directory);
    return true;
}

/* ----------------------------------------------------------------------------------------------
 * files */

static bool is_header_sound(const file_header *header, const tn_cudnn_store_key *key,
                            uint64_t bytes) {
    return memcmp(header->magic, magic, sizeof(magic)) == 0 &&
           header->number_bytes == key->number_bytes &&
           header->location_bytes == strlen(key->location) && header->text_bytes > 0 &&
           header->text_bytes < MOST_FILE_BYTES &&
           bytes ==
               sizeof(*header) + header->number_bytes + header->location_bytes + header->text_bytes;
}

static uint64_t first_of(const file_header *header) {
    return add_hash(first_hash, &header->is_fused, sizeof(header->is_fused));
}

/* All of a file, malloc's. */
static char *read_all(const char *path, uint64_t *out_bytes) {
    FILE *file = fopen(path, "rb");
    struct stat info;
    char *data = NULL;
    if (!file) return NULL;
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        (uint64_t)info.st_size < MOST_FILE_BYTES) {
        *out_bytes = (uint64_t)info.st_size;
        data = malloc((size_t)*out_bytes);
        if (data && fread(data, 1, (size_t)*out_bytes, file) != *out_bytes) {
            free(data);
            data = NULL;
        }
    }
    fclose(file);
    return data;
}

bool tn_cudnn_store_read(const tn_cudnn_store_key *key, bool *out_is_fused, char **out_text,
                         uint64_t *out_bytes) {
    char path[PATH_BYTES];
    file_header header;
    uint64_t bytes = 0;
    char *data = make_path(key, path) ? read_all(path, &bytes) : NULL;
    if (!data) return false;
    bool is_sound = bytes > sizeof(header);
    if (is_sound) {
        memcpy(&header, data, sizeof(header));
        const char *numbers = data + sizeof(header);
        is_sound =
            is_header_sound(&header, key, bytes) &&
            add_hash(first_of(&header), numbers, bytes - sizeof(header)) == header.checksum &&
            memcmp(numbers, key->numbers, key->number_bytes) == 0 &&
            memcmp(numbers + key->number_bytes, key->location, header.location_bytes) == 0;
    }
    if (!is_sound) {
        free(data);
        return false;
    }
    memmove(data, data + bytes - header.text_bytes, header.text_bytes);
    *out_is_fused = header.is_fused != 0;
    *out_text = data;
    *out_bytes = header.text_bytes;
    return true;
}

static bool write_parts(FILE *file, const tn_cudnn_store_key *key, const file_header *header,
                        const char *text) {
    return fwrite(header, sizeof(*header), 1, file) == 1 &&
           fwrite(key->numbers, key->number_bytes, 1, file) == 1 &&
           fwrite(key->location, header->location_bytes, 1, file) == 1 &&
           fwrite(text, header->text_bytes, 1, file) == 1;
}

bool tn_cudnn_store_write(const tn_cudnn_store_key *key, bool is_fused, const char *text,
                          uint64_t bytes) {
    char path[PATH_BYTES], made[PATH_BYTES + 64];
    file_header header = {0};
    if (bytes == 0 || bytes >= MOST_FILE_BYTES || !make_path(key, path)) return false;
    memcpy(header.magic, magic, sizeof(magic));
    header.is_fused = is_fused;
    header.number_bytes = key->number_bytes;
    header.location_bytes = strlen(key->location);
    header.text_bytes = bytes;
    header.checksum = add_hash(first_of(&header), key->numbers, key->number_bytes);
    header.checksum = add_hash(header.checksum, key->location, header.location_bytes);
    header.checksum = add_hash(header.checksum, text, bytes);
    /* Under a name of its own first, so that nobody reads half of it. */
    snprintf(made, sizeof(made), "%s.XXXXXX", path);
    const int descriptor = mkstemp(made);
    if (descriptor < 0) return false;
    FILE *file = fdopen(descriptor, "wb");
    bool is_written = file && write_parts(file, key, &header, text);
    if (file)
        is_written = fclose(file) == 0 && is_written;
    else
        close(descriptor);
    if (is_written && rename(made, path) == 0) return true;
    unlink(made);
    return false;
}
