/* SPDX-License-Identifier: Apache-2.0 */
/* Files and paths; see file.h. */
#include "base/file.h"
#include "base/hash.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static tn_status fail_io(const char *what, const char *path) {
    const int reason = errno;
    const tn_status status = tn_fail(reason == ENOENT ? TN_ERROR_NOT_FOUND : TN_ERROR_IO,
                                     "cannot %s '%s': %s", what, path, strerror(reason));
    return tn_error_in(status, .file = path, .is_in_message = true);
}

static uint64_t identity_of(const struct stat *info) {
    const uint64_t parts[] = {(uint64_t)info->st_dev,         (uint64_t)info->st_ino,
                              (uint64_t)info->st_mtim.tv_sec, (uint64_t)info->st_mtim.tv_nsec,
                              (uint64_t)info->st_ctim.tv_sec, (uint64_t)info->st_ctim.tv_nsec};
    return tn_hash(parts, sizeof(parts));
}

static tn_status map_descriptor(int descriptor, const char *path, tn_file *file) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return fail_io("read", path);
    if (!S_ISREG(info.st_mode))
        return tn_error_in(tn_fail(TN_ERROR_IO, "cannot read '%s': it is not a regular file", path),
                           .file = path, .is_in_message = true);
    static const char nothing[1];
    file->data = nothing;
    file->bytes = (size_t)info.st_size;
    if (file->bytes == 0) return TN_OK;
    void *data = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) return fail_io("map", path);
    file->data = data;
    file->is_mapped = true;
    file->identity = identity_of(&info);
    return TN_OK;
}

tn_status tn_file_map(const tn_allocator *allocator, const char *path, tn_file *out_file) {
    tn_file file = {.allocator = allocator};
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return fail_io("open", path);
    const tn_status status = map_descriptor(descriptor, path, &file);
    close(descriptor);
    if (status == TN_OK) *out_file = file;
    return status;
}

tn_status tn_file_copy(const tn_allocator *allocator, const void *data, size_t bytes,
                       tn_file *out_file) {
    static const char nothing[1];
    if (bytes == 0) {
        *out_file = (tn_file){.allocator = allocator, .data = nothing};
        return TN_OK;
    }
    void *copy = tn_allocate_aligned(allocator, bytes, 64);
    if (!copy) return tn_fail_memory("a copy of a file");
    memcpy(copy, data, bytes);
    *out_file = (tn_file){.allocator = allocator, .data = copy, .bytes = bytes};
    return TN_OK;
}

void tn_file_unmap(tn_file *file) {
    if (file->is_mapped)
        munmap((void *)(uintptr_t)file->data, file->bytes);
    else if (file->allocator && file->data && file->bytes)
        tn_deallocate(file->allocator, (void *)(uintptr_t)file->data);
    *file = (tn_file){0};
}

bool tn_file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

/* What is asked of tn_file_write_parts. */
typedef struct file_writing {
    size_t count;
    const tn_file_part *parts;
    tn_status (*finish)(void *user);
    void *user;
} file_writing;

/* What one call of the system's takes: parts, and bytes of them. */
enum { MOST_PARTS = 64, PIECE_BYTES = 8 << 20 };

/* As much as one call takes, of the first part what is behind `skipped` bytes. */
static ssize_t write_some(int descriptor, size_t count, const tn_file_part *parts, size_t skipped) {
    struct iovec vectors[MOST_PARTS];
    size_t left = PIECE_BYTES;
    int taken = 0;
    while (taken < MOST_PARTS && (size_t)taken < count && left > 0) {
        const tn_file_part *part = &parts[taken];
        const size_t bytes = part->bytes - skipped < left ? part->bytes - skipped : left;
        vectors[taken++] = (struct iovec){(char *)(uintptr_t)part->data + skipped, bytes};
        left -= bytes;
        skipped = 0;
    }
    return writev(descriptor, vectors, taken);
}

/* From byte `begun` of the file. Each piece is being written to the disk while the next one is
 * copied: fsync then waits for the last ones alone. */
