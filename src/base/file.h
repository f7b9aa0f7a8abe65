/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: mapped for reading; written beside and renamed into place, so that nothing is lost when
 * the disk is full.
 */
#ifndef TN_BASE_FILE_H
#define TN_BASE_FILE_H

#include "base/memory.h"

/* A file mapped read-only (private), or a copy of bytes in memory. An empty file has size 0 and a
 * valid pointer. */
typedef struct tn_file {
    const tn_allocator *allocator;
    const void *data;
    size_t bytes;
    bool is_mapped;
    uint64_t identity; /* of a mapped one: hash of device, number and times of change */
} tn_file;
/* TN_ERROR_NOT_FOUND, TN_ERROR_IO (with the path and the system's reason). Directories and devices
 * are refused. */
tn_status tn_file_map(const tn_allocator *allocator, const char *path, tn_file *out_file);
tn_status tn_file_copy(const tn_allocator *allocator, const void *data, size_t bytes,
                       tn_file *out_file); /* 64-byte aligned */
void tn_file_unmap(tn_file *file);         /* a zeroed one is fine */

/* Writes `path` whole or not at all: a file beside it, fsync, rename. TN_ERROR_IO names path and
 * reason. */
tn_status tn_file_write(const tn_allocator *allocator, const char *path, const void *data,
                        size_t bytes);
/* The same of bytes that lie in several parts. */
typedef struct tn_file_part {
    const void *data;
    size_t bytes;
} tn_file_part;
/* The first part is written last, behind a call of `finish` (null: there is nothing to finish),
 * which may fill it; its failure is the answer, and `path` stays as it was. */
tn_status tn_file_write_parts(const tn_allocator *allocator, const char *path, size_t count,
                              const tn_file_part *parts, tn_status (*finish)(void *user),
                              void *user);
bool tn_file_exists(const char *path);

/* The path's folder and last part; "." and the path when there is no '/'. Text in `arena`. Null: no
 * memory. */
const char *tn_path_folder(tn_arena *arena, const char *path);
const char *tn_path_name(const char *path);
const char *tn_path_join(tn_arena *arena, const char *folder, const char *name);
/* True when `relative` stays inside its folder: not empty, not absolute, no ".." part. */
bool tn_path_is_inside(const char *relative);

#endif
