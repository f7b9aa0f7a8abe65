/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder: turns a graph into a plan for the shapes it is told: folds, fuses, and chooses
 * kernels and formats for the whole graph by measured time.
 */
#ifndef TENON_BUILDER_H
#define TENON_BUILDER_H

#include <tenon/calibration.h>
#include <tenon/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_plan tn_plan;

/* The range of one input: three shapes of `rank` extents. For an input whose value decides shapes,
 * also its values at the three points (as many elements as the shape says, in the input's type), or
 * null. */
typedef struct tn_profile_input {
    uint32_t size;
    uint32_t rank;
    const char *name;
    const int64_t *minimum, *optimum, *maximum;
    const void *minimum_value, *optimum_value, *maximum_value;
} tn_profile_input;

struct tn_border;
/* A range of shapes that a plan has kernels of its own for (tenon/profiles.h): those of the inputs
 * that it names, as in tn_builder_options.profile_inputs. */
typedef struct tn_profile {
    uint32_t size;
    uint32_t input_count;
    const tn_profile_input *const *inputs;
} tn_profile;
#define TN_PROFILE_LIMIT 64u /* profiles of a plan */

typedef struct tn_builder_options {
    uint32_t size;
    uint32_t threads;   /* kernels are timed with so many, at most 1024; 0: one for each core that
                           this process may use */
    const char *device; /* null: "cpu" */
    const char *timing_cache; /* a file that keeps timings between builds, safe between processes
                                 (by a lock beside it, FILE.lock); one that is damaged or cannot be
                                 written is a warning in the log, something else than a cache is
                                 TN_ERROR_FORMAT, and stays. Null: none */
    const char *force_kernel; /* "Op=kernel[,Op=kernel...]": pins kernels by name (Op may be
                                 DOMAIN::Op, kernel may be LIBRARY/kernel, or "reference"); a node
                                 that its kernel does not accept is a warning. Null: what
                                 TENON_FORCE_KERNEL says */
    uint32_t flags;           /* TN_BUILD_... */
    uint32_t profile_input_count;
    const tn_profile_input *const
        *profile_inputs;   /* inputs that are not named keep their graph's shape; those with unknown
                              extents and no profile accept any shape, optimum 1 for each */
    double timing_seconds; /* bound on the time spent measuring; 0: 20, and 90 for a device that is
                              not the processor. Without any: TN_BUILD_NO_TIMING */
    uint32_t precision;    /* TN_PRECISION_...: the least exact type that a tensor of 32-bit floats
                              may be stored in where that is faster */
    uint32_t keep_count;
    const char *const *keep; /* nodes, by name, that stay in 32-bit floats */
    const tn_calibration
        *calibration; /* the scales that TN_PRECISION_I8 stores tensors with; read during the build
                         only. A tensor without a scale stays in floats. Null: none */
    uint32_t second_precision; /* beside TN_PRECISION_I8: TN_PRECISION_F16 or TN_PRECISION_BF16,
                                  which tensors may be stored in, too, where that is faster; 0: none
                                */
    /* Pins of single nodes, by name: "NODE=KERNEL[:COMBINATION]" (KERNEL may be LIBRARY/KERNEL or
     * "reference", COMBINATION is one of the kernel's, as it writes it: "f32, * -> f32") lets no
     * other kernel do the node, and "NODE=fp32|bf16|fp16|int8" no other type of storage, of those
     * that `precision` and `second_precision` allow; a node may have both. A pinned node is never
     * absorbed by another one, and its type goes before `keep`. What cannot be had is an error:
     * TN_ERROR_NOT_FOUND (a node or kernel that is not there, with the nearest),
     * TN_ERROR_UNSUPPORTED (a kernel that does not accept the node so). An engine that chooses
     * kernels again (another machine or number of threads) knows the types and not the kernels. */
    const char *const *pins;
    uint32_t pin_count;
    /* Rewrites that are not applied, by their names (as in the report's `rewrites`); a name that no
     * library has is TN_ERROR_NOT_FOUND, TN_ERROR_ARGUMENT where the flags let none be applied. */
    uint32_t without_rewrite_count;
    const char *const *without_rewrites;
    /* Other types and orders of axes of inputs and outputs, as by tn_graph_set_border, in a copy of
     * the graph (tenon/border.h): profiles, calibrations, pins and the plan see that. Errors as
     * there. */
    const struct tn_border *const *borders;
    uint32_t border_count;
    /* Several profiles, instead of `profile_inputs`; TN_ERROR_ARGUMENT where both are given.
     * Each gets kernels of its own, timed at its optimum, and an equal share of `timing_seconds`.
     * They may overlap and leave gaps: a run accepts shapes that some profile has. 0 and null: one,
     * of `profile_inputs`. */
    uint32_t profile_count;
    const tn_profile *const *profiles;
    /* Told how far `stage` ("passes", "lower", "measure", "choose", "write", in this order: text
     * for people; those of graphs in fields of nodes come between) has come; false ends the build
     * soon, within one measured run of a kernel, with TN_ERROR_CANCELLED; the timing cache keeps
     * what was measured. Null: nobody is told. It must not build the same graph. [thread: the
     * caller's] */
    bool (*progress)(void *user, const char *stage, uint64_t done, uint64_t count);
    void *progress_user;
    /* Constants, by name, that new data may be given for once the plan is built (tenon/refit.h).
     * What they are is then used by nothing in the build: nodes that read them alone are not
     * folded, nor are they merged, nor matched by value (the report's `refit` says what was left
     * for them). A constant that is not there is TN_ERROR_NOT_FOUND (with the nearest);
     * TN_ERROR_UNSUPPORTED: one whose value decides shapes, that nothing reads, of strings or
     * bools, with a quantisation, or without elements. A name that bodies have, too, means all of
     * them, which must be equal. */
    uint32_t refit_count;
    const char *const *refit;
} tn_builder_options;

