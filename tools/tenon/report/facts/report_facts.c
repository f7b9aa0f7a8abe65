/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts of a page; see report_facts.h. */
#include "report_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * values by tensor, type, format and space */

typedef struct reader {
    report_facts *facts;
    uint32_t *slots; /* 1 + the value; 0: empty */
    size_t slot_count, value_capacity, port_count;
} reader;

static uint64_t hash_text(uint64_t hash, const char *text) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (hash ^ 0xff) * 0x100000001b3u;
}

static bool is_same(const report_value *a, const report_value *b) {
    return a->is_device == b->is_device && strcmp(a->type, b->type) == 0 &&
           strcmp(a->format, b->format) == 0 && strcmp(a->tensor, b->tensor) == 0;
}

/* The number of a value, which is added when it is new. There are no more values than ports. */
static uint32_t intern(reader *r, const report_value *value, bool *out_is_new) {
    uint64_t hash = hash_text(0xcbf29ce484222325u, value->tensor);
    hash = hash_text(hash_text(hash, value->type), value->format) + value->is_device;
    size_t slot = (size_t)(hash ^ hash >> 32) % r->slot_count;
    while (r->slots[slot] && !is_same(&r->facts->values[r->slots[slot] - 1], value))
        slot = (slot + 1) % r->slot_count;
    *out_is_new = r->slots[slot] == 0;
    if (*out_is_new) {
        r->facts->values[r->facts->value_count++] = *value;
        r->slots[slot] = (uint32_t)r->facts->value_count;
    }
    return r->slots[slot] - 1;
}

static uint32_t find_port(const report_port *ports, size_t count, const char *tensor) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(ports[i].tensor, tensor) == 0) return (uint32_t)i;
    return REPORT_NONE;
}

/* A step makes a value where `step` is not REPORT_NONE. */
static uint32_t add_value(reader *r, report_value value, uint32_t step) {
    bool is_new;
    const uint32_t number = intern(r, &value, &is_new);
    report_value *known = &r->facts->values[number];
    if (step != REPORT_NONE) {
        known->source = REPORT_MADE;
        known->index = step;
    } else if (is_new) {
        known->index = find_port(r->facts->inputs, r->facts->input_count, value.tensor);
        known->source = known->index == REPORT_NONE ? REPORT_CONSTANT : REPORT_INPUT;
        if (known->source == REPORT_INPUT) r->facts->inputs[known->index].value = number;
    }
    if (!known->shape) known->shape = value.shape;
    return number;
}

static bool is_device(const json *item, const char *key) {
    return strcmp(json_text(json_member(item, key), "host"), "device") == 0;
}

static report_value value_of(const json *item) {
    const json *shape = json_member(item, "shape"), *scale = json_member(item, "scale");
    return (report_value){.tensor = json_text_of(item, "tensor"),
                          .type = json_text_of(item, "type"),
                          .format = json_text_of(item, "format"),
                          .shape = json_is_there(shape) ? shape : NULL,
                          .scale = json_is_there(scale) ? scale : NULL,
                          .is_device = is_device(item, "space")};
}

/* ----------------------------------------------------------------------------------------------
 * steps */

static void add_ports(reader *r, const json *list, uint32_t step, uint32_t *count) {
    for (const json *item = list ? list->first : NULL; item; item = item->next) {
        if (item->kind != JSON_OBJECT) continue;
        r->facts->ports[r->port_count++] = add_value(r, value_of(item), step);
        (*count)++;
    }
}

/* In a build's report a conversion says what it turns into what; elsewhere it has ports. */
static void add_conversion_ports(reader *r, uint32_t step, const json *item) {
    report_step *s = &r->facts->steps[step];
    const char *tensor = json_text_of(item, "tensor");
    const report_value from = {.tensor = tensor,
                               .type = json_text_of(item, "from_type"),
                               .format = json_text_of(item, "from"),
                               .is_device = is_device(item, "from_space")};
    const report_value to = {.tensor = tensor,
                             .type = json_text_of(item, "to_type"),
                             .format = json_text_of(item, "to"),
                             .is_device = is_device(item, "to_space")};
    r->facts->ports[r->port_count++] = add_value(r, from, REPORT_NONE);
    r->facts->ports[r->port_count++] = add_value(r, to, step);
    s->input_count = s->output_count = 1;
}

