/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in layers as a plugin library like any other: gathers what the folders of layers/ offer
 * (tn_layer_table) and registers it through the host's services. The core knows this entry alone.
 */
#include "builtin/builtin.h"
#include "kit/operator/layer.h"

static tn_status builtin_load(const tn_host *host, tn_library *library) {
    return tn_layers_register(host, library, tn_layer_table);
}

tn_library *tn_builtin_entry(const tn_host *host) {
    (void)host;
    static tn_library table = {.size = sizeof(tn_library),
                               .abi_major = TN_ABI_MAJOR,
                               .abi_minor = TN_ABI_MINOR,
                               .name = "builtin",
                               .version = "1",
                               .load = builtin_load};
    return &table;
}
