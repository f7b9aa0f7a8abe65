/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/importer.h: readers of model formats. A library registers a table for each format in
 * its load (TN_IMPORTER_LIBRARY does it), and a text file LIBRARY.so.importers beside it lists
 * their names and endings, so that the library is loaded only when a file asks for it:
 *
 *     acme .acme .acme.txt
 *
 * A reader sees the file's bytes and options, and builds a graph by the functions of its call, all
 * of which check what they are given. See docs/importers.md.
 */
#ifndef TENON_PLUGIN_IMPORTER_H
#define TENON_PLUGIN_IMPORTER_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_import tn_import;             /* one reading of one file */
typedef struct tn_import_graph tn_import_graph; /* the network in the making, or a body in it */

/* A tensor of a graph, by number; and an absent input, an output that nobody wants. */
typedef uint32_t tn_import_tensor;
#define TN_IMPORT_NO_TENSOR UINT32_MAX

/* A file of a sample; `name` is a plain file name. */
typedef struct tn_import_sample_file {
    uint32_t size, reserved;
    const char *name;
    const void *data;
    uint64_t bytes;
} tn_import_sample_file;
/* A model that `tenon plugin check` reads, as it is and damaged: its first file is the model, the
 * others lie beside it. Options are "name=value"; "{}" in a value stands for the files' folder. */
typedef struct tn_import_sample {
    uint32_t size, file_count, option_count, reserved;
    const tn_import_sample_file *const *files;
    const char *const *options;
} tn_import_sample;

/* A format's reader. */
typedef struct tn_importer {
    uint32_t size;
    uint32_t reserved;
    const char *name;    /* "onnx": letters, digits, '_' and '-' */
    const char *what;    /* for messages: "an ONNX model" */
    const char *doc;     /* one line */
    const char *endings; /* of files' names, like ".uff .uff.txt"; null or "": none */
    /* Whether a file that begins with these bytes (at most 4,096) is of the format: 0 no, 100
     * surely. It decides where no ending does. Null: never. [thread: any] */
    uint32_t (*probe)(void *user, const void *head, uint64_t bytes) TN_NOEXCEPT;
    /* Options, as an operator's fields: TN_FIELDS(struct, table), or TN_NO_FIELDS. Three lists of
     * strings have a meaning for programs that read models: `inputs` are "NAME", or
     * "NAME=1x3x-1x-1" with extents (-1: known at run time); `outputs` the tensors that are outputs
     * instead of the file's; `open_inputs` inputs whose extents come with the profile. */
    uint64_t params_bytes;
    uint32_t field_size, field_count;
    const tn_field *fields;
    /* Reads. On TN_OK the graph is sorted and checked; an empty one is refused. [thread: any, other
     * files may be read beside; may fail] */
    tn_status (*read)(tn_import *import) TN_NOEXCEPT;
    void *user;
    uint64_t sample_count;
    const tn_import_sample *const *samples;
} tn_importer;

/* A file that was opened. */
typedef struct tn_import_file {
    uint32_t size, reserved;
    const void *data;
    uint64_t bytes;
} tn_import_file;
enum {
    TN_IMPORT_KEEP = 1u,    /* constants may lie in it: it is mapped as long as the graph lives */
    TN_IMPORT_ANYWHERE = 2u /* the caller of the reader named it, by an option: it may lie outside
                               of the model's folder */
};

/* A tensor as the graph has it; pointers live until the graph grows. */
typedef struct tn_import_tensor_info {
    uint32_t size;
    tn_type type; /* TN_NONE: a node computes it */
    uint32_t rank;
    uint32_t flags;     /* TN_IMPORT_IS_... */
    uint32_t use_count; /* nodes' inputs and outputs of the graph that are this tensor, so far */
    uint32_t reserved;
    const char *name;
    const int64_t *extents;
    const void *data; /* of constants */
    uint64_t bytes;
    uint32_t kind; /* TN_KIND_... (tenon/plugin/sequence.h), as far as nodes were added */
} tn_import_tensor_info;
enum { TN_IMPORT_IS_INPUT = 1u, TN_IMPORT_IS_CONSTANT = 2u };

/* A node. Strings and lists are copied, and so are tensors' data in attributes, other than what
 * lies in memory of the graph. Bodies (TN_FIELD_GRAPH) come from end_body; what they captured
 * becomes the node's last inputs without further ado. */
typedef struct tn_import_node {
    uint32_t size;
    uint32_t version;      /* of the domain; 0: the newest, or what set_opset said */
    const tn_operator *op; /* of find_operator; null: by domain, name and version */
    const char *domain, *op_name;
    const char *name; /* null: one is made */
    uint32_t input_count, output_count;
    const tn_import_tensor *inputs;
    /* Tensors of add_tensor; null: they are made, called `output_names` (null, "" or null within:
     * as tn_graph_add_node), and their numbers written to `out_outputs`. */
    const tn_import_tensor *outputs;
    const char *const *output_names;
    tn_import_tensor *out_outputs;
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
} tn_import_node;

