/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of a model: what stands behind a reader's tn_import. load.c begins and ends it,
 * find.c chooses the importer; the services are in services*.c, all of whose arguments are a
 * library's and not trusted.
 */
#ifndef TN_IMPORT_READING_H
#define TN_IMPORT_READING_H

#include "graph/graph.h"
#include "import/importers.h"
#include "import/missing_list.h"

#include <tenon/import.h>

/* A graph in the making: the model's, or a body. */
typedef struct tn_reading_graph {
    tn_import_graph view;           /* first: what readers see */
    tn_graph *graph;                /* owned by the outer graph once the body has ended */
    struct tn_reading_graph *outer; /* null: the model's */
    struct tn_reading_graph *next;  /* body that was begun before; null: none */
    bool has_ended, is_checked;
    const void *body; /* of one that has ended */
} tn_reading_graph;

/* A file that was opened. */
typedef struct tn_reading_file {
    tn_file file; /* zeroed where the graph has it */
    const void *data;
    size_t bytes;
    const char *name;  /* by which the model's folder has it; null: it was opened elsewhere */
    uint64_t identity; /* as tn_file has it */
    bool is_kept;
} tn_reading_file;

/* Memory that has the lifetime of the graph. */
typedef struct tn_reading_range {
    const void *data;
    size_t bytes;
} tn_reading_range;

/* Where a reader said that it is; UINT64_MAX and "": nowhere. */
typedef struct tn_reading_position {
    uint64_t offset;
    char node[200];
} tn_reading_position;

typedef struct tn_reading {
    tn_import import; /* first: what readers see */
    tn_runtime *runtime;
    tn_reading_position *position, own_position; /* the first is the second, or whoever watches' */
    const tn_allocator *allocator;
    tn_arena *arena; /* for what has the lifetime of the reading */
    tn_reading_graph root;
    tn_reading_graph *bodies;
    tn_map *file_names; /* index in `files` by resolved path */
    tn_reading_file *files;
    size_t file_count, file_capacity;
    tn_reading_range *ranges;
    size_t range_count, range_capacity;
    const tn_operator_entry **held; /* operators that were found, each with a count */
    size_t held_count, held_capacity;
    tn_missing_list missing;
    /* The path of the file that was opened last, as the reader named it; null: none. An error whose
     * location begins with it is not the model's. */
    const char *last_opened;
    bool has_other_file; /* it could not be opened */
} tn_reading;

static inline tn_reading *tn_reading_of(const tn_import *import) {
    return (tn_reading *)(uintptr_t)import;
}
static inline tn_reading_graph *tn_reading_graph_of(const tn_import_graph *graph) {
    return (tn_reading_graph *)(uintptr_t)graph;
}

/* Where a model is. */
typedef struct tn_reading_source {
    const char *path, *folder; /* null: memory; none */
    const void *data;
    size_t bytes;
} tn_reading_source;

/* Who looks on while a model is read; each may be null. */
typedef struct tn_reading_watch {
    void *user;
    tn_reading_position *position; /* is told where the reader is */
    /* Before a library is loaded, and after (null), where an importer is looked for. */
    void (*loads)(void *user, const char *path);
    /* Before the options are read. */
    void (*begins)(void *user, const tn_importer_entry *entry);
    /* At the end, while everything of a good reading is there still. */
    tn_status (*ends)(void *user, const tn_reading *reading);
} tn_reading_watch;

/* --- load.c --- */
/* One reading by an importer that is chosen; `watch` may be null. */
tn_status tn_reading_run(tn_runtime *runtime, const tn_importer_entry *entry,
                         const tn_import_options *options, const tn_reading_source *from,
                         const tn_reading_watch *watch, tn_graph **out_graph);
/* From the choice of the importer on; a source with a path alone is mapped meanwhile. */
tn_status tn_reading_load(tn_runtime *runtime, const tn_import_options *options,
                          const tn_reading_source *from, const tn_reading_watch *watch,
                          tn_graph **out_graph);

/* --- find.c --- */
/* The importer for a file: by `format` where that is not null, else by the ending of the path
 * (null: it has none), then by its first bytes. The caller releases the entry. */
tn_status tn_importer_find(tn_runtime *runtime, const char *format, const tn_reading_source *from,
                           const tn_reading_watch *watch, const tn_importer_entry **out_entry);

/* --- options.c --- */
/* The options' struct, in `arena`; null where the importer has none. */
tn_status tn_importer_options(tn_arena *arena, const tn_importer_entry *entry, uint64_t count,
                              const tn_attribute *const *options, const void **out_params);

/* --- services.c --- */
extern const tn_import_services tn_reading_services;

/* --- memory.c --- */
/* Whether the bytes are all in memory that has the lifetime of the graph. */
bool tn_reading_owns(const tn_reading *reading, const void *data, uint64_t bytes);
void *tn_reading_allocate(tn_import *import, uint64_t bytes);
/* Makes a file the graph's; constants may lie in it. */
tn_status tn_reading_own_file(tn_reading *reading, tn_file *file);
tn_status tn_reading_adopt(tn_import *import, void *memory, uint64_t bytes);
tn_status tn_reading_open(tn_import *import, const char *name, uint32_t flags,
                          tn_import_file *out_file);

/* --- operators.c --- */
tn_status tn_reading_find_operator(tn_import *import, const char *domain, const char *name,
                                   uint32_t version, const tn_operator **out_op);
bool tn_reading_is_given(tn_import *import, const char *name);
tn_status tn_reading_check_fields(tn_import *import, const tn_operator *op, uint64_t count,
                                  const tn_attribute *const *attributes);
tn_status tn_reading_ask(tn_import *import, const tn_import_question *question);
tn_status tn_reading_describe_missing(tn_import *import, const char *name, uint64_t count,
                                      const tn_attribute *const *attributes);
tn_status tn_reading_add_missing(tn_import *import, const char *key, const char *node);
bool tn_reading_is_missing(tn_import *import, const char *key);
tn_status tn_reading_report_missing(tn_import *import);
/* The entry of an operator that find_operator gave; null: it did not. */
const tn_operator_entry *tn_reading_entry(const tn_reading *reading, const tn_operator *op);

/* --- nodes.c --- */
/* Attributes that are a library's, checked as far as the graph does not; in the reading's arena.
 * Data of tensors in them are the graph's. `outer`: whose bodies there may be; null: none. */
tn_status tn_reading_attributes(tn_reading *reading, const tn_reading_graph *outer, uint64_t count,
                                const tn_attribute *const *attributes,
                                const tn_attribute *const **out_attributes);
tn_status tn_reading_add_node(tn_import_graph *graph, const tn_import_node *node);
tn_status tn_reading_begin_body(tn_import_graph *outer, const char *name,
                                tn_import_graph **out_body);
tn_status tn_reading_end_body(tn_import_graph *body, uint32_t captured_count,
                              const tn_import_tensor *captured, const void **out_graph);
tn_status tn_reading_check(tn_import_graph *graph);

#endif
