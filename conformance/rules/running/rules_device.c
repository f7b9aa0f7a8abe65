/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of kernels for a device that is not the processor: every combination, with every chain
 * of epilogues that it absorbs, against the reference, between guards in the device's memory; see
 * ../stored.h. Which device is the worker's choice.
 */
#include "base/status.h"
#include "rules/rules.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the suite prints of failures is a file's; its first line is the verdict. */
static FILE *catch_output(int *out_kept) {
    fflush(stdout);
    FILE *file = tmpfile();
    *out_kept = dup(STDOUT_FILENO);
    if (!file || *out_kept < 0) return NULL;
    dup2(fileno(file), STDOUT_FILENO);
    return file;
}

static void give_output_back(int kept) {
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

static void check_on(const tn_test *test, tn_verdict *verdict) {
    size_t passed = 0, failed = 0;
    char line[560] = "";
    int kept = -1;
    FILE *file = catch_output(&kept);
    if (!file) {
        tn_verdict_skip(verdict, "no file for what is printed");
        return;
    }
    tn_stored_check_on(test->runtime, test->op, test->text, test->device, test->stream, &passed,
                       &failed);
    give_output_back(kept);
    rewind(file);
    if (failed > 0 && fgets(line, sizeof(line), file)) line[strcspn(line, "\n")] = 0;
    fclose(file);
    if (failed > 0)
        tn_verdict_fail(verdict, "%zu of %zu: %s", failed, passed + failed,
                        line + (strncmp(line, "FAIL ", 5) == 0 ? 5 : 0));
    else if (passed == 0)
        tn_verdict_skip(verdict, "no kernel for the device takes the case");
}

void tn_rule_device_cases(const tn_test *test, tn_verdict *verdict) {
    check_on(test, verdict);
    if (tn_device_alive(test->device) != TN_OK && verdict->outcome != TN_FAILED)
        tn_verdict_error(verdict, NULL, "the device is lost after it");
}
