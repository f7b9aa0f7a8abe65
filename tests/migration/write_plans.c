/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the plans of the tests of migration into a folder: `write_migration_plans FOLDER`.
 * scripts/make-migration-plans calls it once a release. */
#include "plans.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: write_migration_plans FOLDER\n");
        return 2;
    }
    for (uint32_t i = 0; i < migration_plan_count; i++) {
        if (migration_plan_write(&migration_plans[i], argv[1])) continue;
        fprintf(stderr, "%s: %s: %s\n", migration_plans[i].name, tn_last_error()->where,
                tn_last_error()->message);
        return 1;
    }
    printf("%u plans\n", migration_plan_count);
    return 0;
}
