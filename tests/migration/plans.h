/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plans of the tests of migration: networks of one node each, by either version of the library.
 * write_plans.c keeps them as files, test_migration.c loads them with the other version.
 */
#ifndef TN_TESTS_MIGRATION_PLANS_H
#define TN_TESTS_MIGRATION_PLANS_H

#include <tenon/tenon.h>

/* A node `layer` from input "x", f32[2,3], to output "y". The name of its plan is the file's. */
typedef struct migration_plan {
    const char *name; /* NAME_VERSION, of the library that it is made with */
    int version;
    const char *op;
    uint32_t attribute_count;
    const tn_attribute *attributes[6];
} migration_plan;
extern const migration_plan migration_plans[];
extern const uint32_t migration_plan_count;

/* A runtime that finds the library's version "1", "2" or "2_without_upgrade" on its search path
 * and loads nothing yet. Null: no memory. */
tn_runtime *migration_runtime(const char *version, tn_log_function log, void *user);
/* Builds the plan and writes it to FOLDER/NAME.plan; false: tn_last_error says why. */
bool migration_plan_write(const migration_plan *plan, const char *folder);

#endif
