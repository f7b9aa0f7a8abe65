/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that people hand to Tenon and that it does not read: models of other programs, archives,
 * pages and pointers that were saved in a model's stead, images. One table names each by its
 * contents and says what to do with it.
 */
#ifndef TENON_FOREIGN_FILE_H
#define TENON_FOREIGN_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { FOREIGN_HEAD_BYTES = 4096 };

/* The beginning of a file, with zeros behind it, and what else its row may look at. */
typedef struct file_head {
    const char *path;
    unsigned char bytes[FOREIGN_HEAD_BYTES + 1];
    size_t count;           /* of `bytes` that are the file's */
    unsigned long long all; /* the file's size */
    bool is_directory;
} file_head;

typedef struct foreign_file {
    const char *what;    /* "a PyTorch checkpoint (pickle in a zip archive)" */
    const char *advice;  /* what to do */
    bool is_other_model; /* sound, but of another program: EXIT_UNSUPPORTED */
    bool is_stand_in;    /* something that was saved in the file's stead, whatever was wanted */
} foreign_file;

/* False: it cannot be read. */
bool file_head_read(const char *path, file_head *out_head);
/* Whether a path has an ending, in either case of letters. */
bool file_has_ending(const char *path, const char *ending);
/* Null: it is none of the table's. */
const foreign_file *foreign_file_find(const file_head *head);

#endif
