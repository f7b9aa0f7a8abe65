/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormalization by vectors for one processor level; see lanes_body.h. */
#define TN_LAYER_NORMALIZATION_LANE tn_layer_normalization_baseline
#include "layer_normalization/lanes_body.h"
