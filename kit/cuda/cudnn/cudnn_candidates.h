/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidates in which cuDNN does a problem, kept for all who ask: the builder asks for each
 * tactic and each context, networks repeat their layers, and an engine that cuDNN compiles for a
 * graph takes up to a second. A candidate's plan is compiled once and kept as text, in memory and
 * in the user's cache folder; while tactics are timed, many are compiled at once on the host's
 * threads.
 */
#ifndef TN_KIT_CUDA_CUDNN_CUDNN_CANDIDATES_H
#define TN_KIT_CUDA_CUDNN_CUDNN_CANDIDATES_H

#include "kit/cuda/cudnn/cudnn_conv_plan.h"
#include "kit/cuda/cudnn/cudnn_store.h"

enum { TN_CUDNN_KEY_NUMBERS = 64, TN_CUDNN_KEY_DEVICE = 0, TN_CUDNN_MOST_CANDIDATES = 16 };

enum {
    TN_CUDNN_CANDIDATE_NEW = 0,  /* a configuration */
    TN_CUDNN_CANDIDATE_KEPT = 1, /* text, here or in the store */
    TN_CUDNN_CANDIDATE_UNKEPT =
        2, /* an engine whose plans are not for writing: made anew each time */
    TN_CUDNN_CANDIDATE_REFUSED = 3, /* no plan can be made */
};

typedef struct tn_cudnn_candidate {
    uint32_t state;
    bool is_fused;
    bool is_stored;
    cudnnBackendDescriptor_t config; /* its graph's; NEW */
    char *text;                      /* malloc's; KEPT: null where it is in the store alone */
    uint64_t bytes;
    cudnnStatus_t status; /* REFUSED */
    char reason[200];
} tn_cudnn_candidate;

/* One problem's. */
typedef struct tn_cudnn_candidates {
    int64_t key[TN_CUDNN_KEY_NUMBERS];
    uint64_t last_use;
    tn_cudnn_problem problem;
    tn_cudnn_graph graphs[2]; /* of plain and of fused candidates */
    bool is_counted;          /* asked for the number of tactics: a build */
    uint32_t count;
    tn_cudnn_candidate candidates[TN_CUDNN_MOST_CANDIDATES];
} tn_cudnn_candidates;

/* Who plans: a handle is one thread's. */
typedef struct tn_cudnn_planner {
    const tn_cudnn *cudnn;
    cudnnHandle_t handle;
    uint32_t device;
} tn_cudnn_planner;

/* All that a plan of the problem depends on but the GPU and the library. */
void tn_cudnn_candidates_key(const tn_call *call, const tn_cudnn_problem *problem, int64_t *key);
/* Asks cuDNN. *candidates is zero; `key` and `problem` of it are set here. A problem that cuDNN
 * refuses has none. */
void tn_cudnn_candidates_ask(const tn_cudnn_planner *planner, const tn_cudnn_problem *problem,
                             const int64_t *key, tn_cudnn_candidates *candidates);
void tn_cudnn_candidates_clear(tn_cudnn_candidates *candidates);
/* Takes a NEW candidate to another state: from the store, or by compiling. [thread: any; nobody
 * else has this candidate] */
void tn_cudnn_candidate_settle(const tn_cudnn_planner *planner, tn_cudnn_candidates *candidates,
                               uint32_t index);
/* A plan of a settled candidate. */
cudnnStatus_t tn_cudnn_candidate_plan(const tn_cudnn_planner *planner,
                                      tn_cudnn_candidates *candidates, uint32_t index,
                                      cudnnBackendDescriptor_t *out_plan);
tn_cudnn_store_key tn_cudnn_candidates_store_key(const tn_cudnn_planner *planner,
                                                 const int64_t *key, uint32_t index);

#endif
