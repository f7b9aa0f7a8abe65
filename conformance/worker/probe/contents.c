/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of outputs; see contents.h. */
#include "worker/probe/contents.h"
#include "base/status.h"
#include "tensor/narrow.h"
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

static tn_status broken(tn_probe *probe, const char *rule, tn_status status) {
    snprintf(probe->rule, sizeof(probe->rule), "%s", rule);
    return status;
}

uint8_t tn_contents_poison(tn_type type, uint8_t poison) {
    const bool is_whole = tn_type_is_integer(type) || tn_narrow_is_integer(type);
    return (uint8_t)(type == TN_BOOL ? poison ^ 0x58 : is_whole ? poison ^ 0xA5 : poison);
}

/* ----------------------------------------------------------------------------------------------
 * padding */

static bool is_all(const char *data, size_t bytes, uint8_t value) {
    for (size_t i = 0; i < bytes; i++)
        if ((uint8_t)data[i] != value) return false;
    return true;
}

static size_t product(const int64_t *extents, uint32_t count) {
    size_t all = 1;
    for (uint32_t i = 0; i < count; i++)
        all *= (size_t)extents[i];
    return all;
}

/* Minus zero is one, too. */
static bool are_zeros(const char *data, tn_type type, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (tn_element_get_f64(data, type, i) != 0) return false;
    return true;
}

/* With C elements along the blocked axis and b in a block, in the order [outer][block][inner][b]:
 * those of the last block from C mod b on lie at ((outer * blocks + blocks - 1) * inner_count +
 * inner) * b. */
static tn_status check_padding(tn_probe *probe, uint32_t index, const char *data, uint8_t poison) {
    const tn_probe_port *port = &probe->outputs[index];
    const uint32_t axis = port->format >> 8 & 0xFF, block = port->format >> 16;
    if ((port->format & 0xFF) != TN_LAYOUT_BLOCKED || block == 0 || axis >= port->shape.rank)
        return TN_OK;
    const size_t count = (size_t)port->shape.extents[axis], used = count % block;
    const size_t blocks = (count + block - 1) / block, size = tn_type_bytes(port->type);
    const size_t outer = product(port->shape.extents, axis),
                 inner = product(port->shape.extents + axis + 1, port->shape.rank - axis - 1);
    for (size_t i = 0; used > 0 && i < outer * inner; i++) {
        const size_t at = ((i / inner * blocks + blocks - 1) * inner + i % inner) * block + used;
        const char *padding = data + at * size;
        const size_t bytes = (block - used) * size;
        if (are_zeros(padding, port->type, block - used)) continue;
        if (is_all(padding - used * size, block * size, poison))
            return broken(probe, "writes-all",
                          tn_fail(TN_ERROR_PLUGIN,
                                  "output %u, the last block along axis %u was not written, "
                                  "elements from %zu of its memory on",
                                  index, axis, at - used));
        return broken(probe, "padding",
                      tn_fail(TN_ERROR_PLUGIN,
                              "%s: output %u has %zu elements along axis %u in blocks of %u, and "
                              "the rest of its last block (element %zu of its memory) is %s: "
                              "padded elements are zero",
                              probe->kernel ? "run" : "reference", index, count, axis, block, at,
                              is_all(padding, bytes, poison) ? "not written" : "not zero"));
    }
    return TN_OK;
}

/* Of a packed type: the bits behind the last element, in the last byte. */
static tn_status check_spare_bits(tn_probe *probe, uint32_t index, const char *data, size_t bytes,
                                  uint8_t poison) {
    const tn_probe_port *port = &probe->outputs[index];
    const uint32_t bits = tn_type_bits(port->type);
    const size_t used = product(port->shape.extents, port->shape.rank) * bits % 8;
    if (!tn_type_is_packed(port->type) || used == 0 || bytes == 0) return TN_OK;
    const uint8_t last = (uint8_t)data[bytes - 1];
    if (last >> used == 0) return TN_OK;
    if (last == poison)
        return broken(probe, "writes-all",
                      tn_fail(TN_ERROR_PLUGIN, "output %u, its last byte was not written", index));
    return broken(
        probe, "padding",
        tn_fail(TN_ERROR_PLUGIN,
                "%s: output %u has %zu bits of type %s in its last byte, which is 0x%02x: "
                "the bits behind the last element are zero",
                probe->kernel ? "run" : "reference", index, used, tn_type_name(port->type), last));
}

