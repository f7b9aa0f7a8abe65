/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is made for one set of input shapes (shape_state.c): where each value lies, and the array of
 * calls that a run executes. Of these, a context keeps the last ones; reshape.c finds them again.
 */
#ifndef TN_RUN_STATE_SHAPE_STATE_H
#define TN_RUN_STATE_SHAPE_STATE_H

#include "graph/infer.h"
#include "report/report_memory.h"
#include "tensor/window.h"

#include <tenon/plugin/counted.h>

/* Where a value's data lies. */
enum {
    TN_LOCATION_NONE,
    TN_LOCATION_ARENA,
    TN_LOCATION_INPUT,
    TN_LOCATION_OUTPUT,
    TN_LOCATION_FIXED,
    TN_LOCATION_DEVICE /* the arena in the device's memory */
};
typedef struct tn_value_location {
    uint32_t kind;
    uint32_t root;  /* the value whose memory this one has, and whose location it copies in the
                       end; itself unless it is a view, a window, or in place */
    size_t shift;   /* bytes from the beginning of the root's memory */
    uint32_t index; /* INPUT, OUTPUT: which */
    size_t offset;  /* ARENA, DEVICE */
    void *pointer;  /* FIXED: constants, and values computed at reshape */
} tn_value_location;

typedef struct tn_execution_item {
    tn_callback run;
    tn_call *call;
} tn_execution_item;

/* Items in a row that a device does as one captured graph. */
typedef struct tn_execution_graph {
    uint32_t first, end; /* items of the run */
    void *graph;         /* null: not captured yet */
    void *timed;         /* the same with events between the items; null: not captured yet */
} tn_execution_graph;

/* A transfer between the network's border and the device: what it moves may be where the caller
 * has it, and then there is nothing to be done. */
typedef struct tn_execution_border {
    uint32_t item;  /* of the run */
    uint32_t value; /* in the device's memory */
    uint32_t port;  /* which input, or which output */
    bool is_output, may_share;
    uint32_t pair;        /* of an output that updates an input: 1 + that input's border; else 0 */
    void *device_data;    /* where the value lies else, while a kernel writes to `captured` */
    tn_callback run;      /* the transfer */
    const void *captured; /* the context's own memory, from or to which so little is moved that a
                             graph does it; null: the transfer is enqueued by itself */
} tn_execution_border;

/* A graph output that is not written to its target: copied after the last item. */
typedef struct tn_output_copy {
    uint32_t value, output;
} tn_output_copy;

/* Everything that belongs to one set of input shapes (and values, where they decide shapes). */
typedef struct tn_shape_state {
    tn_arena *arena;  /* of all below */
    tn_shape *shapes; /* by graph input */
    void **values;    /* by graph input: a copy of the value, 64-byte aligned, or null */
    size_t *value_bytes;
    tn_counted *counts;           /* by graph input: where the count is; its value null: none */
    tn_tensor_storage *tensors;   /* by program value */
    tn_value_location *locations; /* by program value */
    tn_tensor_storage *outputs;   /* by graph output, as the caller sees them */
    uint32_t *last_read; /* by value: 1 + the last step that reads it; outputs: UINT32_MAX */
    tn_window *rows;     /* by value: of more than one row, it is rows that lie apart */
    bool *is_dropped;    /* by step: its tensors are windows, and nothing is left to do */
    uint32_t *updated;   /* by graph output: 1 + the input whose update it is, alone; 0 */
    tn_execution_item *items;
    uint32_t *item_steps;       /* the step of each item */
    bool *is_told;              /* by item, while kernels are told of the shapes: it was */
    tn_execution_graph *graphs; /* in the order of execution; null on the processor */
    uint32_t graph_count;
    tn_execution_border *borders;
    uint32_t border_count;
    uint32_t device_runs;      /* since its pointers were set last: the second one captures */
    size_t *workspaces;        /* offset in the arena memory of each item's workspace */
    uint64_t *workspace_bytes; /* of each item, as planned */
    uint32_t *patches;         /* values that lie in the callers' memory */
    uint32_t patch_count;
    uint32_t item_count;
    tn_output_copy *copies;
    uint32_t copy_count;
    size_t memory_bytes;       /* of the arena memory that it needs */
    size_t device_bytes;       /* the same in the device's memory */
    tn_report_arena arenas[2]; /* by memory space, for reports: what lies where, by items */
    bool is_placed;            /* the memory is planned */
    bool is_unfused;           /* another context runs these shapes: nothing but the key is here */
    bool is_applied;           /* its pointers are set, for the arena where it is now */
    uint64_t last_used;
} tn_shape_state;

/* How many of them a context keeps. */
#define TN_SHAPE_STATES 8

/* What a device's kernel moves over the bus in the time of a launch or two: larger ones are better
 * off with its copy engines, which are slow within a graph. */
#define TN_EXECUTION_SMALL_BYTES 65536u

/* reshape.c's. */
typedef struct tn_context_shapes {
    tn_inference inference;
    tn_shape *now;       /* by graph input: scratch of reshape */
    const void **values; /* by graph input: scratch of reshape */
    tn_shape_state *states[TN_SHAPE_STATES];
    tn_shape_state *current;
    bool are_set; /* false: to be looked at before the next run */
} tn_context_shapes;

#endif
