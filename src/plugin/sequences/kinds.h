/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of an operator's ports, which the text of their types says: "seq(T)", "opt(f32)",
 * "map(i64,f32)". */
#ifndef TN_PLUGIN_SEQUENCES_KINDS_H
#define TN_PLUGIN_SEQUENCES_KINDS_H

#include <tenon/plugin/sequence.h>

/* TN_KIND_... of a port, and the part of its text that says element types. */
uint32_t tn_port_kind(const char *types, const char **out_text, size_t *out_length);
/* Of a map's port: the part that says the types of keys, without the comma. False: there is none.
 */
bool tn_port_keys(const char *types, const char **out_text, size_t *out_length);
/* Whether a tensor of this kind is a map or a list of maps. */
static inline bool tn_kind_is_map(uint32_t kind) {
    return kind == TN_KIND_MAP || kind == TN_KIND_MAPS;
}
/* "a dense tensor", "a sequence", "an optional of a sequence" and so on, for messages. */
const char *tn_kind_name(uint32_t kind);
/* Whether any port of the operator is of another kind than dense. */
bool tn_operator_has_kinds(const tn_operator *op);
/* What is said of dense tensors alone is not said of other ports: their memory, their shapes and
 * their elements. Ports have names and types. TN_ERROR_PLUGIN. */
tn_status tn_operator_check_kinds(const tn_operator *op);

#endif