static report_kind kind_of(const json *item) {
    const char *kind = json_text(json_member(item, "kind"), "reformat");
    if (strcmp(kind, "reformat") == 0) return REPORT_CONVERSION;
    if (strcmp(kind, "view") == 0) return REPORT_VIEW;
    return strcmp(kind, "shape") == 0 ? REPORT_SHAPE : REPORT_KERNEL;
}

static const char *kernel_of(report_kind kind, const json *item) {
    static const char *const names[] = {"", "conversion", "view", "shape"};
    return kind == REPORT_KERNEL ? json_text_of(item, "kernel") : names[kind];
}

static void read_ports(reader *r, uint32_t index, const json *item) {
    report_step *step = &r->facts->steps[index];
    step->inputs = r->facts->ports + r->port_count;
    if (step->kind == REPORT_CONVERSION && !json_member(item, "outputs")) {
        add_conversion_ports(r, index, item);
        step->outputs = step->inputs + 1;
        return;
    }
    add_ports(r, json_member(item, "inputs"), REPORT_NONE, &step->input_count);
    add_ports(r, json_member(item, "operands"), REPORT_NONE, &step->input_count);
    step->outputs = r->facts->ports + r->port_count;
    add_ports(r, json_member(item, "outputs"), index, &step->output_count);
}

static void read_step(reader *r, uint32_t index) {
    report_facts *facts = r->facts;
    report_step *step = &facts->steps[index];
    const json *item = step->item;
    step->kind = kind_of(item);
    step->op =
        step->kind == REPORT_CONVERSION ? "conversion" : json_text(json_member(item, "op"), "?");
    step->kernel = kernel_of(step->kind, item);
    step->library = json_text_of(item, "library");
    step->ns = fmax(0, json_number_of(item, "ns"));
    step->absorbed = json_member(item, "absorbed");
    step->absorbed_ops = json_member(item, "absorbed_ops");
    step->rewrites = json_member(item, "rewrites");
    step->candidates = json_member(item, "candidates");
    read_ports(r, index, item);
    step->name = json_text(json_member(item, "name"), NULL);
    if (!step->name)
        step->name = step->output_count > 0 ? facts->values[step->outputs[0]].tensor : "";
    step->is_device = is_device(item, "space") ||
                      (step->output_count > 0 && facts->values[step->outputs[0]].is_device);
    facts->total_ns += step->ns;
    facts->largest_ns = fmax(facts->largest_ns, step->ns);
    facts->absorbed_count += json_count(step->absorbed);
    facts->rewrite_count += json_count(step->rewrites);
    facts->device_count += step->is_device;
    if (step->kind != REPORT_CONVERSION) return;
    facts->conversion_count++;
    facts->conversion_ns += step->ns;
}

static void list_items(report_facts *facts, const json *list) {
    for (const json *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind == JSON_OBJECT) facts->steps[facts->step_count++].item = item;
}

static int compare_steps(const void *a, const void *b) {
    const json *x = ((const report_step *)a)->item, *y = ((const report_step *)b)->item;
    const double p = json_number_of(x, "step"), q = json_number_of(y, "step");
    return p < q ? -1 : p > q;
}

/* ----------------------------------------------------------------------------------------------
 * the network's ports */

static report_port *read_network_ports(const json *list, size_t *out_count) {
    report_port *ports = calloc(json_count(list) + 1, sizeof(*ports));
    for (const json *item = list ? list->first : NULL; ports && item; item = item->next) {
        const char *name = json_text_of(item, "name");
        ports[(*out_count)++] =
            (report_port){.name = name,
                          .tensor = json_text(json_member(item, "tensor"), name),
                          .value = REPORT_NONE};
    }
    return ports;
}

