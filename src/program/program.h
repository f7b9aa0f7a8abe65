/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program: what the builder makes of an optimised graph, what the plan stores as a lowered
 * variant, and what the engine runs: an ordered list of steps over values. A value is a graph
 * tensor in one storage, which is a type, a format and a memory space (a graph tensor may have
 * several values, made by reformat steps). A tensor of 32-bit floats may be stored in 16-bit
 * floats, or in 8-bit integers with a scale; all others in their own type. Shapes are not here:
 * they are inferred over the graph.
 */
#ifndef TN_PROGRAM_PROGRAM_H
#define TN_PROGRAM_PROGRAM_H

#include "graph/graph.h"
#include "program/link.h"

enum { TN_STEP_KERNEL = 1, TN_STEP_REFORMAT = 2, TN_STEP_VIEW = 3 };
/* The memory of the host, or of the device that the program is for. */
enum { TN_SPACE_HOST = 0, TN_SPACE_DEVICE = 1 };

/* What the build planned for a value at the profile's optimum. For people: nothing that runs reads
 * it. */
typedef struct tn_value_note {
    bool has_shape;
    tn_shape shape;
    bool is_planned; /* it has memory of its own in the arena of its space */
    size_t offset, bytes;
    uint32_t first_step, last_step;
} tn_value_note;

typedef struct tn_program_value {
    tn_tensor_id tensor;
    tn_format format;
    tn_type type;
    const tn_quantization *quantization; /* of 32-bit floats stored in 8-bit integers: one scale.
                                            Null for all others */
    uint32_t space;                      /* TN_SPACE_... */
    const tn_value_note *note;           /* or null */
} tn_program_value;

/* Whether a value is a sound storage of a tensor whose own type this is (TN_NONE: not known yet,
 * then every one is). */
bool tn_program_value_fits(const tn_program_value *value, tn_type own);
/* Whether two values are stored alike, formats aside: the same type with the same scale. */
bool tn_program_value_is_alike(const tn_program_value *a, const tn_program_value *b);
/* The type as a kernel's combination names it: TN_STORED_QI8 or QU8 for a quantised one. */
tn_type tn_program_value_port_type(const tn_program_value *value);

typedef struct tn_program_step {
    uint32_t kind;
    uint32_t node; /* KERNEL, VIEW: the (first) node; REFORMAT: TN_NO_NODE */
    /* KERNEL: the nodes absorbed, in order. The first `before_count` lead from what the step reads
     * at input `before_input` to that input of the node; of the others the last one's output 0 is
     * the step's output 0. */
    uint32_t absorbed_count, before_count, before_input;
    const uint32_t *absorbed;
    const char *kernel;  /* name; null: the operator's reference */
    const char *library; /* name of the library that has the kernel; null for the reference */
    const char *library_domain; /* the domain that it was loaded under; null or "": its own */
    uint64_t library_hash;      /* of its content; with name and domain it tells it from others */
    uint32_t tactic;
    bool is_in_place; /* output 0 may lie on input 0 */
    uint64_t aliased; /* bit o: output o, of a port with TN_PORT_ALIAS, may lie on its input */
    bool
        is_host; /* its outputs are computed during reshape (a host node): nothing is done in run */
    uint32_t input_count, output_count, operand_count;
    uint32_t *inputs, *outputs, *operands; /* values; TN_NO_VALUE for absent ones. Operands are
                                              those of the absorbed nodes, in their order */
    bool is_device;    /* KERNEL: on the program's device, not on the processor */
    bool has_state;    /* KERNEL: what the kernel saved of its preparation for this node */
    const void *state; /* these bytes */
    size_t state_bytes;
    tn_constant_note *state_note; /* of these bytes, in a plan; or null */
    double nanoseconds;           /* measured at build; 0: not */
    const char *note; /* null, or why it reads and writes nothing in the lower type that the
                         build's precision allows; for people */
} tn_program_step;

typedef struct tn_program {
    uint32_t profile; /* of the plan's, that it is for */
    uint32_t value_count, step_count;
    tn_program_value *values;
    tn_program_step *steps;
    uint32_t packed_count;
    const tn_packed_blob *packed; /* what its kernels packed of constants, in a plan; or none */
    uint32_t threads;
    const char *device;      /* its kind: "cpu", "cuda" */
    const char *fingerprint; /* of the device it was lowered for */
    /* the value that a graph input or output has (linear, the tensor's own type) */
    uint32_t *input_values, *output_values;
} tn_program;

/* Checks every number of a program against a graph (a plan is untrusted data). TN_ERROR_FORMAT.
 */
tn_status tn_program_check(const tn_program *program, const tn_graph *graph);

/* The chain of a step as its kernel sees it, in `arena`, by asking each absorbed node's operator
 * with the shapes in `tensors` (linear descriptors by graph tensor id). TN_ERROR_FORMAT: a node is
 * not what the kernel absorbs. */
tn_status tn_program_chain(const tn_program *program, const tn_program_step *step,
                           const tn_graph *graph, const tn_kernel_entry *entry,
                           const tn_tensor *const *tensors, tn_arena *arena, tn_chain *out_chain);

/* How often a step reads a value. */
uint32_t tn_program_count_reads(const tn_program_step *step, uint32_t value);
/* Whether a value is among those of a step's ports. */
static inline bool tn_program_has_value(const uint32_t *values, uint32_t count, uint32_t value) {
    for (uint32_t i = 0; i < count; i++)
        if (values[i] == value) return true;
    return false;
}

#endif
