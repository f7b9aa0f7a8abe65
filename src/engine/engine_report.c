/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's report: its steps in order, as JSON, from the engine's description. */
#include "base/status.h"
#include "base/text.h"
#include "engine/engine_private.h"

static void add_values(tn_text *text, const tn_described_program *program, const char *key,
                       const uint32_t *values, uint32_t count) {
    tn_text_add_format(text, ", \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) tn_text_add(text, ", ");
        if (values[i] == TN_NO_VALUE) {
            tn_text_add(text, "null");
            continue;
        }
        const tn_described_value *value = program->values[values[i]];
        tn_text_add(text, "{\"tensor\": ");
        tn_text_add_json(text, value->tensor);
        tn_text_add_format(text, ", \"type\": \"%s\", \"format\": \"%s\"%s}",
                           tn_type_name(value->type), tn_format_name(value->format),
                           value->is_device ? ", \"space\": \"device\"" : "");
    }
    tn_text_add(text, "]");
}

static void add_step(tn_text *text, const tn_described_program *program,
                     const tn_described_step *step) {
    static const char *const kinds[] = {"", "kernel", "reformat", "view", "host"};
    tn_text_add_format(text, "{\"kind\": \"%s\"", kinds[step->kind]);
    if (step->node) {
        tn_text_add_member(text, "node", step->node);
        tn_text_add_member(text, "operator", step->op);
    }
    if (step->kind == TN_DESCRIBED_KERNEL) {
        tn_text_add_member(text, "kernel", step->kernel ? step->kernel : "reference");
        tn_text_add(text, ", \"fused\": [");
        for (uint32_t i = 0; i < step->absorbed_count; i++) {
            tn_text_add(text, i ? ", " : "");
            tn_text_add_json(text, step->absorbed[i]);
        }
        tn_text_add(text, "]");
    }
    add_values(text, program, "inputs", step->inputs, step->input_count);
    add_values(text, program, "outputs", step->outputs, step->output_count);
    tn_text_add(text, "}");
}

static void add_steps(tn_text *text, const tn_described_program *program) {
    tn_text_add_format(text, "{\"threads\": %u, \"steps\": [", program->threads);
    for (uint32_t i = 0; i < program->step_count; i++) {
        tn_text_add(text, i ? ",\n  " : "\n  ");
        add_step(text, program, program->steps[i]);
    }
    tn_text_add(text, "\n]");
}

static tn_status make_report(tn_engine *engine) {
    tn_description *description;
    tn_text text;
    char *report = NULL;
    TN_TRY(tn_engine_describe_lent(engine, &description));
    const tn_plan_description *view = &description->view;
    tn_text_init(&text, engine->allocator);
    add_steps(&text, view->programs[0]);
    if (view->program_count > 1) tn_text_add(&text, ", \"profiles\": [");
    for (uint32_t p = 0; view->program_count > 1 && p < view->program_count; p++) {
        tn_text_add(&text, p > 0 ? ",\n" : "\n");
        add_steps(&text, view->programs[p]);
        tn_text_add(&text, "}");
    }
    tn_text_add(&text, view->program_count > 1 ? "]}\n" : "}\n");
    const tn_status status = tn_text_take(&text, &report);
    tn_text_deinit(&text);
    tn_plan_description_destroy(&description->view);
    if (status == TN_OK) engine->report = report;
    return status;
}

/* Most engines are never asked. */
const char *tn_engine_report(const tn_engine *engine) {
    if (!engine) return "{}";
    tn_engine *loaded = engine->loaded ? engine->loaded : (tn_engine *)(uintptr_t)engine;
    tn_error_copy before;
    pthread_mutex_lock(&loaded->reporting);
    tn_error_save(&before);
    if (!loaded->report && make_report(loaded) != TN_OK) tn_error_restore(&before);
    const char *report = loaded->report ? loaded->report : "{}";
    pthread_mutex_unlock(&loaded->reporting);
    return report;
}
