/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: "Op=kernel[,Op=kernel...]" says by which kernel an operator's nodes are to be done, to find
 * faults and to measure. Op may carry its domain ("Test::Blur"), the kernel its library
 * ("onednn/conv"); the kernel "reference" is the operator's reference. A node that the pinned
 * kernel does not take is chosen for as if there were no pin, and the log says so.
 */
#include "base/status.h"
#include "base/text.h"
#include "builder/lower/lower_pins.h"
#include "builder/lower/lower_facts.h"

#include <string.h>

struct tn_lower_pins {
    tn_lower_pin *items;
    size_t count;
};

static tn_status parse_pin(char *text, tn_lower_pin *out_pin) {
    char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0')
        return tn_fail(TN_ERROR_ARGUMENT,
                       "the pinned kernel '%s' is not of the form Op=kernel[,Op=kernel...]", text);
    *equals = '\0';
    *out_pin = (tn_lower_pin){.op = text, .kernel = equals + 1};
    return TN_OK;
}

tn_status tn_lower_pins_parse(tn_lowering *lowering) {
    const char *forced = lowering->options->forced;
    if (!forced || !*forced) return TN_OK;
    char *text = tn_arena_text(lowering->arena, forced);
    struct tn_lower_pins *pins = tn_arena_allocate(lowering->arena, 1, sizeof *pins);
    if (!text || !pins) return tn_fail_memory("the pinned kernels");
    pins->items = tn_arena_allocate(lowering->arena, strlen(forced) + 1, sizeof *pins->items);
    if (!pins->items) return tn_fail_memory("the pinned kernels");
    lowering->pins = pins;
    while (text) {
        char *comma = strchr(text, ',');
        if (comma) *comma = '\0';
        TN_TRY(parse_pin(text, &pins->items[pins->count]));
        pins->count++;
        text = comma ? comma + 1 : NULL;
    }
    return TN_OK;
}

static bool names_operator(const char *name, const tn_operator *op) {
    size_t domain = op->domain ? strlen(op->domain) : 0;
    if (strcmp(name, op->name) == 0) return true;
    return domain > 0 && strncmp(name, op->domain, domain) == 0 &&
           strncmp(name + domain, "::", 2) == 0 && strcmp(name + domain + 2, op->name) == 0;
}

const tn_lower_pin *tn_lower_pin_of(const tn_lowering *lowering, const tn_operator *op) {
    for (size_t i = 0; lowering->pins && i < lowering->pins->count; i++)
        if (names_operator(lowering->pins->items[i].op, op)) return &lowering->pins->items[i];
    return NULL;
}

bool tn_lower_pin_fits(const tn_lower_pin *pin, const tn_kernel_entry *entry) {
    size_t library = strlen(entry->library->name);
    if (strcmp(pin->kernel, entry->kernel->name) == 0) return true;
    return strncmp(pin->kernel, entry->library->name, library) == 0 &&
           pin->kernel[library] == '/' &&
           strcmp(pin->kernel + library + 1, entry->kernel->name) == 0;
}

static tn_status fail_unknown(tn_lowering *lowering, const tn_lower_pin *pin,
                              const tn_lower_kernels *kernels) {
    tn_text names;
    tn_text_init(&names, lowering->graph->allocator);
    for (uint32_t i = 0; i < kernels->count; i++)
        tn_text_add_format(&names, "%s, ", kernels->entries[i]->kernel->name);
    tn_text_add(&names, "reference");
    tn_status status = names.is_failed
                           ? tn_fail_memory("the pinned kernels")
                           : tn_fail(TN_ERROR_NOT_FOUND,
                                     "operator %s has no kernel '%s' to be pinned here; it has: %s",
                                     pin->op, pin->kernel, names.data);
    tn_text_deinit(&names);
    return status;
}

/* Whether some node's operator that the pin is of has a kernel of its name. */
static bool is_known(const tn_lowering *lowering, const tn_lower_pin *pin) {
    for (const tn_lower_kernels *each = lowering->kernels; each; each = each->next)
        for (uint32_t k = 0; tn_lower_pin_of(lowering, each->op) == pin && k < each->count; k++)
            if (tn_lower_pin_fits(pin, each->entries[k])) return true;
    return false;
}

tn_status tn_lower_pins_check(tn_lowering *lowering) {
    for (const tn_lower_kernels *each = lowering->kernels; each; each = each->next) {
        const tn_lower_pin *pin = tn_lower_pin_of(lowering, each->op);
        if (pin && strcmp(pin->kernel, "reference") != 0 && !is_known(lowering, pin))
            return fail_unknown(lowering, pin, each);
    }
    return TN_OK;
}
