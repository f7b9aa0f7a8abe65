/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of axes, and UFF's dimension orders: which axis of a node's input plays which part. A
 * dimension order is a list of the tensor's axes: 0 is N (of weights: K), 1 is C, numbers
 * from 2 on are spatial axes, and a pair with INCREMENT or DECREMENT stands for all spatial axes
 * upwards or downwards. The list is decoded by these numbers; the text of the key is never read.
 */
#include "base/status.h"
#include "importers/uff/uff.h"

#include <inttypes.h>

#define ORDER_INCREMENT INT32_MAX
#define ORDER_DECREMENT INT32_MIN
#define ORDER_KEY       (-1)

tn_uff_order tn_uff_order_plain(void) {
    tn_uff_order order;
    for (uint32_t i = 0; i < TN_MAX_RANK; i++)
        order.axes[i] = (uint8_t)i;
    return order;
}

bool tn_uff_order_equal(const tn_uff_order *a, const tn_uff_order *b, uint32_t rank) {
    for (uint32_t i = 0; i < rank; i++)
        if (a->axes[i] != b->axes[i]) return false;
    return true;
}

uint32_t tn_uff_order_find(const tn_uff_order *order, uint32_t axis) {
    uint32_t position = 0;
    while (position < TN_MAX_RANK - 1 && order->axes[position] != axis)
        position++;
    return position;
}

/* Notes that the next axis of the tensor plays a part; false when it was played already. */
static bool add_part(tn_uff_order *order, uint32_t rank, uint32_t *parts, uint32_t *axis,
                     int64_t part) {
    if (part < 0 || part >= rank || *axis >= rank || (*parts >> part & 1)) return false;
    *parts |= 1u << part;
    order->axes[part] = (uint8_t)(*axis)++;
    return true;
}

/* Spatial axes are 2 to rank-1. */
static bool add_spatial(tn_uff_order *order, uint32_t rank, uint32_t *parts, uint32_t *axis,
                        bool is_upward) {
    for (uint32_t part = 2; part < rank; part++)
        if (!add_part(order, rank, parts, axis, is_upward ? part : rank + 1 - part)) return false;
    return true;
}

static bool decode(size_t count, const int64_t *list, uint32_t rank, tn_uff_order *out_order) {
    tn_uff_order order = tn_uff_order_plain();
    uint32_t parts = 0, axis = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t next = i + 1 < count ? list[i + 1] : 0;
        const bool is_upward = list[i] == 2 && next == ORDER_INCREMENT;
        const bool is_pair = is_upward || (list[i] == ORDER_DECREMENT && next == 2);
        if (is_pair ? !add_spatial(&order, rank, &parts, &axis, is_upward)
                    : !add_part(&order, rank, &parts, &axis, list[i]))
            return false;
        i += is_pair;
    }
    if (axis != rank) return false;
    *out_order = order;
    return true;
}

/* The list of a dimension order: the entry with key -1, of which older writers keep 32 bits. */
static const Tenon__Uff__ListInt64 *find_list(const Tenon__Uff__DimensionOrders *orders) {
    for (size_t i = 0; i < orders->n_orders; i++)
        if ((int32_t)(uint32_t)(uint64_t)orders->orders[i]->key == ORDER_KEY)
            return orders->orders[i]->value;
    return NULL;
}

/* The list for an input, or null when the node says nothing of it. */
static tn_status find_orders(const tn_uff_call *call, uint32_t index,
                             const Tenon__Uff__ListInt64 **out_list) {
    const tn_uff_data *data;
    *out_list = NULL;
    TN_TRY(tn_uff_field_find(call, "inputs_orders", &data));
    if (!data) return TN_OK;
    if (data->dim_orders && index == 0) *out_list = find_list(data->dim_orders);
    if (data->dim_orders_list && index < data->dim_orders_list->n_val)
        *out_list = find_list(data->dim_orders_list->val[index]);
    if (!data->dim_orders && !data->dim_orders_list)
        return tn_fail(TN_ERROR_FORMAT, "field 'inputs_orders' holds no dimension orders");
    return TN_OK;
}

tn_status tn_uff_order_read(const tn_uff_call *call, uint32_t index, uint32_t rank,
                            tn_uff_order *out_order) {
    const Tenon__Uff__ListInt64 *list;
    TN_TRY(find_orders(call, index, &list));
    if (!list) {
        *out_order = tn_uff_order_plain();
        return TN_OK;
    }
    if (decode(list->n_val, list->val, rank, out_order)) return TN_OK;
    return tn_fail(TN_ERROR_FORMAT,
                   "field 'inputs_orders' does not fit input %" PRIu32 ", which has %" PRIu32
                   " axes",
                   index, rank);
}

bool tn_uff_order_is_channels_last(const tn_uff_call *call) {
    const Tenon__Uff__ListInt64 *list;
    if (find_orders(call, 0, &list) != TN_OK) {
        tn_error_clear();
        return false;
    }
    /* N, all spatial axes, C: the last number is C's, and there are spatial axes before it */
    return list && list->n_val == 4 && list->val[3] == 1;
}