/* Inputs and outputs of the network stay in the types that the graph gives them, and so do tensors
 * of other types than 32-bit floats; where the processor computes, 16-bit floats of the graph are
 * 32-bit ones inside the network (TN_BUILD_KEEP_HALF) and stored as the precision allows. */
enum {
    TN_PRECISION_F32 = 0,  /* nothing less, anywhere */
    TN_PRECISION_TF32 = 1, /* as F32 on a device that has no such products (the processor) */
    TN_PRECISION_BF16 = 2,
    TN_PRECISION_F16 = 3,
    TN_PRECISION_I8 = 4 /* 8-bit integers with the scales of `calibration` */
};

enum {
    TN_BUILD_NO_TIMING = 1u, /* measure nothing: choose kernels by estimates, and by what
                                `timing_cache` knows of them and of kernels like them */
    TN_BUILD_NO_FUSION = 2u, /* keep one kernel a node: for finding faults */
    TN_BUILD_REFERENCE = 4u, /* every node by its operator's reference */
    TN_BUILD_CHECKED = 8u,   /* each kernel that is timed runs once in guarded memory before (see
                                TN_ENGINE_CHECKED); one that breaks the contract there is passed over,
                                and the log says why. Kernels whose time the cache has do not run */
    TN_BUILD_REFIT = 16u,    /* as if `refit` named every constant of floating-point numbers for
                                which that is possible */
    TN_BUILD_NO_PACKED_WEIGHTS = 32u, /* what kernels pack of constants is not kept in the plan: a
                                         smaller file, of which each loading packs them again */
    TN_BUILD_KEEP_HALF = 64u /* 16-bit floats of the graph are computed in 16 bits on the processor,
                                too: each node rounds to them, and what is too large for them is
                                infinite. Otherwise, and not with TN_BUILD_REFERENCE, nodes between
                                inputs, outputs and conversions compute them in 32 bits, which is
                                faster and more exact; other devices keep them as they are */
};

/* Builds a plan. The graph is not changed. The same model, options, cache and machine produce the
 * same bytes. Errors name the node: TN_ERROR_SHAPE, TN_ERROR_TYPE, TN_ERROR_RANGE (a profile that
 * is not min <= opt <= max), TN_ERROR_NOT_FOUND (a profile for no input, a pin of no kernel),
 * TN_ERROR_UNSUPPORTED, TN_ERROR_MEMORY, TN_ERROR_CANCELLED, and what a kernel answers that fails
 * when it is timed and has no alternative. `options` may be null. The caller destroys the plan.
 * [thread: any; the runtime may be shared] */
TN_EXPORT tn_status tn_build(tn_graph *graph, const tn_builder_options *options,
                             tn_plan **out_plan);

/* The plan's bytes, alive as long as the plan. */
TN_EXPORT const void *tn_plan_bytes(const tn_plan *plan, uint64_t *out_bytes);
/* Writes the plan beside `path` and renames it into place: on failure (a full disk) the old file
 * stays. TN_ERROR_IO; TN_ERROR_NOT_FOUND: the folder is not there. */
TN_EXPORT tn_status tn_plan_save(const tn_plan *plan, const char *path);
/* What was chosen, as one JSON document (nodes, kernels, formats, times, memory); owned by the
 * plan. */
TN_EXPORT const char *tn_plan_report(const tn_plan *plan);
TN_EXPORT void tn_plan_destroy(tn_plan *plan);

/* What is in a plan, without loading any code: one JSON document, to be freed by tn_text_free.
 * TN_ERROR_FORMAT. */
TN_EXPORT tn_status tn_plan_inspect(tn_runtime *runtime, const char *path, char **out_json);
TN_EXPORT void tn_text_free(tn_runtime *runtime, char *text);

#ifdef __cplusplus
}
#endif
#endif
