/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as a helper process hands it over, made and unpacked in this one. */
#ifndef TN_TESTS_ISOLATED_PARCEL_H
#define TN_TESTS_ISOLATED_PARCEL_H

#include "graph/body.h"
#include "import/isolated.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct isolated_parcel {
    void *records, *data;
    size_t record_bytes, data_bytes;
} isolated_parcel;

typedef struct isolated_packing {
    tn_isolated_page page;
    int file;
} isolated_packing;

static inline tn_status isolated_parcel_pack(void *user, const tn_reading *reading) {
    isolated_packing *packing = user;
    return tn_isolated_pack(reading, packing->file, &packing->page);
}

static inline void *isolated_parcel_read(int file, uint64_t begin, uint64_t bytes) {
    char *data = malloc((size_t)bytes + 1);
    if (!data || pread(file, data, (size_t)bytes, (off_t)begin) != (ssize_t)bytes) abort();
    return data;
}

/* Of an ONNX model in memory. */
static inline tn_status isolated_parcel_make(tn_runtime *runtime, const void *model, size_t bytes,
                                             isolated_parcel *out_parcel) {
    isolated_packing *packing = calloc(1, sizeof(*packing));
    if (!packing) abort();
    packing->file = memfd_create("parcel", MFD_CLOEXEC);
    const tn_reading_watch watch = {.user = packing, .ends = isolated_parcel_pack};
    const tn_reading_source from = {.data = model, .bytes = bytes};
    const tn_import_options options = {.size = sizeof(options), .format = "onnx"};
    tn_graph *graph = NULL;
    const tn_status status = tn_reading_load(runtime, &options, &from, &watch, &graph);
    const tn_isolated_page *page = &packing->page;
    if (status == TN_OK)
        *out_parcel = (isolated_parcel){
            .records =
                isolated_parcel_read(packing->file, page->records_begin, page->records_bytes),
            .data = isolated_parcel_read(packing->file, page->data_begin, page->data_bytes),
            .record_bytes = (size_t)page->records_bytes,
            .data_bytes = (size_t)page->data_bytes};
    tn_graph_destroy(graph);
    close(packing->file);
    free(packing);
    return status;
}

static inline void isolated_parcel_free(isolated_parcel *parcel) {
    free(parcel->records);
    free(parcel->data);
}

/* With other records. */
static inline tn_status isolated_parcel_unpack(tn_runtime *runtime, const isolated_parcel *parcel,
                                               const void *records, size_t bytes,
                                               tn_graph **out_graph) {
    tn_isolated_parcel handed = {.records = records, .record_bytes = bytes};
    const tn_reading_source from = {.path = NULL};
    tn_status status =
        tn_file_copy(tn_runtime_allocator(runtime), parcel->data, parcel->data_bytes, &handed.data);
    if (status == TN_OK) status = tn_isolated_unpack(runtime, &from, &handed, out_graph);
    tn_file_unmap(&handed.data);
    return status;
}

#endif
