/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the writer share. Only what a plan needs goes in: tensors that nobody reads and
 * nobody makes are left out, so tensors and nodes get numbers of their own.
 *
 *   writer.c           the whole: numbers, sections, bytes
 *   write_tensors.c    tensors, outputs, profiles
 *   write_nodes.c      nodes with their fields and states
 *   write_manifest.c   operators and libraries
 *   write_programs.c   programs
 *   write_model.c      where the model comes from
 */
#ifndef TN_PLAN_WRITE_WRITER_H
#define TN_PLAN_WRITE_WRITER_H

#include "plan/layout.h"
#include "plan/plan.h"
#include "plan/plan.pb-c.h"

typedef struct tn_plan_weight {
    const void *data;
    size_t bytes;
    uint64_t *out_offset; /* in the message */
} tn_plan_weight;

/* Data in the order in which it came, for one section. */
typedef struct tn_plan_weights {
    tn_plan_weight *items;
    size_t count, capacity;
    size_t bytes;     /* of the section, once placed */
    bool has_doubles; /* equal ones share an offset */
} tn_plan_weights;

/* Everything of the message lies in the arena, or is lent by graph and programs. */
typedef struct tn_plan_writer {
    const tn_graph *graph;
    uint32_t profile_count;
    const tn_plan_profile *profiles; /* one an input, those of profile 0 first */
    const tn_plan_output *outputs;   /* or null */
    uint32_t program_count;
    const tn_program *const *programs;
    const tn_allocator *allocator;
    tn_arena *arena;
    uint32_t *tensor_numbers; /* by graph tensor; TN_NO_TENSOR: left out */
    uint32_t *node_numbers;   /* by graph node; TN_NO_NODE: left out */
    uint32_t tensor_count, node_count;
    const tn_operator_entry **operators; /* as in the message */
    tn_plan_weights weights, packed;
    Tenon__Plan__Plan plan;
} tn_plan_writer;

/* protobuf-c's members are not const, though packing only reads. */
/* The index of a library in the manifest so far, or the number of libraries. */
uint32_t tn_plan_find_library(const Tenon__Plan__Plan *plan, const tn_library_key *key);
char *tn_plan_writer_text(const char *text); /* null: "" */
/* An array of pointers to `count` messages of `bytes` each, to be initialised one by one. */
tn_status tn_plan_writer_messages(tn_plan_writer *writer, size_t count, size_t bytes,
                                  void ***out_messages);
/* `count` numbers plus one each, UINT32_MAX (absent) becomes 0; through `map` before, if any. */
tn_status tn_plan_writer_numbers(tn_plan_writer *writer, size_t count, const uint32_t *indices,
                                 const uint32_t *map, uint32_t **out_numbers);
/* Gives data an offset in the weights section. Its offset and checksum (null: not asked for) are
 * members of the message. */
tn_status tn_plan_writer_weight(tn_plan_writer *writer, const void *data, size_t bytes,
                                uint64_t *out_offset, uint64_t *out_checksum);
/* The same in the section of packed weights. */
tn_status tn_plan_writer_packed(tn_plan_writer *writer, const void *data, size_t bytes,
                                uint64_t *out_offset, uint64_t *out_checksum);

/* Lends the scales. */
/* `type`: of the quantised tensor. */
tn_status tn_plan_write_quantization(tn_plan_writer *writer, const tn_quantization *from,
                                     tn_type type, Tenon__Plan__Quantization **out_message);
tn_status tn_plan_write_tensors(tn_plan_writer *writer);
tn_status tn_plan_write_outputs(tn_plan_writer *writer);
tn_status tn_plan_write_profiles(tn_plan_writer *writer);
tn_status tn_plan_write_model(tn_plan_writer *writer);
/* Before the nodes, which name operators by index. */
tn_status tn_plan_write_manifest(tn_plan_writer *writer);
tn_status tn_plan_write_nodes(tn_plan_writer *writer);
tn_status tn_plan_write_programs(tn_plan_writer *writer);

#endif
