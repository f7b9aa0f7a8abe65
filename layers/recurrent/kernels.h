/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the kernels share: kernels.c has their tables, pack.c packs weights, run.c has
 * the steps, cells.c what a step does to its gates; doubles.c has nodes of 64-bit floats.
 *
 * Gates are kept in an order in which all of those of a chunk of the hidden state stand together,
 * so that a chunk's product and its activations are one unit of work. With G gates in the first
 * phase and chunks of C elements, the last one perhaps shorter:
 *
 *     | chunk 0: gate 0 [C] | gate 1 [C] | .. gate G-1 [C] | chunk 1: gate 0 [C] | ..
 *
 * A GRU's candidate has a product of its own: its gates stand behind all others, in one row of the
 * hidden state's order. Without linear_before_reset that product is a second phase of the step,
 * since it needs all of r first.
 */
#ifndef TN_LAYERS_RECURRENT_KERNELS_H
#define TN_LAYERS_RECURRENT_KERNELS_H

#include "kit/elementwise/cells.h"
#include "recurrent/recurrent.h"
#include "recurrent/step.h"
#include <tenon/kit/matrix.h>

enum {
    TN_RECURRENT_CHUNK = 64, /* elements of the hidden state; whole vectors and blocks of columns */
    TN_RECURRENT_ROWS = TN_RECURRENT_MOST_ROWS /* streams that are done together, at most */
};

/* What a kernel's `user` points at. */
typedef struct tn_recurrent_level {
    const tn_matrix_level *matrix;
    const tn_rows_level *rows;
    const tn_recurrent_step_level *step;
    const tn_cells_level *cells;
} tn_recurrent_level;

typedef struct tn_recurrent_direction tn_recurrent_direction;

/* Packed weights of a direction; candidate_weights: a GRU's. */
typedef struct tn_recurrent_packed {
    const float *input_weights, *hidden_weights, *candidate_weights;
} tn_recurrent_packed;

typedef struct tn_recurrent_state {
    const tn_recurrent_level *level;
    tn_recurrent_packed directions[2];
    const float *static_weights, *output_weights;
    bool packs_at_run; /* the weights vary: each run packs them in its workspace */
    /* Where these are set they take the products' part: of the input for all steps, and of the
     * hidden state for a step (`step` counts in the order of x) of all streams. */
    tn_status (*multiply_inputs)(tn_call *call, const tn_recurrent_direction *direction);
    tn_status (*multiply_step)(tn_call *call, const tn_recurrent_direction *direction,
                               int64_t iteration, int64_t step, uint32_t thread);
} tn_recurrent_state;

/* Where each part of the workspace begins, and its size in floats; `direction_floats`: of the parts
 * from `gates` to `hidden_bias` together, which each direction has. `block`: steps whose gates are
 * kept at once. */
typedef struct tn_recurrent_layout {
    int64_t block;
    int64_t gates, h, c, reset, bias, hidden_bias, direction_floats;
    int64_t zeros, hidden_states, packed, widened, floats;
} tn_recurrent_layout;

/* A direction of a run; pointers into the workspace. */
struct tn_recurrent_direction {
    const tn_recurrent *node;
    const tn_recurrent_level *level;
    const tn_recurrent_packed *packed;
    int64_t index;
    bool is_reverse;
    bool is_usual;             /* the cells of step.h are the node's */
    int64_t first_step, block; /* the gates are those of `block` steps from first_step on */
    float *gates;              /* rows as those of x, each of `columns` gates */
    float *h[2];               /* streams x hidden: of the step before, and of the step; by turns */
    float *c;                  /* streams x hidden */
    float *reset;              /* streams x hidden: r * h_{t-1} */
    float *bias;        /* columns: what is added to the input's product, in the gates' order */
    float *hidden_bias; /* hidden: of a GRU's candidate with linear_before_reset */
    const float *zeros; /* a bias of none */
    float *y;           /* in the order of the node's y; null: nobody asks */
};

