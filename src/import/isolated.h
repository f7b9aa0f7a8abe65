/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a model in a helper process (TN_IMPORT_ISOLATED). The asking side (isolated_asking.h)
 * writes what is to be read into a file in memory; the helper (isolated_serve.c) reads the model
 * with its importer and packs the graph (isolated_pack.c) behind it: constants' data, then records
 * of the calls by which a reader would build that graph. The asking side ends the helper, takes the
 * records out, seals the file, and unpacks them (isolated_unpack.c) as a reader of its own, so that
 * the services of every reader check them. What is reported meanwhile is in one shared page.
 */
#ifndef TN_IMPORT_ISOLATED_H
#define TN_IMPORT_ISOLATED_H

#include "base/error_copy.h"
#include "import/isolated_bytes.h"
#include "import/reading.h"

#include <stdatomic.h>
#include <tenon/import.h>

/* Both sides are of one build; a helper of another one refuses this number. */
#define TN_ISOLATED_VERSION   1u
#define TN_ISOLATED_PAGE      4096u
#define TN_ISOLATED_LOG_BYTES 65536u

/* What the helper is about. */
enum {
    TN_ISOLATED_BEGINS = 0,
    TN_ISOLATED_LOADS,   /* a library: page->library */
    TN_ISOLATED_CHOOSES, /* the importer */
    TN_ISOLATED_READS,   /* page->importer, page->library */
    TN_ISOLATED_PACKS,
    TN_ISOLATED_ENDED /* there is an answer */
};

typedef struct tn_isolated_page {
    uint32_t version, bytes; /* of the page */
    uint64_t request_bytes;  /* of the file's beginning */
    _Atomic uint32_t stage;
    tn_reading_position position;
    char importer[128], library[512];
    /* The answer: TN_OK, or the error. */
    int32_t status;
    tn_error_copy error;
    /* In the file, behind the request: data from a page's begin on, records behind it. */
    uint64_t data_begin, data_bytes, records_begin, records_bytes;
    uint32_t log_bytes; /* a level's byte, a text and 0, again and again */
    char log[TN_ISOLATED_LOG_BYTES];
} tn_isolated_page;

/* The request: these numbers, then texts and options as the functions below write and read them. */
typedef struct tn_isolated_request {
    uint32_t log_level, reads_environment;
    const char *path, *folder, *format; /* null: none */
    uint64_t search_path_count;         /* texts follow */
    uint64_t library_count;             /* hash, path and domain of each follow */
    uint64_t option_count;              /* attributes follow */
    const void *data;                   /* without a path: the model */
    uint64_t data_bytes;
} tn_isolated_request;

/* --- isolated_ask.c --- */
tn_status tn_isolated_reading_load(tn_runtime *runtime, const tn_import_options *options,
                                   const tn_reading_source *from, tn_graph **out_graph);

/* --- isolated_attributes.c: what is no tensor and no body --- */
void tn_isolated_put_attribute(tn_isolated_writer *writer, const tn_attribute *attribute);
/* Texts stay where they are, lists are in `arena`; a failure is the cursor's. */
tn_attribute tn_isolated_take_attribute(tn_isolated_cursor *cursor, tn_arena *arena);

/* --- isolated_pack.c --- */
/* Data into the file from page->data_begin on, and the records; sets the page's four numbers. */
tn_status tn_isolated_pack(const tn_reading *reading, int file, tn_isolated_page *page);

/* --- isolated_unpack.c --- */
/* What was handed over: any bytes. `data` is the graph's when the call succeeds. */
typedef struct tn_isolated_parcel {
    const void *records;
    size_t record_bytes;
    tn_file data;
} tn_isolated_parcel;
tn_status tn_isolated_unpack(tn_runtime *runtime, const tn_reading_source *from,
                             tn_isolated_parcel *parcel, tn_graph **out_graph);

#endif