static tn_status write_at(int descriptor, const char *path, off_t begun, size_t count,
                          const tn_file_part *parts) {
    size_t part = 0, done = 0; /* of that part */
    off_t end = begun;
    if (lseek(descriptor, begun, SEEK_SET) < 0) return fail_io("write", path);
    while (part < count) {
        if (done == parts[part].bytes) {
            part++;
            done = 0;
            continue;
        }
        const ssize_t written = write_some(descriptor, count - part, parts + part, done);
        if (written < 0 && errno == EINTR) continue;
        if (written == 0) errno = ENOSPC;
        if (written <= 0) return fail_io("write", path);
        for (done += (size_t)written; part < count && done > parts[part].bytes; part++)
            done -= parts[part].bytes;
        end += written;
        if (end - begun < PIECE_BYTES) continue;
        (void)sync_file_range(descriptor, begun, end - begun, SYNC_FILE_RANGE_WRITE);
        begun = end;
    }
    return TN_OK;
}

static tn_status write_all(int descriptor, const char *path, const file_writing *writing) {
    const tn_file_part *parts = writing->parts;
    if (writing->count > 1)
        TN_TRY(write_at(descriptor, path, (off_t)parts->bytes, writing->count - 1, parts + 1));
    if (writing->finish) TN_TRY(writing->finish(writing->user));
    if (writing->count > 0) TN_TRY(write_at(descriptor, path, 0, 1, parts));
    return fsync(descriptor) == 0 ? TN_OK : fail_io("write", path);
}

static void sync_folder(const char *path, tn_arena *arena) {
    const char *folder = tn_path_folder(arena, path);
    const int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    (void)fsync(descriptor);
    close(descriptor);
}

/* A file beside `path` that nobody else writes. A name may be left over from a process that was
 * killed and had the same number: the next one is tried. */
static tn_status create_beside(tn_arena *arena, const char *path, const char **out_beside,
                               int *out_descriptor) {
    static atomic_uint counter;
    for (int attempt = 0; attempt < 1000; attempt++) {
        const char *beside = tn_arena_format(arena, "%s.%ld.%u.part", path, (long)getpid(),
                                             atomic_fetch_add(&counter, 1));
        if (!beside) return tn_fail_memory("a file's name");
        const int descriptor = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            *out_beside = beside;
            *out_descriptor = descriptor;
            return TN_OK;
        }
        if (errno != EEXIST) return fail_io("create", beside);
    }
    return fail_io("create a file beside", path);
}

/* A link stays, and what it names is replaced. */
static tn_status write_beside(tn_arena *arena, const char *path, const file_writing *writing) {
    struct stat info;
    char target[PATH_MAX];
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return tn_fail(TN_ERROR_IO, "cannot write '%s': it is not a regular file", path);
    if (realpath(path, target)) path = target;
    const char *beside = NULL;
    int descriptor = -1;
    TN_TRY(create_beside(arena, path, &beside, &descriptor));
    tn_status status = write_all(descriptor, path, writing);
    if (close(descriptor) != 0 && status == TN_OK) status = fail_io("write", path);
    if (status == TN_OK && rename(beside, path) != 0) status = fail_io("replace", path);
    if (status != TN_OK)
        unlink(beside);
    else
        sync_folder(path, arena);
    return status;
}

tn_status tn_file_write_parts(const tn_allocator *allocator, const char *path, size_t count,
                              const tn_file_part *parts, tn_status (*finish)(void *user),
                              void *user) {
    const file_writing writing = {count, parts, finish, user};
    tn_arena *arena;
    TN_TRY(tn_arena_create(allocator, &arena));
    const tn_status status = write_beside(arena, path, &writing);
    tn_arena_destroy(arena);
    return status;
}

tn_status tn_file_write(const tn_allocator *allocator, const char *path, const void *data,
                        size_t bytes) {
    return tn_file_write_parts(allocator, path, 1, &(tn_file_part){data, bytes}, NULL, NULL);
}

const char *tn_path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *tn_path_folder(tn_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return tn_arena_text(arena, ".");
    if (slash == path) return tn_arena_text(arena, "/");
    return tn_arena_format(arena, "%.*s", (int)(slash - path), path);
}

const char *tn_path_join(tn_arena *arena, const char *folder, const char *name) {
    const size_t length = strlen(folder);
    return tn_arena_format(arena, length && folder[length - 1] == '/' ? "%s%s" : "%s/%s", folder,
                           name);
}

bool tn_path_is_inside(const char *relative) {
    if (!relative[0] || relative[0] == '/') return false;
    for (const char *part = relative; part;) {
        const char *slash = strchr(part, '/');
        const size_t length = slash ? (size_t)(slash - part) : strlen(part);
        if (length == 2 && part[0] == '.' && part[1] == '.') return false;
        part = slash ? slash + 1 : NULL;
    }
    return true;
}