/* The row of a stream's gates, `step` steps behind the block's first one: as x has its rows. */
static inline int64_t tn_recurrent_gates_row(const tn_recurrent_direction *direction, int64_t step,
                                             int64_t stream) {
    return direction->node->streams_first ? stream * direction->block + step
                                          : step * direction->node->streams + stream;
}

/* A part of a step: streams `first_stream` to `end_stream` - 1, at most TN_RECURRENT_ROWS, and a
 * chunk of the hidden state. */
typedef struct tn_recurrent_part {
    const tn_recurrent_direction *direction;
    int64_t iteration, step; /* iteration counts in the direction's order */
    int64_t first_stream, end_stream;
    int64_t first, count; /* elements of the hidden state */
} tn_recurrent_part;

/* Gates whose product by the hidden state is of the first phase. */
static inline int64_t tn_recurrent_first_gates(const tn_recurrent *node) {
    return node->kind->cell == TN_CELL_GRU ? 2 : (int64_t)node->kind->gates;
}
static inline uint32_t tn_recurrent_phases(const tn_recurrent *node) {
    return node->kind->cell == TN_CELL_GRU && !node->linear_before_reset ? 2 : 1;
}
static inline int64_t tn_recurrent_chunks(const tn_recurrent *node) {
    return (node->hidden + TN_RECURRENT_CHUNK - 1) / TN_RECURRENT_CHUNK;
}
/* Column `column` of the gates' order: the row of the weights that it is of. */
int64_t tn_recurrent_weights_row(const tn_recurrent *node, int64_t column);

/* pack.c: the kernels' prepare. */
tn_status tn_recurrent_prepare(tn_call *call) TN_NOEXCEPT;
/* For weights that vary: the floats that packing takes, and the weights of each direction, packed
 * there. */
int64_t tn_recurrent_packed_floats(const tn_recurrent_level *level, const tn_recurrent *node);
tn_status tn_recurrent_pack_at_run(tn_call *call, const tn_recurrent *node, float *memory,
                                   tn_recurrent_packed *out_directions);
/* widened.c: of nodes of 16-bit floats. */
enum { TN_RECURRENT_OUTPUTS = 3 };
typedef struct tn_recurrent_widened {
    tn_tensor tensors[8];
    tn_tensor *outputs[TN_RECURRENT_OUTPUTS]; /* the node's own; null: absent */
} tn_recurrent_widened;
/* Floats of the copies; 0 of a node of 32-bit floats. False: too many. */
bool tn_recurrent_widened_floats(const tn_recurrent *node, int64_t *out_floats);
/* From here on the node's tensors but its weights are 32-bit copies in `memory`. */
void tn_recurrent_widen(const tn_recurrent_level *level, float *memory, tn_recurrent *node,
                        tn_recurrent_widened *out_widened);
/* Rounds what a widened node computed to its own outputs. */
void tn_recurrent_narrow(const tn_recurrent_level *level, const tn_recurrent *node,
                         const tn_recurrent_widened *widened);
/* run.c: TN_ERROR_MEMORY where it cannot be addressed. */
tn_status tn_recurrent_measure(tn_call *call, const tn_recurrent *node,
                               tn_recurrent_layout *out_layout);
tn_status tn_recurrent_run(tn_call *call) TN_NOEXCEPT;
/* doubles.c: of nodes of 64-bit floats, whose kernels have no state. */
tn_status tn_recurrent_doubles_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_recurrent_doubles_run(tn_call *call) TN_NOEXCEPT;
/* cells.c: the products of a part and what its cell makes of them. */
void tn_recurrent_do_part(const tn_recurrent_part *part, uint32_t phase);
/* What the first step takes of a stream's state: h_0 times cont. */
float tn_recurrent_cont(const tn_recurrent *node, int64_t step, int64_t stream);

#endif
