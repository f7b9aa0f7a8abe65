/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a build under a bound, one JSON document: what was measured and what went back. */
#include "base/status.h"
#include "base/text.h"
#include "calibrate/accuracy_private.h"

#include <inttypes.h>

static const char *precision_name(uint32_t precision) {
    static const char *const names[] = {"fp32", "tf32", "bf16", "fp16", "int8"};
    return precision < sizeof(names) / sizeof(names[0]) ? names[precision] : "unknown";
}

static void add_outputs(tn_text *text, const tn_accuracy_state *state) {
    tn_text_add(text, "  \"outputs\": [");
    for (uint32_t i = 0; i < state->output_count; i++) {
        tn_text_add(text, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
        tn_text_add_json(text, tn_engine_output(state->best.engine, i)->name);
        tn_text_add_member_number(text, "loss", tn_output_loss_value(&state->losses[i]));
        tn_text_add_format(text, ", \"rows\": %" PRIu64, state->losses[i].row_count);
        tn_text_add_member_number(text, "arg_max_changed",
                                  tn_output_loss_changed_share(&state->losses[i]));
        tn_text_add(text, "}");
    }
    tn_text_add(text, "],\n");
}

static void add_units(tn_text *text, const tn_accuracy_state *state) {
    tn_text_add(text, "  \"measured_alone\": [");
    for (uint32_t i = 0; i < state->unit_count; i++) {
        const tn_lowered_unit *unit = &state->units[i];
        tn_text_add(text, i ? ",\n    {\"nodes\": [" : "\n    {\"nodes\": [");
        for (uint32_t n = 0; n < unit->node_count; n++) {
            if (n) tn_text_add(text, ", ");
            tn_text_add_json(text, unit->nodes[n]);
        }
        tn_text_add(text, "]");
        tn_text_add_member_number(text, "loss", unit->loss);
        tn_text_add_format(text, ", \"kept\": %s}", i < state->kept_count ? "true" : "false");
    }
    tn_text_add(text, "],\n");
}

static void add_trials(tn_text *text, const tn_accuracy_state *state) {
    tn_text_add(text, "  \"builds\": [");
    for (uint32_t i = 0; i < state->trial_count; i++) {
        tn_text_add_format(text, "%s\n    {\"kept\": %" PRIu32, i ? "," : "",
                           state->trials[i].kept_count);
        tn_text_add_member_number(text, "loss", state->trials[i].loss);
        tn_text_add(text, "}");
    }
    tn_text_add(text, "]\n}\n");
}

tn_status tn_accuracy_report(const tn_accuracy_state *state, char **out_json) {
    double worst = 0;
    tn_text text;
    tn_text_init(&text, state->allocator);
    for (uint32_t i = 0; i < state->output_count; i++) {
        const double loss = tn_output_loss_value(&state->losses[i]);
        if (loss > worst) worst = loss;
    }
    tn_text_add_format(&text, "{\n  \"precision\": \"%s", precision_name(state->build.precision));
    if (state->build.second_precision)
        tn_text_add_format(&text, ",%s", precision_name(state->build.second_precision));
    tn_text_add(&text, "\"");
    if (state->options->max_loss >= 0)
        tn_text_add_member_number(&text, "max_loss", state->options->max_loss);
    else
        tn_text_add(&text, ", \"max_loss\": null");
    tn_text_add_member_number(&text, "loss", worst);
    tn_text_add_format(&text, ", \"batches\": %" PRIu64 ",\n", state->options->batches->count);
    add_outputs(&text, state);
    add_units(&text, state);
    add_trials(&text, state);
    const tn_status status = tn_text_take(&text, out_json);
    if (status != TN_OK) tn_text_deinit(&text);
    return status;
}
