/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon/plugin/body.h: operators that have graphs in their fields, which they run (a branch, the
 * body of a loop).
 *
 * A field of type TN_FIELD_GRAPH points to a tn_body_graph. What a body reads of the graph around
 * it, constants aside, is captured: such tensors are the node's last inputs, body after body in the
 * order of the operator's fields. The last input port of the operator is therefore VARIADIC and
 * HETEROGENEOUS, of any type; its own inputs are the first `call->input_count - captures` ones, and
 * it passes none of the captured ones to a body itself: the host does.
 *
 * The host builds each body as a network of its own, for the shapes that `infer` of the operator
 * asked for, prepares it with the node and opens it with the context. Everything in this header
 * belongs to the host. An operator with a body has no `load`, and a library in a helper process
 * (TN_ENGINE_ISOLATED) cannot run one.
 *
 * See docs/bodies.md.
 */
#ifndef TENON_PLUGIN_BODY_H
#define TENON_PLUGIN_BODY_H

#include <tenon/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* host->extension(host, TN_BODIES): tn_body_service. */
#define TN_BODIES "tn.body/1"

/* The most inputs, captured ones aside, and outputs of a body. */
#define TN_BODY_MAX_PORTS 64

/* What a field of type graph points to; as long as the node. */
typedef struct tn_body_graph {
    uint32_t size;
    uint32_t input_count; /* captured ones aside */
    uint32_t output_count;
    uint32_t capture_count;
    uint32_t capture_offset; /* the first captured input is call->inputs[input_count - this] */
    uint32_t reserved;
    const char *name;
    uint64_t hash;         /* of its structure: nodes, fields, types and shapes of constants */
    uint64_t value_inputs; /* bit i: the value of input i, of the first 32, decides shapes in the
                              body; captured ones aside */
} tn_body_graph;

/* A loop, for run_while. The body's first two inputs are the number of the iteration (i64[]) and
 * the condition (bool[]), then come `carried_count` carried tensors. Its first output is the
 * condition for the next iteration, then the carried tensors; what comes behind them belongs to the
 * iteration alone. */
typedef struct tn_body_loop {
    uint32_t size;
    uint32_t carried_count;
    int64_t limit;                   /* of iterations; negative: none */
    bool condition;                  /* whether there is a first one */
    const tn_tensor *const *carried; /* before the first iteration */
    tn_tensor *results;              /* written: `carried_count` descriptors of what is carried
                                        out; their memory is as run's */
    /* Called after each iteration with the outputs behind the carried ones. Optional. */
    tn_status (*each)(void *user, int64_t iteration, const tn_tensor *outputs) TN_NOEXCEPT;
    void *user;
    int64_t iterations; /* written: how many there were */
} tn_body_loop;

/* tn_operator.facet, asked at input 0 with the values of constants: TN_OK where the node's outputs
 * are the first outputs of `body`, one of its own, which has no inputs but captured ones. The build
 * then puts the body's nodes in place of the node. */
#define TN_FACET_BRANCH "tn.branch/1"
typedef struct tn_facet_branch {
    uint32_t size;
    uint32_t reserved;
    const tn_body_graph *body;
} tn_facet_branch;

typedef struct tn_body_service {
    uint32_t size;
    uint32_t reserved;
    /* The types, ranks and shapes of a body's outputs for `inputs` (body->input_count of them, data
     * null where the value is not known), written into `outputs` (body->output_count of them, each
     * with room for TN_MAX_RANK extents as call->outputs have; null: not asked for). An operator's
     * shape rule calls it for each of its bodies with what the body will be given: it is built for
     * these types and shapes. Extents that differ from one call to another are open in it. An
     * output whose rank is TN_RANK_UNKNOWN (tenon/plugin/sequence.h) beforehand may be answered
     * with a rank that is open (TN_RANK_OPEN, tenon/plugin/output.h), or with TN_RANK_UNKNOWN again
     * where only its type is known; for others that is TN_ERROR_SHAPE. [thread: any; called: infer,
     * reference, reshape, run; may fail] */
    tn_status (*infer)(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                       tn_tensor *const *outputs) TN_NOEXCEPT;
    /* Runs a body. `inputs`: linear, with data, of any alignment. An output with data is computed
     * into it and must have the type and shape that come out (TN_ERROR_SHAPE); for one without,
     * everything in the descriptor is written, and data and shape are the host's, which stay until
     * the second run of this body after this one, or until the callback returns: so the results of
     * a run may be inputs of the next. An output of strings has no data beforehand
     * (TN_ERROR_ARGUMENT); its heap is the host's as its data is. With TN_CALL_REFERENCE the
     * operators of the body are computed by their references. Where shapes repeat nothing is
     * allocated. [thread: node; called: reference, run; may fail] */
    tn_status (*run)(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                     tn_tensor *const *outputs) TN_NOEXCEPT;
    /* Runs a body until its condition is false or `limit` is reached. The host swaps what is
     * carried, whose shapes may change. [thread: node; called: reference, run; may fail] */
    tn_status (*run_while)(tn_call *call, const tn_body_graph *body,
                           tn_body_loop *loop) TN_NOEXCEPT;
    /* The value of an output where it follows from constants, shapes and those of the inputs (as
     * for infer, captured ones included) that have data: its `bytes` are copied to `data`, and
     * *out_is_known is true. Else it is false, and `data` is as it was. [thread: any; called:
     * infer, reference, reshape, run; may fail] */
    tn_status (*value)(tn_call *call, const tn_body_graph *body, const tn_tensor *const *inputs,
                       uint32_t output, uint64_t bytes, void *data, bool *out_is_known) TN_NOEXCEPT;
} tn_body_service;

#ifdef __cplusplus
}
#endif
#endif
