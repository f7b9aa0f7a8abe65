/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands for src/import in a library that only runs plans: it reads no models, so that
 * libraries of importers are refused as they load.
 */
#include "helper/helper_process.h"
#include "plugin/library_private.h"

const struct tn_importers *tn_importers_services(void) {
    return NULL;
}

void tn_importers_remove_library(tn_runtime *runtime, const tn_loaded_library *library) {
    (void)runtime;
    (void)library;
}

void tn_importers_deinit(tn_runtime *runtime) {
    (void)runtime;
}

int tn_helper_read(void) {
    return 2;
}
