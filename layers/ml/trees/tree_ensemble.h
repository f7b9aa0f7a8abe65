/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of TreeEnsemble, whose operator is tree_ensemble.c and whose reader read_5.c. */
#ifndef TN_LAYERS_ML_TREES_TREE_ENSEMBLE_H
#define TN_LAYERS_ML_TREES_TREE_ENSEMBLE_H

#include "ml/trees/ensemble.h"

typedef struct tn_tree_ensemble_params {
    uint64_t present;
    uint32_t aggregate_function, post_transform;
    int64_t n_targets;
    tn_i64s tree_roots, nodes_featureids, nodes_truenodeids, nodes_falsenodeids, nodes_trueleafs,
        nodes_falseleafs, nodes_missing_value_tracks_true, leaf_targetids;
    const tn_attribute *nodes_modes, *nodes_splits, *nodes_hitrates, *leaf_weights,
        *membership_values; /* tensors, or lists */
} tn_tree_ensemble_params;

/* As tn_ensemble_read_3. */
tn_status tn_ensemble_read_5(tn_call *call, const tn_tree_ensemble_params *params,
                             tn_ensemble *out_ensemble);

#endif
