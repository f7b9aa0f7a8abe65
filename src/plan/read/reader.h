/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the reader share. Nothing of a plan is believed: each number is checked before
 * it is used, and what the graph's own calls check is left to them.
 *
 *   reader.c           the whole: from bytes to contents
 *   read_manifest.c    libraries and operators, found and loaded
 *   read_tensors.c     tensors, inputs, outputs
 *   read_nodes.c       nodes; fields of older versions, state
 *   read_attributes.c  fields
 *   read_profiles.c    profiles
 *   read_model.c       where the model comes from
 *   read_programs.c    programs
 */
#ifndef TN_PLAN_READ_READER_H
#define TN_PLAN_READ_READER_H

#include "plan/layout.h"
#include "plan/plan.h"
#include "plan/plan.pb-c.h"

typedef struct tn_plan_reader {
    tn_runtime *runtime;
    const tn_allocator *allocator;
    const tn_plan_read_options *options;
    Tenon__Plan__Plan *plan;
    const unsigned char *file; /* its first byte; of pieces that of their head */
    tn_plan_layout layout;
    const tn_plan_section *weights, *packed; /* of the layout; packed: null, none */
    tn_arena *scratch;                       /* until the plan is read */
    bool *is_made;                       /* by tensor: input, constant, or made by a node so far */
    const tn_operator_entry **operators; /* by the manifest's; each counted */
    tn_loaded_library **libraries;       /* by the manifest's; counted; null: not asked for */
    const uint64_t *library_hashes;      /* by the manifest's libraries */
    bool *is_missing;                    /* by the manifest's libraries */
    tn_plan_contents contents;           /* so far */
} tn_plan_reader;

/* "the plan is damaged: " and what: TN_ERROR_FORMAT. */
tn_status tn_plan_reader_fail(const char *format, ...) TN_PRINTF(1, 2);
/* A shape of known extents. */
/* Of a tensor of `type`; in `arena`. */
tn_status tn_plan_read_quantization(tn_arena *arena, const Tenon__Plan__Quantization *message,
                                    tn_type type, const tn_quantization **out_quantization);
tn_status tn_plan_reader_shape(size_t rank, const int64_t *extents, tn_shape *out_shape);
/* Elements in linear order: as many bytes as type and shape say, bools that are 0 or 1. */
tn_status tn_plan_reader_check_elements(tn_type type, const tn_shape *shape, const void *data,
                                        size_t bytes);
/* Bytes of the weights section. */
tn_status tn_plan_reader_bytes(const tn_plan_reader *reader, const char *what, uint64_t offset,
                               uint64_t bytes, const void **out_data);
/* The same of the section of packed weights. */
tn_status tn_plan_reader_packed(const tn_plan_reader *reader, uint64_t offset, uint64_t bytes,
                                const void **out_data);
/* What is known of such bytes, in the graph's arena: null in a plan without checksums of its parts,
 * where the whole section was verified, and of no bytes. */
tn_status tn_plan_reader_note(const tn_plan_reader *reader, const tn_constant_note *of,
                              tn_constant_note **out_note);
/* The data of a constant in the weights section; null when it has no elements. What is small is
 * verified at once, and so are bools, which are looked at. */
tn_status tn_plan_reader_weight(const tn_plan_reader *reader, tn_type type, const tn_shape *shape,
                                const tn_constant_note *part, uint64_t offset,
                                const void **out_data, tn_constant_note **out_note);

/* Finds the file's sections and unpacks the description (reader.c). */
tn_status tn_plan_reader_open(tn_plan_reader *reader, const tn_file *file);
/* All but `contents`. */
void tn_plan_reader_deinit(tn_plan_reader *reader);
tn_status tn_plan_read_manifest(tn_plan_reader *reader);
/* The parts of it (read_manifest.c): room for what is found, one operator with its library, and the
 * library of kernels. */
tn_status tn_plan_reader_manifest_init(tn_plan_reader *reader);
tn_status tn_plan_read_operator(tn_plan_reader *reader, size_t index);
tn_status tn_plan_read_kernel_library(tn_plan_reader *reader, uint32_t index);
/* The library that a step's kernel comes from, as it is here; null: the reference, or not found. */
const tn_loaded_library *tn_plan_reader_step_library(const tn_plan_reader *reader,
                                                     const Tenon__Plan__Step *step);
/* Finds the libraries whose kernels a program needs; false when one is not to be had, and that is
 * no error. */
tn_status tn_plan_read_kernel_libraries(tn_plan_reader *reader, const Tenon__Plan__Program *message,
                                        bool *out_is_there);
tn_status tn_plan_read_tensors(tn_plan_reader *reader);
tn_status tn_plan_read_outputs(tn_plan_reader *reader); /* after the nodes */
tn_status tn_plan_read_nodes(tn_plan_reader *reader);
/* After the nodes: constants that are said to be refitted can be. */
tn_status tn_plan_check_refit(tn_plan_reader *reader);
/* In scratch; the data of tensors is the plan's. */
tn_status tn_plan_read_attributes(tn_plan_reader *reader, const Tenon__Plan__Node *message,
                                  const tn_attribute *const **out_attributes);
tn_status tn_plan_read_model(tn_plan_reader *reader);
tn_status tn_plan_read_profiles(tn_plan_reader *reader);
tn_status tn_plan_read_programs(tn_plan_reader *reader);

#endif