/* What an operator is asked: of which types and shapes its outputs are for these inputs (their data
 * null, or values); the reader writes `count` types, ranks and shapes of TN_MAX_RANK extents. */
typedef struct tn_import_question {
    uint32_t size;
    uint32_t input_count, output_count, reserved;
    const char *name; /* of the node, for messages */
    const tn_operator *op;
    uint64_t attribute_count;
    const tn_attribute *const *attributes;
    const tn_tensor *const *inputs;
    tn_type *out_types;
    uint32_t *out_ranks;
    int64_t (*out_extents)[TN_MAX_RANK];
} tn_import_question;

/* A position in a file or network, in fields. What is null or 0 is not said. */
typedef struct tn_import_place {
    uint32_t size;
    uint32_t line, column;  /* in the file, from 1 */
    uint32_t is_in_message; /* 1: the message says all this, the chain of locations stays */
    uint64_t offset;        /* in the file; UINT64_MAX: not said */
    const char *file;
    const char *node, *node_kind; /* node_kind null: "node" */
    const char *op, *op_kind;     /* op_kind null: "operator" */
    const char *mend;             /* what the message ends with, that would mend it */
} tn_import_place;

/* What a model's file says of itself, for people and programs. Texts may be null or "". What is too
 * much (65,536 KiB of texts, 4,096 entries), and a key that comes again, is left out with a
 * warning. */
typedef struct tn_import_metadata {
    const char *key, *value;
} tn_import_metadata;
typedef struct tn_import_model {
    uint32_t size, reserved;
    const char *producer_name, *producer_version; /* of the program that wrote the file */
    const char *domain, *doc;
    int64_t model_version;
    uint64_t metadata_count;
    const tn_import_metadata *metadata;
} tn_import_model;

/* What the host does for a reader. Functions that fail have said why: hand their status on, with
 * the location added by `at` where that helps. A status that is not TN_OK has left the graph as it
 * was. [thread: the one that reads] */
