/* SPDX-License-Identifier: Apache-2.0 */
/* Facts as JSON inside a page; see report_embed.h. Values are numbered, steps name them by number;
 * of a step's candidates the fastest and the chosen one are there. */
#include "report_embed.h"
#include "report/facts/report_text.h"
#include "report_bars.h"

enum { NAME_LIMIT = 200, STEP_LIMIT = 5000, CANDIDATE_LIMIT = 8 };

static void put_member(FILE *page, const char *before, const char *key, const char *text) {
    fprintf(page, "%s\"%s\":", before, key);
    report_put_json(page, text, NAME_LIMIT);
}

static void put_numbers(FILE *page, const char *key, const uint32_t *values, size_t count) {
    fprintf(page, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++)
        fprintf(page, "%s%u", i > 0 ? "," : "", values[i]);
    fputs("]", page);
}

static void put_texts(FILE *page, const char *key, const json *texts) {
    if (!texts || !texts->first) return;
    fprintf(page, ",\"%s\":[", key);
    for (const json *item = texts->first; item; item = item->next) {
        report_put_json(page, json_text(item, ""), NAME_LIMIT);
        fputs(item->next ? "," : "]", page);
    }
}

static void put_value(FILE *page, const report_value *value) {
    static const char *const sources[] = {"step", "input", "constant"};
    put_member(page, "{", "tensor", value->tensor);
    put_member(page, ",", "type", value->type);
    put_member(page, ",", "format", value->format);
    fprintf(page, ",\"source\":\"%s\"", sources[value->source]);
    if (value->source == REPORT_MADE) fprintf(page, ",\"step\":%u", value->index);
    if (value->is_device) fputs(",\"space\":\"device\"", page);
    if (value->shape) {
        fputs(",\"shape\":[", page);
        for (const json *extent = value->shape->first; extent; extent = extent->next)
            fprintf(page, "%.0f%s", json_number(extent, 0), extent->next ? "," : "");
        fputs("]", page);
    }
    fputs("}", page);
}

/* ----------------------------------------------------------------------------------------------
 * candidates */

/* How many of the list are faster, those before it counted first where equal. */
static size_t rank_of(const json *list, const json *candidate) {
    size_t rank = 0;
    bool is_before = true;
    for (const json *item = list->first; item; item = item->next) {
        if (item == candidate) is_before = false;
        rank += json_number_of(item, "ns") < json_number_of(candidate, "ns") ||
                (is_before && json_number_of(item, "ns") == json_number_of(candidate, "ns"));
    }
    return rank;
}

static void put_candidates(FILE *page, const json *list) {
    const char *between = ",\"candidates\":[{";
    if (!list || !list->first) return;
    for (const json *item = list->first; item; item = item->next) {
        const bool is_chosen = json_number_of(item, "chosen") != 0;
        char label[240];
        if (!is_chosen && rank_of(list, item) >= CANDIDATE_LIMIT) continue;
        report_candidate_label(item, label, sizeof(label));
        put_member(page, between, "label", label);
        fprintf(page, ",\"ns\":%.0f", json_number_of(item, "ns"));
        put_member(page, ",", "time", json_text_of(item, "time"));
        fputs(is_chosen ? ",\"chosen\":true}" : "}", page);
        between = ",{";
    }
    fputs("]", page);
}

static void put_step(FILE *page, const report_step *step) {
    static const char *const kinds[] = {"kernel", "conversion", "view", "shape"};
    put_member(page, "{", "name", step->name);
    put_member(page, ",", "op", step->op);
    fprintf(page, ",\"kind\":\"%s\"", kinds[step->kind]);
    if (step->kind == REPORT_KERNEL) put_member(page, ",", "kernel", step->kernel);
    if (*step->library) put_member(page, ",", "library", step->library);
    fprintf(page, ",\"ns\":%.0f", step->ns);
    put_texts(page, "absorbed", step->absorbed);
    put_texts(page, "rewrites", step->rewrites);
    put_numbers(page, "inputs", step->inputs, step->input_count);
    put_numbers(page, "outputs", step->outputs, step->output_count);
    put_candidates(page, step->candidates);
    fputs("}", page);
}

void report_embed_put(FILE *page, const report_facts *facts) {
    const size_t steps = facts->step_count < STEP_LIMIT ? facts->step_count : STEP_LIMIT;
    fputs("<script type=\"application/json\" id=facts>", page);
    put_member(page, "{", "model", facts->model);
    put_member(page, ",", "what", facts->what);
    fprintf(page, ",\"total_ns\":%.0f,\"step_count\":%zu,\"steps\":[", facts->total_ns,
            facts->step_count);
    for (size_t s = 0; s < steps; s++) {
        fputs(s > 0 ? ",\n" : "\n", page);
        put_step(page, &facts->steps[s]);
    }
    fputs("],\"values\":[", page);
    for (size_t v = 0; v < facts->value_count && steps == facts->step_count; v++) {
        fputs(v > 0 ? ",\n" : "\n", page);
        put_value(page, &facts->values[v]);
    }
    fputs("]}</script>\n", page);
}
