/* SPDX-License-Identifier: Apache-2.0 */
/* Where an engine's plan comes from: a file, a copy of bytes, or memory that is lent. */
#ifndef TN_ENGINE_ENGINE_SOURCE_H
#define TN_ENGINE_ENGINE_SOURCE_H

#include "base/file.h"
#include "plan/pieces.h"
#include "plugin/weights/weight_store.h"

#include <tenon/engine.h>

typedef void (*tn_engine_note)(void *user, uint32_t step);

typedef struct tn_engine_source {
    tn_file file;                 /* mapped, its own, or lent */
    const tn_plan_pieces *pieces; /* in place of the file, lent; null: the file */
    tn_shared_weight *copy; /* the file lends from this one, which is counted; null: it does not */
    size_t mapped_bytes;    /* that the shared one is a mapping of; 0: a copy */
    const char *name;
    int descriptor; /* of the same bytes, for helper processes; -1: not needed */
    bool is_serving;
    uint32_t profile;
    tn_engine_note note;
    void *note_user;
} tn_engine_source;

/* Maps the file, once for all engines of the same; on failure there is nothing to close. */
tn_status tn_engine_source_open_file(tn_runtime *runtime, const char *path,
                                     const tn_engine_options *options, tn_engine_source *from);
/* The file is lent already: a descriptor, where helper processes need one. */
tn_status tn_engine_source_open_memory(const void *data, size_t bytes,
                                       const tn_engine_options *options, tn_engine_source *from);
/* A copy, which engines of the same bytes share, and the descriptor. */
tn_status tn_engine_source_copy(tn_runtime *runtime, const void *data, size_t bytes,
                                const tn_engine_options *options, tn_engine_source *from);
/* Gives back what a source shared with others; null is fine. */
void tn_engine_source_release(tn_runtime *runtime, tn_shared_weight *copy, size_t mapped_bytes);
void tn_engine_source_close(tn_runtime *runtime, tn_engine_source *from);

#endif
