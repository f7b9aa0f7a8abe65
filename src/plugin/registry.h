/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: operators by domain, name and version, kernels by operator and device, and the
 * libraries that gave them. Tables of other versions' sizes are copied into today's structs
 * (missing members zero) when they are registered, so that everybody else may read all members.
 * Locked; entries stay while their library is held.
 */
#ifndef TN_PLUGIN_REGISTRY_H
#define TN_PLUGIN_REGISTRY_H

#include "plugin/entries.h"

tn_status tn_registry_create(tn_runtime *runtime, tn_registry **out_registry);
void tn_registry_destroy(tn_registry *registry);

/* Checks the table and adds it. On any error nothing is added. Tables of a linked-in library, which
 * are constant and tested, are checked when they are asked for first. */
tn_status tn_registry_add_operator(tn_registry *registry, tn_loaded_library *library,
                                   const tn_operator *op);
tn_status tn_registry_add_kernel(tn_registry *registry, tn_loaded_library *library,
                                 const tn_kernel *kernel);
tn_status tn_registry_add_rewrite(tn_registry *registry, tn_loaded_library *library,
                                  const tn_rewrite *rewrite);
/* Hides a library's entries from look-ups; they are freed when the library goes. */
void tn_registry_remove_library(tn_registry *registry, tn_loaded_library *library);

/* The operator with the highest since_version <= version (version 0: the newest). The caller gets a
 * count on its library and gives it back by tn_library_release. TN_ERROR_UNSUPPORTED: the message
 * names what is missing, the nearest name, or the versions there are, or the domain that has it. */
tn_status tn_registry_find_operator(tn_registry *registry, const char *domain, const char *name,
                                    uint32_t version, const tn_operator_entry **out_entry);
/* Exactly this since_version (for plans). */
tn_status tn_registry_find_operator_exact(tn_registry *registry, const char *domain,
                                          const char *name, uint32_t since_version,
                                          const tn_operator_entry **out_entry);
/* The newest version of an operator of this name in whatever domain, for networks that name no
 * domains: a given library's operator goes before Tenon's own, and a domain of its own before
 * ONNX's. TN_ERROR_UNSUPPORTED: there is none (as above), or two domains have it (names both). */
tn_status tn_registry_find_any(tn_registry *registry, const char *name,
                               const tn_operator_entry **out_entry);
/* Whether a library that was given, not Tenon's own, has an operator of this name. */
bool tn_registry_has_given(tn_registry *registry, const char *name);
/* Whether the kernel's table names this operator, in its version: by its name, or as every
 * elementwise one with an expression. */
bool tn_registry_is_kernel_of(const tn_kernel *kernel, const tn_operator *op);
/* The kernels of an operator version on a device whose processor features are there, in the order
 * of registration; allocated with the runtime's allocator; each holds a count on its library, given
 * back by tn_registry_free_kernels. */
tn_status tn_registry_kernels(tn_registry *registry, const tn_operator *op, const char *device,
                              const tn_kernel_entry ***out_entries, uint32_t *out_count);
void tn_registry_free_kernels(tn_registry *registry, const tn_kernel_entry **entries,
                              uint32_t count);
/* Whether a kernel for the processor, of any operator, has one of these traits. */
bool tn_registry_has_trait(tn_registry *registry, uint32_t traits);
/* All rewrites, in the order of registration; held and freed as kernels are. Their patterns are
 * there after tn_registry_read_rewrite alone. */
tn_status tn_registry_rewrites(tn_registry *registry, const tn_rewrite_entry ***out_entries,
                               uint32_t *out_count);
/* TN_ERROR_PLUGIN: a text of the rewrite is wrong, which is so of no rewrite that was given: those
 * are read when they are added. */
tn_status tn_registry_read_rewrite(tn_registry *registry, const tn_rewrite_entry *entry);
void tn_registry_free_rewrites(tn_registry *registry, const tn_rewrite_entry **entries,
                               uint32_t count);
/* The operator of a rewrite's text, as the library itself names it: its own first, in whatever
 * domain it was loaded under; else as tn_registry_find_operator. */
tn_status tn_registry_find_operator_of(tn_registry *registry, const tn_loaded_library *library,
                                       const char *domain, const char *name, uint32_t version,
                                       const tn_operator_entry **out_entry);
/* What tells libraries apart: names may repeat. */
typedef struct tn_library_key {
    const char *name;
    const char *domain; /* the one that it was loaded under; null or "": its own */
    uint64_t hash;      /* of its content; 0: linked in, or not known */
} tn_library_key;
/* By kernel name and its library (for plans): that very one, else one of its name. `library` may be
 * null: any. Null when it is not there. Holds a count. */
const tn_kernel_entry *tn_registry_find_kernel(tn_registry *registry, const tn_operator *op,
                                               const char *device, const char *name,
                                               const tn_library_key *library);
/* Whether the library has this operator, in any version; `domain` null: in any domain. */
bool tn_registry_offers(tn_registry *registry, const tn_loaded_library *library, const char *domain,
                        const char *name);

/* For the public visitors. `visit` must not call back into the registry. */
void tn_registry_count_library(tn_registry *registry, const tn_loaded_library *library,
                               tn_library_info *out_info);
void tn_registry_visit_operators(tn_registry *registry,
                                 bool (*visit)(void *user, const tn_operator *op,
                                               const tn_library_info *library),
                                 void *user);
void tn_registry_visit_kernels(tn_registry *registry,
                               bool (*visit)(void *user, const tn_kernel *kernel,
                                             const tn_library_info *library),
                               void *user);
void tn_registry_visit_rewrites(tn_registry *registry,
                                bool (*visit)(void *user, const tn_rewrite *rewrite,
                                              const tn_library_info *library),
                                void *user);

#endif
