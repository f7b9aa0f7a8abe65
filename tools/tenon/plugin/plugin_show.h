/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tenon plugin show` says of operators, in three forms: text and Markdown (plugin_show.c),
 * and JSON (plugin_show_json.c); the words that all use are in plugin_words.c.
 */
#ifndef TENON_PLUGIN_SHOW_H
#define TENON_PLUGIN_SHOW_H

#include <stdbool.h>
#include <tenon/plugin/rewrite.h>
#include <tenon/tenon.h>

typedef struct show_operator {
    const tn_operator *op;
    char *library, *version; /* its library's */
} show_operator;
typedef struct show_kernel {
    const tn_kernel *kernel;
    char *library;
} show_kernel;

typedef struct show_rewrite {
    const tn_rewrite *rewrite;
    char *library;
} show_rewrite;

/* What is registered, and which of it is wanted: the operators of a name, or a library's own and
 * its kernels. */
typedef struct show_tables {
    const char *domain, *name; /* name null: of a library */
    bool is_any_domain;
    const char *library;
    show_operator *operators;
    show_kernel *kernels;
    show_rewrite *rewrites;
    size_t operator_count, operator_capacity, kernel_count, kernel_capacity;
    size_t rewrite_count, rewrite_capacity;
    bool has_failed; /* no memory */
} show_tables;
/* Fills the lists; false: no memory. */
bool show_tables_read(show_tables *tables, tn_runtime *runtime);
void show_tables_free(show_tables *tables);
bool show_tables_want(const show_tables *tables, const show_operator *op);
/* Those of the library, or those that put the operator in place. */
bool show_tables_want_rewrite(const show_tables *tables, const show_rewrite *rewrite);
/* The kernel is one of this operator, in this version. */
bool show_kernel_serves(const tn_kernel *kernel, const tn_operator *op);

enum { SHOW_WORDS = 400 };
/* The names of a set's members, joined by ", ", in `buffer` of SHOW_WORDS bytes; "" for none. */
const char *show_operator_traits(uint32_t traits, char *buffer);
const char *show_kernel_traits(uint32_t traits, char *buffer);
const char *show_port_flags(const tn_port *port, char *buffer);
const char *show_field_type(uint32_t type);
/* A kernel's own fields: "group (i64), pads (i64s, needed)". */
const char *show_kernel_fields(const tn_kernel *kernel, char *buffer);
/* "0..1", "at least 1 numbers of 0..1" and the like; "" without bounds. */
const char *show_field_range(const tn_field *field, char *buffer);
/* "y = Test::SoftClip(x, size?, more...; low=0, high=6)", in `buffer`. */
const char *show_signature(const tn_operator *op, char *buffer, size_t bytes);

/* Each answers the number of operators and of a library's kernels that it showed. */
size_t show_text(const show_tables *tables, bool is_markdown);
size_t show_json(const show_tables *tables);

#endif
