/* SPDX-License-Identifier: Apache-2.0 */
/* The table of profiles; see report_profiles.h. A build's report has an object each, a plan's the
 * list of its ranges. */
#include "report_profiles.h"
#include "report/facts/report_text.h"

static void put_shape(FILE *page, const json *shape) {
    for (size_t i = 0; i < json_count(shape); i++)
        fprintf(page, i ? "×%.0f" : "%.0f", json_number(json_item(shape, i), 0));
    if (json_count(shape) == 0) fputs("scalar", page);
}

static void put_range(FILE *page, const json *input, bool is_first) {
    fputs(is_first ? "" : "<br>", page);
    report_put_text(page, json_text_of(input, "name"), 60);
    fputs(": ", page);
    if (json_number_of(input, "free") != 0) {
        fputs("any shape", page);
        return;
    }
    put_shape(page, json_member(input, "opt"));
    fputs(" (", page);
    put_shape(page, json_member(input, "min"));
    fputs(" to ", page);
    put_shape(page, json_member(input, "max"));
    fputs(")", page);
}

static void put_profile(FILE *page, const json *profile, size_t number) {
    const json *named = json_member(profile, "inputs"), *inputs = named ? named : profile,
               *totals = json_member(profile, "totals");
    const double ns = json_number_of(totals, "kernel_ns") + json_number_of(totals, "reformat_ns");
    fprintf(page, "<tr><td>%zu</td><td>", number);
    for (const json *input = inputs->first; input; input = input->next)
        put_range(page, input, input == inputs->first);
    fputs("</td><td>", page);
    if (ns > 0) report_put_time(page, ns);
    fputs("</td><td>", page);
    if (totals) report_put_bytes(page, json_number_of(totals, "arena_bytes"));
    fputs("</td></tr>\n", page);
}

void report_profiles_put(FILE *page, const report_facts *facts) {
    const json *profiles = json_member(facts->report, "profiles");
    size_t number = 0;
    if (json_count(profiles) < 2) return;
    fputs("<section><h2>Profiles</h2>\n<p class=hint>Each has kernels of its own, chosen for its "
          "optimum; the page shows those of profile 0.</p>\n"
          "<table><thead><tr><th>profile</th><th>inputs: optimum (range)</th><th>sum of "
          "times</th><th>memory</th></tr></thead><tbody>\n",
          page);
    for (const json *profile = profiles->first; profile; profile = profile->next)
        put_profile(page, profile, number++);
    fputs("</tbody></table></section>\n", page);
}
