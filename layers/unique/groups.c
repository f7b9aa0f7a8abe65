/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of Unique from its items in order; see unique.h. */
#include "kit/math/element.h"
#include "unique/unique.h"

uint64_t tn_unique_order_bytes(int64_t count) {
    enum { EACH = 2 * sizeof(int64_t) + sizeof(uint8_t) };
    return count < 0 || count > INT64_MAX / EACH - 64 ? 0
                                                      : ((uint64_t)count * EACH + 127) / 64 * 64;
}

tn_unique_order tn_unique_order_in(void *memory, int64_t count) {
    int64_t *items = memory;
    return (tn_unique_order){
        .items = items, .groups = items + count, .begins = (uint8_t *)(items + 2 * count)};
}

/* groups[item] = the number of its group: by the groups' order, or by that of their first items.
 * Answers how many there are. */
static int64_t number_groups(const tn_unique_order *order, int64_t count, bool is_sorted) {
    int64_t found = 0, first = 0;
    for (int64_t i = 0; i < count; i++)
        order->groups[order->items[i]] = order->begins[i];
    for (int64_t item = 0; item < count && !is_sorted; item++)
        if (order->groups[item]) order->groups[item] = found++;
    for (int64_t i = 0; i < count; i++) {
        const int64_t item = order->items[i];
        if (order->begins[i]) first = is_sorted ? found++ : order->groups[item];
        order->groups[item] = first;
    }
    return found;
}

/* Item `item` of the input becomes item `number` of the output. */
static void copy_item(const tn_call *call, const tn_lanes *lanes, int64_t item, int64_t number,
                      int64_t found) {
    const tn_tensor *x = call->inputs[0], *y = call->outputs[TN_UNIQUE_Y];
    const size_t bytes = (size_t)lanes->inner * tn_element_bytes(x->type);
    for (int64_t outer = 0; outer < lanes->outer; outer++)
        memcpy((char *)y->data + (size_t)(outer * found + number) * bytes,
               (const char *)x->data + (size_t)(outer * lanes->count + item) * bytes, bytes);
}

/* Groups that begin: their first item is that with the lowest number. */
static void write_groups(tn_call *call, const tn_lanes *lanes, const tn_unique_order *order,
                         int64_t found) {
    const tn_tensor *y = tn_infer_output(call, TN_UNIQUE_Y);
    const tn_tensor *indices = tn_infer_output(call, TN_UNIQUE_INDICES);
    const bool has_elements = y && lanes->outer > 0 && lanes->inner > 0;
    for (int64_t i = 0; i < lanes->count; i++) {
        const int64_t item = order->items[i], number = order->groups[item];
        if (!order->begins[i]) continue;
        if (has_elements) copy_item(call, lanes, item, number, found);
        if (indices) ((int64_t *)indices->data)[number] = item;
    }
}

void tn_unique_write(tn_call *call, const tn_lanes *lanes, uint32_t axis,
                     const tn_unique_order *order) {
    const tn_unique_params *params = call->params;
    tn_tensor *const inverse = tn_infer_output(call, TN_UNIQUE_INVERSE);
    tn_tensor *const counts = tn_infer_output(call, TN_UNIQUE_COUNTS);
    const int64_t found = number_groups(order, lanes->count, params->sorted);
    if (tn_infer_output(call, TN_UNIQUE_Y)) call->outputs[TN_UNIQUE_Y]->shape[axis] = found;
    if (tn_infer_output(call, TN_UNIQUE_INDICES))
        call->outputs[TN_UNIQUE_INDICES]->shape[0] = found;
    write_groups(call, lanes, order, found);
    if (inverse && lanes->count > 0)
        memcpy(inverse->data, order->groups, (size_t)lanes->count * sizeof(int64_t));
    if (!counts) return;
    counts->shape[0] = found;
    int64_t *to = counts->data;
    for (int64_t i = 0; i < found; i++)
        to[i] = 0;
    for (int64_t i = 0; i < lanes->count; i++)
        to[order->groups[i]]++;
}
