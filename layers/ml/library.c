/* SPDX-License-Identifier: Apache-2.0 */
/* The library of ONNX's domain ai.onnx.ml: loaded when a network has one of its operators. */
#include "kit/operator/layer.h"

extern const tn_layer tn_layer_ml_columns, tn_layer_ml_encode, tn_layer_ml_linear, tn_layer_ml_maps,
    tn_layer_ml_replace, tn_layer_ml_scale, tn_layer_ml_svm_classifier, tn_layer_ml_svm_regressor,
    tn_layer_ml_tree_classifier, tn_layer_ml_tree_regressor, tn_layer_ml_tree_ensemble,
    tn_layer_ml_zip_map;

static const tn_layer *const layers[] = {&tn_layer_ml_columns,
                                         &tn_layer_ml_encode,
                                         &tn_layer_ml_linear,
                                         &tn_layer_ml_maps,
                                         &tn_layer_ml_replace,
                                         &tn_layer_ml_scale,
                                         &tn_layer_ml_svm_classifier,
                                         &tn_layer_ml_svm_regressor,
                                         &tn_layer_ml_tree_classifier,
                                         &tn_layer_ml_tree_regressor,
                                         &tn_layer_ml_tree_ensemble,
                                         &tn_layer_ml_zip_map,
                                         NULL};

static tn_status load(const tn_host *host, tn_library *library) {
    return tn_layers_register(host, library, layers);
}

TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
TN_EXPORT tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "ml",
                               .version = "1",
                               .load = load};
    (void)host;
    return &table;
}
