/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tn_engine, for the files of src/run. Public side: tenon/engine.h. */
#ifndef TN_RUN_ENGINE_PRIVATE_H
#define TN_RUN_ENGINE_PRIVATE_H

#include "build/profile.h"
#include "plan/plan.h"
#include "plugin/kernel_instance.h"
#include <tenon/engine.h>

#include <stdatomic.h>

/* A step of the program, prepared. */
typedef struct tn_engine_step {
    const tn_program_step *step;
    const tn_kernel_entry *entry; /* null: the reference; holds a count on its library */
    tn_prepared_kernel prepared;  /* KERNEL steps that run */
} tn_engine_step;

struct tn_engine {
    atomic_uint references;
    tn_runtime *runtime;
    const tn_allocator *allocator;
    tn_arena *arena;
    tn_plan_contents contents;
    const tn_graph *graph; /* contents' */
    tn_inference_plan plan;
    const tn_program *program; /* a stored one, or one lowered here */
    tn_engine_step *steps;     /* program->step_count */
    tn_thread_pool pool;
    tn_packed_store *packed;
    tn_port_info *inputs, *outputs;
    bool has_value_inputs;
    char *report;
};

/* Prepares the kernels of all steps (engine_prepare.c). What was prepared is released by
 * tn_engine_unprepare. */
tn_status tn_engine_prepare(tn_engine *engine);
void tn_engine_unprepare(tn_engine *engine);
/* The JSON of tn_engine_report (engine_report.c). */
tn_status tn_engine_make_report(tn_engine *engine);

#endif
