/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that kernels share, by key and scope: the service of tenon/plugin/resource.h. */
#ifndef TN_PLUGIN_SERVICES_RESOURCES_H
#define TN_PLUGIN_SERVICES_RESOURCES_H

#include "plugin/host.h"

#include <tenon/plugin/resource.h>

typedef struct tn_resource_store tn_resource_store;
tn_status tn_resource_store_create(const tn_allocator *allocator, tn_resource_store **out_store);
/* What was not given back is forgotten, not freed: its users' code may be gone. Null is fine. */
void tn_resource_store_destroy(tn_resource_store *store);

/* The table that libraries get. */
const tn_resources *tn_resources_table(void);

#endif
