/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that kernels share, by key and scope: what stands behind tenon/plugin/resource.h. */
#ifndef TN_BASE_RESOURCE_STORE_H
#define TN_BASE_RESOURCE_STORE_H

#include <tenon/plugin/resource.h>
#include <tenon/runtime.h>

typedef struct tn_resource_store tn_resource_store;
tn_status tn_resource_store_create(const tn_allocator *allocator, tn_resource_store **out_store);
/* What was not given back is forgotten, not freed: its users' code may be gone. Null is fine. */
void tn_resource_store_destroy(tn_resource_store *store);

/* `owner`: the device or the context, only compared. The status is that of create,
 * TN_ERROR_PLUGIN where it answered null, or TN_ERROR_MEMORY. */
tn_status tn_resource_store_acquire(tn_resource_store *store, const void *owner, tn_call *call,
                                    const tn_resource *resource, void **out_resource);
void tn_resource_store_release(tn_resource_store *store, const void *owner, tn_call *call,
                               const tn_resource *resource, void *acquired);

#endif
