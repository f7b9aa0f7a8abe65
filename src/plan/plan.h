/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan file: writer and reader. One file: header, protobuf section (plan.proto), weights
 * (page-aligned), an XXH3 checksum a section. The layout is in docs/plans.md.
 */
#ifndef TN_PLAN_PLAN_H
#define TN_PLAN_PLAN_H

#include "plan/pieces.h"
#include "plugin/devices.h"
#include "program/profile.h"
#include "program/program.h"
#include <tenon/builder.h>

#include <pthread.h>
#include <stdatomic.h>

/* What is known of an output before a run. */
typedef struct tn_plan_output {
    tn_type type; /* TN_NONE: unknown */
    bool has_shape;
    tn_shape shape;   /* -1: an extent that varies */
    uint32_t kind;    /* TN_KIND_... */
    tn_type key_type; /* of maps */
} tn_plan_output;

/* What a plan's pieces lie in, released in this order. */
typedef struct tn_plan_sources {
    tn_arena *arena; /* of programs and what they pack */
    tn_graph *graph; /* that was built */
} tn_plan_sources;

struct tn_plan {
    tn_runtime *runtime; /* counted */
    const tn_allocator *allocator;
    char *report; /* JSON, or null */
    size_t bytes;
    atomic_uint owners;      /* who built it, and engines of it */
    bool has_refit;          /* constants of it can be refitted, which takes the file's bytes */
    bool is_read;            /* engines read the pieces, which then stay as long as the plan */
    pthread_mutex_t joining; /* what follows, in which the first who asks makes one of the other */
    void *buffer;          /* for `data`, so that to ask fails for no memory; not touched before */
    void *data;            /* the file's bytes; null: nobody has asked for them */
    tn_plan_pieces pieces; /* the same where they lie; empty once there is `data` */
    tn_plan_sources sources; /* which hold what the pieces lie in */
};

/* Serialises an optimised, sorted graph, its profiles (one an input) and the programs lowered from
 * it. */
tn_status tn_plan_write(const tn_graph *graph, const tn_plan_profile *profiles,
                        uint32_t program_count, const tn_program *const *programs,
                        tn_plan **out_plan);

/* The same, with what is known of each of the graph's outputs, for tn_plan_inspect to show; null:
 * nothing. */
tn_status tn_plan_write_described(const tn_graph *graph, const tn_plan_profile *profiles,
                                  const tn_plan_output *outputs, uint32_t program_count,
                                  const tn_program *const *programs, tn_plan **out_plan);

/* The same with several profiles, whose programs say which one they are for. */
typedef struct tn_plan_parts {
    const tn_graph *graph;
    uint32_t profile_count;
    const tn_plan_profile *profiles; /* one an input, those of profile 0 first */
    const tn_plan_output *outputs;   /* or null */
    uint32_t program_count;
    const tn_program *const *programs;
    bool is_lent; /* graph's and programs' data is kept: tn_plan_keep is called with what it lies
                     in, or the plan destroyed before that goes */
} tn_plan_parts;
/* Gives a plan of lent parts what they lie in. */
void tn_plan_keep(tn_plan *plan, const tn_plan_sources *sources);
/* For an engine: counts it as an owner, who calls tn_plan_destroy, and gives it the pieces to read;
 * null: it reads tn_plan_bytes, since somebody asked for them before or `needs_bytes`.
 * TN_ERROR_MEMORY: it is not counted. [thread: any] */
tn_status tn_plan_share(const tn_plan *plan, bool needs_bytes, const tn_plan_pieces **out_pieces);
tn_status tn_plan_write_parts(const tn_plan_parts *parts, tn_plan **out_plan);

/* A plan read back. `graph` has constants that point into `file` (which the graph owns). Operators
 * come from the registry; what the manifest names is found and loaded first. Programs are as stored
 * and checked; those of this device whose kernels' libraries are not to be had are left out (with a
 * warning in the log), so that the graph is lowered again. */
typedef struct tn_plan_contents {
    tn_graph *graph;
    tn_arena *arena;
    uint32_t profile_count;
    tn_plan_profile *profiles; /* one an input, those of profile 0 first */
    tn_plan_output *outputs;   /* one an output, as the plan says it */
    uint32_t program_count;
    const tn_program **programs;
    uint32_t left_out_count; /* programs of this device whose kernels' libraries are not here */
    tn_loaded_library **libraries; /* counted: what the manifest named */
    uint32_t library_count;
    tn_used_device device; /* that it is to run on */
    bool is_elsewhere;     /* the processor, since its own device is not here: the log said so */
} tn_plan_contents;
typedef struct tn_plan_read_options {
    bool is_exact;
    const char *device; /* null: as it was built for, if that is here; else the processor */
    uint32_t allowed_count;
    const char *const *allowed;
    const tn_plan_pieces *pieces; /* aligned; read in place of the file, which is empty, and outlive
                                     what is read. Null: the file */
    bool verifies_all;            /* every section's checksum at once */
    uint32_t body_depth; /* 0: the whole; else the graph of a body that many levels down, alone */
} tn_plan_read_options;
/* Takes over `file` in every case. */
tn_status tn_plan_read(tn_runtime *runtime, tn_file *file, const char *name,
                       const tn_plan_read_options *options, tn_plan_contents *out_contents);
void tn_plan_contents_deinit(tn_plan_contents *contents); /* a zeroed one is fine */

#endif