typedef struct tn_import_services {
    uint32_t size, reserved;
    /* --- errors --- */
    /* Why the reading fails; returns `status`. The host adds the file and the position. */
    tn_status (*fail)(tn_import *import, tn_status status, const char *format, ...) TN_NOEXCEPT
        TN_PRINTF(3, 4);
    /* Where the reader is, for errors of whatever comes next: the byte of the file, UINT64_MAX
     * where that says nothing, and the node, null where it is at none (copied, up to 199 bytes). */
    void (*place)(tn_import *import, uint64_t offset, const char *node) TN_NOEXCEPT;
    /* Puts a location before those of the last failure: "layer 'conv1'". */
    tn_status (*at)(tn_import *import, tn_status status, const char *format, ...) TN_NOEXCEPT
        TN_PRINTF(3, 4);
    /* What the last failure was; each may be null. Lives until the next one. */
    tn_status (*last)(tn_import *import, const char **out_message,
                      const char **out_where) TN_NOEXCEPT;
    /* It was an answer, not a fault. */
    void (*forget)(tn_import *import) TN_NOEXCEPT;
    /* A warning, or a line for people who look closely. */
    void (*log)(tn_import *import, uint32_t level, const char *text) TN_NOEXCEPT;
    /* --- memory and files --- */
    /* Zeroed memory of the graph, 64-byte aligned; null: there is none. */
    void *(*room)(tn_import *import, uint64_t bytes)TN_NOEXCEPT;
    /* Makes memory of host->allocate the graph's, which frees it. */
    tn_status (*adopt)(tn_import *import, void *memory, uint64_t bytes) TN_NOEXCEPT;
    /* Opens a file by a path that is relative to the model's folder, or, with ANYWHERE, to the
     * working directory. The same file again is the same memory. TN_ERROR_NOT_FOUND; TN_ERROR_IO;
     * TN_ERROR_FORMAT: it lies outside of the folder; TN_ERROR_UNSUPPORTED: there is no folder. */
    tn_status (*open)(tn_import *import, const char *name, uint32_t flags,
                      tn_import_file *out_file) TN_NOEXCEPT;
    /* --- operators --- */
    /* The newest version that is not above `version` (0: of all); `domain` null: in whatever domain
     * (a given library's goes before Tenon's own). Lives until `read` returns.
     * TN_ERROR_UNSUPPORTED names the nearest. */
    tn_status (*find_operator)(tn_import *import, const char *domain, const char *name,
                               uint32_t version, const tn_operator **out_op) TN_NOEXCEPT;
    /* Whether a library that was given, not Tenon's own, has an operator of this name. */
    bool (*is_given)(tn_import *import, const char *name) TN_NOEXCEPT;
    /* Whether attributes fit the operator's fields. */
    tn_status (*check_fields)(tn_import *import, const tn_operator *op, uint64_t count,
                              const tn_attribute *const *attributes) TN_NOEXCEPT;
    tn_status (*ask)(tn_import *import, const tn_import_question *question) TN_NOEXCEPT;
    /* Missing operators, all of them in one error: extends the failure of find_operator by the
     * node's fields; notes it for `node` under a key; tells whether a key was noted (the node is
     * counted); and fails with all that was noted, which the host does after `read` as well. */
    tn_status (*describe_missing)(tn_import *import, const char *name, uint64_t count,
                                  const tn_attribute *const *attributes) TN_NOEXCEPT;
    tn_status (*add_missing)(tn_import *import, const char *key, const char *node) TN_NOEXCEPT;
    bool (*is_missing)(tn_import *import, const char *key) TN_NOEXCEPT;
    tn_status (*report_missing)(tn_import *import) TN_NOEXCEPT;
    /* --- the graph --- */
    tn_status (*set_name)(tn_import_graph *graph, const char *name) TN_NOEXCEPT;
    /* The version of a domain that nodes without one mean. */
    tn_status (*set_opset)(tn_import_graph *graph, const char *domain,
                           uint32_t version) TN_NOEXCEPT;
    /* An input, as tn_graph_add_input: extents -1 and their names for what is not known, rank
     * UINT32_MAX where not even that is. In a body `type` may be TN_NONE: as the node supplies it.
     */
    tn_status (*add_input)(tn_import_graph *graph, const char *name, tn_type type, uint32_t rank,
                           const int64_t *extents, const char *const *names,
                           tn_import_tensor *out_tensor) TN_NOEXCEPT;
    /* A constant: linear elements, exactly as many bytes as the shape takes (strings: and their
     * heap). What lies in memory of the graph (room, adopt, a file that is kept), aligned to its
     * element, stays there; all else is copied. */
    tn_status (*add_constant)(tn_import_graph *graph, const char *name, tn_type type, uint32_t rank,
                              const int64_t *extents, const void *data, uint64_t bytes,
                              tn_import_tensor *out_tensor) TN_NOEXCEPT;
    /* A tensor that a node computes which is added later. Null: a name is made. */
    tn_status (*add_tensor)(tn_import_graph *graph, const char *name,
                            tn_import_tensor *out_tensor) TN_NOEXCEPT;
    tn_status (*add_node)(tn_import_graph *graph, const tn_import_node *node) TN_NOEXCEPT;
    /* `name` null: the tensor's own. */
    tn_status (*add_output)(tn_import_graph *graph, tn_import_tensor tensor,
                            const char *name) TN_NOEXCEPT;
    /* What the file says of a tensor that a node computes: the build warns where it is otherwise.
     * `type` TN_NONE, `rank` UINT32_MAX, extents -1: not said. */
    tn_status (*declare)(tn_import_graph *graph, tn_import_tensor tensor, const char *name,
                         bool is_output, tn_type type, uint32_t rank,
                         const int64_t *extents) TN_NOEXCEPT;
    /* Whether there is a tensor of that name; `out_tensor` may be null. */
    bool (*find_tensor)(const tn_import_graph *graph, const char *name,
                        tn_import_tensor *out_tensor) TN_NOEXCEPT;
    /* False: there is none of that number. */
    bool (*get_tensor)(const tn_import_graph *graph, tn_import_tensor tensor,
                       tn_import_tensor_info *out_info) TN_NOEXCEPT;
    /* A name that no tensor has, which begins with `base`; has the lifetime of the graph. Null: no
     * memory. */
    const char *(*make_name)(tn_import_graph *graph, const char *base)TN_NOEXCEPT;
    uint64_t (*input_count)(const tn_import_graph *graph) TN_NOEXCEPT;
    uint64_t (*output_count)(const tn_import_graph *graph) TN_NOEXCEPT;
    uint64_t (*node_count)(const tn_import_graph *graph) TN_NOEXCEPT;
    /* A body: a graph for a field of a node of `outer`. Its last inputs, one for each of
     * `captured`, are tensors of `outer`. What is not ended when `read` returns is dropped. */
    tn_status (*begin_body)(tn_import_graph *outer, const char *name,
                            tn_import_graph **out_body) TN_NOEXCEPT;
    tn_status (*end_body)(tn_import_graph *body, uint32_t captured_count,
                          const tn_import_tensor *captured, const void **out_graph) TN_NOEXCEPT;
    /* Puts the nodes in order: TN_ERROR_FORMAT for cycles, tensors that no node computes, tensors
     * computed twice. The host does it after `read` where the reader did not. */
    tn_status (*check)(tn_import_graph *graph) TN_NOEXCEPT;
    /* As `at`, for locations that programs ask for: in the fields of the error, too. */
    tn_status (*at_place)(tn_import *import, tn_status status,
                          const tn_import_place *place) TN_NOEXCEPT;
    /* Ends the last failure's message with what would mend it, after `joint` ("; "), and keeps that
     * as a field. */
    tn_status (*mend)(tn_import *import, tn_status status, const char *joint,
                      const char *text) TN_NOEXCEPT;
    /* Copied; the format's name is known. */
    tn_status (*set_model)(tn_import_graph *graph, const tn_import_model *model) TN_NOEXCEPT;
    /* An input that is no dense tensor (tenon/plugin/sequence.h), as tn_graph_add_kind_input in
     * tenon/border.h: `kind` TN_KIND_SEQUENCE and so on, `key_type` of maps, `type` of the items or
     * a map's values. */
    tn_status (*add_kind_input)(tn_import_graph *graph, const char *name, uint32_t kind,
                                tn_type key_type, tn_type type,
                                tn_import_tensor *out_tensor) TN_NOEXCEPT;
    /* What the file calls the extents of a tensor that a node computes, for those who ask what an
     * output is; null or empty: no name. Copied. TN_ERROR_ARGUMENT: no such tensor, or it is an
     * input or a constant; TN_ERROR_SHAPE: more than TN_MAX_RANK. */
    tn_status (*name_extents)(tn_import_graph *graph, tn_import_tensor tensor, uint32_t rank,
                              const char *const *names) TN_NOEXCEPT;
} tn_import_services;

