/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the tables of linked-in libraries, which are made when they are asked for first: a
 * network needs a few of some hundreds. See registry_private.h. */
#include "base/status.h"
#include "plugin/registry_private.h"
#include "plugin/registry_tables.h"

static tn_status make_operator(tn_registry_item *item) {
    tn_operator_entry *entry = NULL;
    TN_TRY(tn_registry_copy_operator(item->library, item->table, &entry));
    item->entry = entry;
    item->table = entry->op;
    return TN_OK;
}

/* `before`: the item before it, or null. */
static tn_status make_kernel(tn_registry_item *item, const tn_registry_item *before) {
    tn_kernel_entry *entry = NULL;
    const bool is_like = before && before->library == item->library;
    TN_TRY(tn_registry_copy_kernel(item->library, item->table, is_like ? before->entry : NULL,
                                   &entry));
    item->entry = entry;
    item->table = entry->kernel;
    return TN_OK;
}

static tn_status make_rewrite(tn_registry_item *item) {
    tn_rewrite_entry *entry = NULL;
    TN_TRY(tn_registry_copy_rewrite(item->library, item->table, &entry));
    item->entry = entry;
    item->table = entry->rewrite;
    return TN_OK;
}

tn_status tn_registry_make(tn_registry *registry, tn_registry_list *list, size_t index) {
    tn_registry_item *item = &list->items[index];
    if (item->entry) return TN_OK;
    if (list == &registry->operators) return make_operator(item);
    if (list == &registry->rewrites) return make_rewrite(item);
    return make_kernel(item, index > 0 ? item - 1 : NULL);
}

tn_status tn_registry_read_rewrite(tn_registry *registry, const tn_rewrite_entry *entry) {
    pthread_mutex_lock(&registry->lock);
    const tn_status status =
        entry->pattern ? TN_OK : tn_registry_parse_rewrite((tn_rewrite_entry *)(uintptr_t)entry);
    pthread_mutex_unlock(&registry->lock);
    return status == TN_OK ? TN_OK : tn_error_at(status, "rewrite '%s'", entry->rewrite->name);
}
