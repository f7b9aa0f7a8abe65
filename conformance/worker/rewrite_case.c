/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of rewrites' cases; see rewrite_case.h. */
#include "rewrite_case.h"
#include "base/status.h"
#include "builder/rewrite/replace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tn_case_value *find_value(const tn_rewrite_case *c, const char *name) {
    for (uint32_t i = 0; i < c->value_count; i++)
        if (strcmp(c->values[i].name, name) == 0) return &c->values[i];
    return NULL;
}

/* ----------------------------------------------------------------------------------------------
 * values */

static tn_status read_list(tn_arena *arena, const char *text, tn_attribute *value) {
    size_t count = 0, most = strlen(text);
    int64_t *integers = tn_arena_allocate(arena, most, sizeof *integers);
    double *values = tn_arena_allocate(arena, most, sizeof *values);
    const bool are_integers = strcspn(text, ".ei") == strlen(text);
    if (!integers || !values) return tn_fail_memory("a case");
    for (const char *at = text + 1; *at && *at != ']'; count++) {
        char *end;
        values[count] = strtod(at, &end);
        integers[count] = are_integers ? (int64_t)values[count] : 0;
        if (end == at) return tn_fail(TN_ERROR_ARGUMENT, "case: '%s' is no list", text);
        at = end + (*end == ',');
    }
    value->type = are_integers ? TN_FIELD_I64S : TN_FIELD_F64S;
    value->count = count;
    value->items = are_integers ? (const void *)integers : values;
    return TN_OK;
}

static tn_status read_value(tn_arena *arena, const char *text, const tn_attribute **out_value) {
    tn_attribute *value = tn_arena_allocate(arena, 1, sizeof *value);
    char *end;
    if (!value) return tn_fail_memory("a case");
    value->size = sizeof *value;
    value->name = "";
    *out_value = value;
    if (*text == '[') return read_list(arena, text, value);
    value->f = strtod(text, &end);
    value->i = strtoll(text, NULL, 10);
    value->type = *end || end == text                    ? TN_FIELD_STRING
                  : strcspn(text, ".ei") == strlen(text) ? TN_FIELD_I64
                                                         : TN_FIELD_F64;
    value->s = text;
    return TN_OK;
}

/* Whether a name stands with ':const' and the like. */
static bool is_constrained(const tn_term *term, uint32_t name) {
    bool is_found =
        term->kind == TN_TERM_TENSOR && term->name == name && term->constraint != TN_TERM_UNBOUND;
    for (uint32_t i = 0; i < term->argument_count && !is_found; i++)
        is_found = is_constrained(term->arguments[i], name);
    return is_found;
}

static bool is_constant(const tn_pattern *pattern, uint32_t name) {
    bool is_found = pattern->names[name].kind == TN_TERM_CAPTURE;
    for (uint32_t s = 0; s < pattern->statement_count && !is_found; s++)
        is_found = is_constrained(pattern->statements[s].term, name);
    return is_found;
}

static tn_status add_tensor(tn_graph *graph, const tn_case_value *value, bool is_constant,
                            tn_tensor_id *out_tensor) {
    const tn_case_input *tensor = &value->tensor;
    if (is_constant)
        return tn_graph_add_constant(graph, value->name, tensor->type, tensor->shape.rank,
                                     tensor->shape.extents, tensor->data, tensor->bytes,
                                     out_tensor);
    return tn_graph_add_input(graph, value->name, tensor->type, tensor->shape.rank,
                              tensor->shape.extents, NULL, out_tensor);
}

/* ----------------------------------------------------------------------------------------------
 * the network */

/* What the case gives for the pattern's names; a tensor that it leaves out is absent. */
static tn_status bind(const tn_rewrite_case *c, tn_matcher *m, tn_emitter *e) {
    e->number_type = TN_F32;
    e->any = TN_NO_TENSOR;
    for (uint32_t i = 0; i < c->value_count; i++) {
        const tn_case_value *value = &c->values[i];
        const uint32_t name = tn_pattern_find_name(m->pattern, value->name);
        const bool is_any = strcmp(value->name, "_") == 0 && !value->text;
        if (is_any) TN_TRY(add_tensor(e->graph, value, false, &e->any));
        if (is_any) continue;
        if (name == TN_NO_NAME || (value->text && m->pattern->names[name].kind != TN_TERM_CAPTURE))
            return tn_fail(TN_ERROR_ARGUMENT, "case: the pattern has no %s '%s'",
                           value->text ? "captured value" : "tensor", value->name);
        m->bindings[name].is_bound = true;
        if (value->text) {
            TN_TRY(read_value(c->arena, value->text, &m->bindings[name].value));
            continue;
        }
        if (i == 0 && tn_type_is_float(value->tensor.type)) e->number_type = value->tensor.type;
        /* sizes and axes are numbers that the network has */
        const bool is_fixed = is_constant(m->pattern, name) || value->tensor.type == TN_I64;
        TN_TRY(add_tensor(e->graph, value, is_fixed,
                          m->pattern->names[name].kind == TN_TERM_CAPTURE ? &e->captured[name]
                                                                          : &e->tensors[name]));
    }
    return TN_OK;
}