/* ----------------------------------------------------------------------------------------------
 * booleans */

static tn_status check_booleans(tn_probe *probe, uint32_t index, const char *data, size_t bytes,
                                uint8_t poison) {
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t value = (uint8_t)data[i];
        if (value <= 1) continue;
        if (value == poison)
            return broken(probe, "writes-all",
                          tn_fail(TN_ERROR_PLUGIN,
                                  "output %u, element %zu was not written (it is "
                                  "%u as before the run)",
                                  index, i, value));
        return broken(probe, "booleans",
                      tn_fail(TN_ERROR_PLUGIN,
                              "%s writes %u into element %zu of output %u: a boolean is 0 or 1",
                              probe->kernel ? "run" : "reference", value, i, index));
    }
    return TN_OK;
}

tn_status tn_contents_check(tn_probe *probe, const tn_probe_memory *memory, uint8_t poison) {
    for (uint32_t i = 0; i < probe->output_count; i++) {
        const tn_probe_port *port = &probe->outputs[i];
        const tn_port *declared = tn_graph_output_port(probe->op, i);
        const tn_guarded *at = tn_probe_memory_output(memory, i);
        if (!port->is_given || port->has_gaps || !declared ||
            (declared->flags & TN_PORT_SIZED_BY_RUN))
            continue;
        const uint8_t before = tn_contents_poison(port->type, poison);
        TN_TRY(check_padding(probe, i, at->data, before));
        TN_TRY(check_spare_bits(probe, i, at->data, at->bytes, before));
        if (port->type == TN_BOOL && port->format == TN_LINEAR)
            TN_TRY(check_booleans(probe, i, at->data, at->bytes, before));
    }
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * unwritten elements */

/* Whether all before an element of an output is as expected. */
static bool is_right_before(const tn_outcome *expected, const tn_outcome *found, uint32_t output,
                            size_t bytes) {
    tn_outcome wanted = *expected, part = *found;
    char why[300];
    if (output >= wanted.count || bytes > wanted.bytes[output]) return true;
    wanted.count = part.count = output + 1;
    wanted.bytes[output] = part.bytes[output] = bytes;
    return tn_results_equal(&wanted, &part, false, why, sizeof(why));
}

bool tn_contents_unwritten(const tn_outcome *expected, const tn_outcome *first,
                           uint8_t first_poison, const tn_outcome *second, uint8_t second_poison,
                           char *why, size_t bytes) {
    for (uint32_t i = 0; i < first->count && i < second->count; i++) {
        const uint32_t bits = tn_type_bits(first->types[i]);
        const size_t size = bits < 8 ? 1 : bits / 8, count = first->bytes[i] / size;
        size_t unwritten = 0, at = 0;
        for (size_t k = 0; k < count && second->bytes[i] == first->bytes[i]; k++) {
            if (!is_all((const char *)first->data[i] + k * size, size,
                        tn_contents_poison(first->types[i], first_poison)) ||
                !is_all((const char *)second->data[i] + k * size, size,
                        tn_contents_poison(first->types[i], second_poison)))
                continue;
            if (unwritten++ == 0) at = k;
        }
        if (unwritten == 0) continue;
        if (!is_right_before(expected, first, i, at * size)) return false;
        snprintf(why, bytes, "output %u, element %zu was not written (nor %zu others of %zu)", i,
                 bits < 8 ? at * (8 / bits) : at, unwritten - 1, count);
        return true;
    }
    return false;
}