/* A reading. `data`, `path` and `params` live until `read` returns. */
struct tn_import {
    uint32_t size, reserved;
    const tn_host *host;
    const tn_import_services *services;
    void *user;         /* the importer's */
    const char *path;   /* null: read from memory */
    const char *folder; /* where `open` looks; null: nowhere */
    const void *data;   /* the file: mapped, not aligned beyond its page */
    uint64_t bytes;
    const void *params; /* the options; null: the table has no fields */
    tn_import_graph *graph;
};
/* What is public of a graph in the making. */
struct tn_import_graph {
    tn_import *import;
};

/* host->extension(host, TN_IMPORTERS). */
#define TN_IMPORTERS "tn.importers/1"
typedef struct tn_importers {
    uint32_t size, reserved;
    /* The table is copied, its texts and arrays are not. TN_ERROR_PLUGIN: a broken table, or a name
     * that another importer has; the reason is in the log. [called: the library's load] */
    tn_status (*add)(const tn_host *host, tn_library *library,
                     const tn_importer *importer) TN_NOEXCEPT;
} tn_importers;

/* A library of importers alone: an array of pointers to their tables. */
#define TN_IMPORTER_LIBRARY(library_name, library_version, importer_table)                         \
    static tn_status tn_add_importers(const tn_host *host, tn_library *library) TN_NOEXCEPT {      \
        const tn_importers *tn_adding = (const tn_importers *)host->extension(host, TN_IMPORTERS); \
        tn_status status = TN_OK;                                                                  \
        if (!tn_adding) {                                                                          \
            host->log(host, TN_LOG_ERROR, "this Tenon reads no model formats of libraries");       \
            return TN_ERROR_UNSUPPORTED;                                                           \
        }                                                                                          \
        for (uint32_t i = 0; i < TN_COUNT(importer_table) && status == TN_OK; i++)                 \
            status = tn_adding->add(host, library, (importer_table)[i]);                           \
        return status;                                                                             \
    }                                                                                              \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT;            \
    TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host) TN_NOEXCEPT {           \
        static tn_library table = {sizeof(tn_library),                                             \
                                   TN_ABI_MAJOR,                                                   \
                                   TN_ABI_MINOR,                                                   \
                                   0,                                                              \
                                   library_name,                                                   \
                                   library_version,                                                \
                                   0,                                                              \
                                   NULL,                                                           \
                                   0,                                                              \
                                   NULL,                                                           \
                                   tn_add_importers,                                               \
                                   NULL,                                                           \
                                   NULL,                                                           \
                                   0,                                                              \
                                   NULL,                                                           \
                                   0,                                                              \
                                   NULL};                                                          \
        (void)host;                                                                                \
        return &table;                                                                             \
    }

#ifdef __cplusplus
}
#endif

TN_FROZEN(tn_importer, endings, 32);
TN_FROZEN(tn_importer, read, 72);
TN_FROZEN(tn_import, params, 64);
TN_FROZEN(tn_import_services, add_node, 184);

#endif