/* The network hands out linear values in the host's memory. */
static void find_outputs(report_facts *facts) {
    for (size_t i = 0; i < facts->output_count; i++)
        for (size_t v = 0; v < facts->value_count; v++) {
            const report_value *value = &facts->values[v];
            if (strcmp(value->tensor, facts->outputs[i].tensor) != 0) continue;
            const bool is_it = !value->is_device && strcmp(value->format, "linear") == 0;
            if (is_it || facts->outputs[i].value == REPORT_NONE)
                facts->outputs[i].value = (uint32_t)v;
        }
}

/* A conversion has one shape on both sides, and says it on neither. */
static void share_shape(report_facts *facts, const report_step *step) {
    if (step->kind != REPORT_CONVERSION || step->input_count == 0 || step->output_count == 0)
        return;
    report_value *from = &facts->values[step->inputs[0]], *to = &facts->values[step->outputs[0]];
    if (!from->shape) from->shape = to->shape;
    if (!to->shape) to->shape = from->shape;
}

static void share_shapes(report_facts *facts) {
    for (size_t s = 0; s < facts->step_count; s++)
        share_shape(facts, &facts->steps[s]);
    for (size_t s = facts->step_count; s-- > 0;)
        share_shape(facts, &facts->steps[s]);
}

/* ----------------------------------------------------------------------------------------------
 * the whole */

static size_t count_ports(const report_facts *facts) {
    static const char *const lists[] = {"inputs", "operands", "outputs"};
    size_t count = 0;
    for (size_t s = 0; s < facts->step_count; s++) {
        count += 2;
        for (size_t i = 0; i < 3; i++)
            count += json_count(json_member(facts->steps[s].item, lists[i]));
    }
    return count;
}

static bool read_steps(report_facts *facts) {
    const json *steps = json_member(facts->program, "steps"),
               *nodes = json_member(facts->program, "nodes"),
               *reformats = json_member(facts->program, "reformats");
    const size_t most = json_count(steps) + json_count(nodes) + json_count(reformats) + 1;
    facts->steps = calloc(most, sizeof(*facts->steps));
    if (!facts->steps) return false;
    if (steps) {
        list_items(facts, steps);
    } else {
        list_items(facts, nodes);
        list_items(facts, reformats);
        qsort(facts->steps, facts->step_count, sizeof(*facts->steps), compare_steps);
    }
    const size_t ports = count_ports(facts);
    reader r = {.facts = facts, .slot_count = 2 * ports + 1};
    facts->ports = calloc(ports + 1, sizeof(*facts->ports));
    facts->values = calloc(ports + 1, sizeof(*facts->values));
    r.slots = calloc(r.slot_count, sizeof(*r.slots));
    const bool has_memory = facts->ports && facts->values && r.slots && ports < UINT32_MAX;
    for (size_t s = 0; has_memory && s < facts->step_count; s++)
        read_step(&r, (uint32_t)s);
    if (has_memory) share_shapes(facts);
    free(r.slots);
    return has_memory;
}

bool report_facts_read(const char *text, const char *model, const char *what, report_facts *out) {
    *out = (report_facts){.model = model, .what = what, .tree = json_read(text)};
    out->report = out->tree;
    const json *programs = json_member(out->report, "programs");
    out->program = programs ? json_item(programs, 0) : out->report;
    if (!out->report || out->report->kind != JSON_OBJECT) return false;
    out->inputs = read_network_ports(json_member(out->report, "inputs"), &out->input_count);
    out->outputs = read_network_ports(json_member(out->report, "outputs"), &out->output_count);
    if (!out->inputs || !out->outputs || !read_steps(out)) return false;
    find_outputs(out);
    return true;
}

void report_facts_free(report_facts *facts) {
    free(facts->inputs);
    free(facts->outputs);
    free(facts->steps);
    free(facts->values);
    free(facts->ports);
    json_free(facts->tree);
    *facts = (report_facts){0};
}

void report_step_label(const report_step *step, char *label, size_t bytes) {
    size_t at = (size_t)snprintf(label, bytes, "%s", step->op);
    for (const json *op = step->absorbed_ops ? step->absorbed_ops->first : NULL; op && at < bytes;
         op = op->next)
        at += (size_t)snprintf(label + at, bytes - at, " + %s", json_text(op, ""));
}
