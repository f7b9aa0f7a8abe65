/* SPDX-License-Identifier: Apache-2.0 */
/* What tenon-check knows of its library and its options; see check.c. */
#ifndef TN_CONFORMANCE_CHECK_H
#define TN_CONFORMANCE_CHECK_H

#include "rules/rules.h"
#include "worker/watch/held.h"

#include <stdio.h>

enum { TABLE_LIMIT = 8192, TABLE_COMBINATIONS = 4096 };

typedef struct listed {
    tn_test test;
    const tn_rule *rule;
    size_t number;     /* from 1: what --only takes */
    uint32_t priority; /* of what is tried first, 0 */
} listed;

typedef struct suite {
    tn_runtime *runtime;
    tn_counter counter;
    const char *library; /* name; null: what is linked in */
    const char *path;
    const char *only_operator, *only_rules, *until;
    const char *device_name; /* null: the processor */
    tn_used_device device;
    void *stream;
    const tn_operator *operators[TABLE_LIMIT];
    bool is_own[TABLE_LIMIT];
    uint32_t seed, effort;
    size_t operator_count;
    const tn_kernel *kernels[TABLE_LIMIT];
    size_t kernel_count;
    tn_held before; /* the library was loaded */
    tn_library_test whole;
    listed *tests;
    size_t count, capacity;
    const listed *running;
    size_t current;  /* its number; 0: the loading of the library */
    tn_arena *arena; /* of combinations that kernels answered */
    FILE *report;    /* the lines; the standard output is watched */
} suite;

/* --- check_list.c: which tests there are --- */
/* Fills `tests`, those of the rules of --until first; false: no memory. */
bool check_list_tests(suite *s);
/* "NAME" or "DOMAIN::NAME" of --operator, or none. */
bool check_is_asked_for(const suite *s, const tn_operator *op);
bool check_has_kernel_of(const suite *s, const tn_operator *op);

/* --- check_options.c: whether there is what the options ask for; what not is reported --- */
bool check_rules_are_there(const suite *s, const char *names, bool are_tried);
bool check_options_fit(const suite *s, size_t only);
/* Whether `id` is among names between commas. */
bool check_is_named(const char *names, const char *id);

#endif