static tn_status emit(const tn_rewrite_case *c, uint32_t form, tn_graph *graph, bool *out_is_form) {
    tn_matcher *m = tn_arena_allocate(c->arena, 1, sizeof *m);
    tn_emitter *e = tn_arena_allocate(c->arena, 1, sizeof *e);
    if (!m || !e) return tn_fail_memory("a case");
    *m = (tn_matcher){.entry = c->entry, .pattern = c->entry->pattern, .graph = graph};
    *e = (tn_emitter){.matcher = m,
                      .graph = graph,
                      .arena = c->arena,
                      .name = "pattern",
                      .is_pattern = true,
                      .form = form};
    for (uint32_t i = 0; i < TN_PATTERN_NAMES; i++)
        e->tensors[i] = e->captured[i] = TN_NO_TENSOR;
    TN_TRY(bind(c, m, e));
    TN_TRY(tn_emitter_run(e));
    *out_is_form = e->form == 0;
    for (uint32_t i = 0; i < m->pattern->name_count && *out_is_form; i++)
        if (m->pattern->names[i].is_output)
            TN_TRY(tn_graph_add_output(graph, e->tensors[i], m->pattern->names[i].text));
    return TN_OK;
}

tn_status tn_rewrite_case_graph(const tn_rewrite_case *c, uint32_t form, tn_graph **out_graph,
                                bool *out_is_form) {
    tn_graph *graph = NULL;
    *out_graph = NULL;
    *out_is_form = false;
    TN_TRY(tn_graph_create(c->runtime, "case", &graph));
    const tn_status status = emit(c, form, graph, out_is_form);
    if (status == TN_OK && *out_is_form)
        *out_graph = graph;
    else
        tn_graph_destroy(graph);
    return status;
}

/* ----------------------------------------------------------------------------------------------
 * rewriting and running */

static tn_status apply(const tn_rewrite_case *c, tn_graph *graph, tn_profile_shapes *shapes,
                       tn_pass_context *context) {
    static const tn_builder_options options = {.size = sizeof options};
    tn_plan_profile *profiles = NULL;
    TN_TRY(tn_graph_sort(graph));
    bool *is_fixed = tn_arena_allocate(c->arena, graph->input_count + 1, sizeof(bool));
    bool *is_unsure = tn_arena_allocate(c->arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_fixed || !is_unsure) return tn_fail_memory("a case");
    TN_TRY(tn_profile_make(graph, &options, c->arena, &profiles));
    TN_TRY(tn_profile_shapes_init(shapes, graph, profiles, c->arena));
    for (size_t i = 0; i < graph->input_count; i++)
        is_fixed[i] = true;
    context->is_fixed_input = is_fixed;
    context->is_unsure = is_unsure;
    for (int point = 0; point < TN_POINTS; point++)
        context->points[point] = shapes->points[point];
    TN_TRY(tn_pass_rewrite_constants(context));
    TN_TRY(tn_pass_fold_constants(context));
    return tn_pass_rewrite(context);
}

tn_status tn_rewrite_case_apply(const tn_rewrite_case *c, tn_graph *graph, bool *out_is_applied,
                                char *why, size_t bytes) {
    tn_profile_shapes shapes = {0};
    tn_pass_context context = {.graph = graph, .only = c->entry};
    const tn_status status = apply(c, graph, &shapes, &context);
    *out_is_applied = context.rewritten.count > 0;
    snprintf(why, bytes, "%s", context.refused);
    tn_pass_context_deinit(&context);
    tn_profile_shapes_deinit(&shapes);
    return status;
}

static tn_status run_context(const tn_rewrite_case *c, tn_engine *engine, tn_context *context,
                             tn_outcome *out) {
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        const tn_case_value *value = find_value(c, tn_engine_input(engine, i)->name);
        if (!value) return tn_fail(TN_ERROR_INTERNAL, "an input that the case does not have");
        TN_TRY(tn_context_bind_input(context, i, value->tensor.data, value->tensor.bytes));
    }
    TN_TRY(tn_context_run(context));
    const uint32_t count = tn_engine_output_count(engine);
    for (uint32_t i = 0; i < count && i < 16; i++) {
        const tn_tensor *tensor;
        TN_TRY(tn_context_output(context, i, &tensor));
        out->types[i] = tensor->type;
        TN_TRY(tn_shape_set(&out->shapes[i], tensor->rank, tensor->shape));
        out->bytes[i] = (size_t)tensor->bytes;
        out->data[i] = malloc(tensor->bytes ? tensor->bytes : 1);
        if (!out->data[i]) return tn_fail_memory("an output's copy");
        if (tensor->bytes) memcpy(out->data[i], tensor->data, tensor->bytes);
        out->count = i + 1;
    }
    return TN_OK;
}

tn_status tn_rewrite_case_run(const tn_rewrite_case *c, tn_graph *graph, tn_outcome *out) {
    const tn_builder_options options = {
        .size = sizeof options, .threads = 1, .flags = TN_BUILD_NO_TIMING | TN_BUILD_REFERENCE};
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    tn_context *context = NULL;
    uint64_t bytes = 0;
    tn_status status = tn_build(graph, &options, &plan);
    if (status == TN_OK) {
        const void *data = tn_plan_bytes(plan, &bytes);
        status = tn_engine_load_bytes(c->runtime, data, bytes, NULL, &engine);
    }
    if (status == TN_OK) status = tn_context_create(engine, &context);
    if (status == TN_OK) status = run_context(c, engine, context, out);
    tn_context_destroy(context);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    return status;
}
