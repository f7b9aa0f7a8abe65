/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a run over the order of execution, for reports: which buffer lies where in the
 * arena of the host, or of the device, between which steps. A build has it as planned here, without
 * the kernels' workspaces, which are known when an engine is loaded; a context has its own plan.
 */
#ifndef TN_REPORT_REPORT_MEMORY_H
#define TN_REPORT_REPORT_MEMORY_H

#include "memory/memory_plan.h"
#include "report/report_steps.h"

typedef struct tn_report_arena {
    size_t bytes, count;
    tn_memory_buffer *buffers; /* `first` and `last` are steps */
    uint32_t *values;          /* by buffer; TN_NO_VALUE: a workspace */
} tn_report_arena;

typedef struct tn_report_memory {
    const tn_report_steps *steps;
    tn_report_arena arenas[2]; /* by memory space */
    bool has_workspaces;
} tn_report_memory;

/* Plans it at the source's shapes. The source must outlive it. */
tn_status tn_report_memory_plan(const tn_report_steps *source, tn_report_memory *out_memory);
/* Writes the plan, and the shapes that it is for, into the notes of `program`'s values, in `arena`:
 * for the plan file. TN_ERROR_MEMORY. */
tn_status tn_report_memory_note(const tn_report_memory *memory, tn_program *program,
                                tn_arena *arena);
void tn_report_memory_deinit(tn_report_memory *memory, const tn_allocator *allocator);
/* Of both arenas. */
size_t tn_report_memory_bytes(const tn_report_memory *memory);
/* The member "memory". */
void tn_report_add_memory(tn_text *text, const tn_report_memory *memory);

#endif
