/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of tensors and weights in oneDNN's words, 2 and 3; see dnnl.h. */
#include "onednn/dnnl.h"

#include <string.h>

/* FNV-1a, 64 bits. */
uint64_t tn_dnnl_hash(uint64_t hash, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return hash;
}

/* As 16 letters. */
static void write_key(uint64_t hash, char *key) {
    key[0] = (char)('0' + DNNL_VERSION_MAJOR);
    for (int i = 0; i < 16; i++)
        key[1 + i] = (char)('a' + (hash >> (4 * i) & 15));
    key[17] = 0;
}

#if DNNL_VERSION_MAJOR >= 3

bool tn_dnnl_layout_make(tn_dnnl_layout *layout, dnnl_data_type_t type, int rank,
                         const int64_t *shape, dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {0};
    tn_dnnl_layout_clear(layout);
    memcpy(dims, shape, (size_t)rank * sizeof(*dims));
    if (dnnl_memory_desc_create_with_tag(&layout->desc, rank, dims, type, tag) == dnnl_success)
        return true;
    layout->desc = NULL;
    return false;
}

bool tn_dnnl_layout_copy(tn_dnnl_layout *layout, tn_dnnl_view view) {
    tn_dnnl_layout_clear(layout);
    if (view && dnnl_memory_desc_clone(&layout->desc, view) == dnnl_success) return true;
    layout->desc = NULL;
    return false;
}

void tn_dnnl_layout_clear(tn_dnnl_layout *layout) {
    if (layout->desc) dnnl_memory_desc_destroy(layout->desc);
    layout->desc = NULL;
}

tn_dnnl_view tn_dnnl_layout_view(const tn_dnnl_layout *layout) {
    return layout->desc;
}

/* Only blocked layouts tell what they are. */
bool tn_dnnl_layout_key(const tn_dnnl_layout *layout, char *key) {
    const dnnl_query_t lists[] = {dnnl_query_dims, dnnl_query_padded_dims, dnnl_query_strides};
    const dnnl_query_t inner[] = {dnnl_query_inner_blks, dnnl_query_inner_idxs};
    dnnl_format_kind_t kind;
    int rank = 0, blocks = 0;
    uint64_t hash = TN_DNNL_HASH_BASIS;
    if (dnnl_memory_desc_query(layout->desc, dnnl_query_format_kind, &kind) != dnnl_success ||
        kind != dnnl_blocked ||
        dnnl_memory_desc_query(layout->desc, dnnl_query_ndims_s32, &rank) != dnnl_success ||
        dnnl_memory_desc_query(layout->desc, dnnl_query_inner_nblks_s32, &blocks) != dnnl_success)
        return false;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const dnnl_dims_t *dims = NULL;
        if (dnnl_memory_desc_query(layout->desc, lists[i], (void *)&dims) != dnnl_success || !dims)
            return false;
        hash = tn_dnnl_hash(hash, dims, (size_t)rank * sizeof(dnnl_dim_t));
    }
    for (size_t i = 0; blocks > 0 && i < sizeof(inner) / sizeof(*inner); i++) {
        const dnnl_dims_t *dims = NULL;
        if (dnnl_memory_desc_query(layout->desc, inner[i], (void *)&dims) != dnnl_success || !dims)
            return false;
        hash = tn_dnnl_hash(hash, dims, (size_t)blocks * sizeof(dnnl_dim_t));
    }
    write_key(hash, key);
    return true;
}

#else

bool tn_dnnl_layout_make(tn_dnnl_layout *layout, dnnl_data_type_t type, int rank,
                         const int64_t *shape, dnnl_format_tag_t tag) {
    dnnl_dims_t dims = {0};
    memcpy(dims, shape, (size_t)rank * sizeof(*dims));
    layout->is_set =
        dnnl_memory_desc_init_by_tag(&layout->desc, rank, dims, type, tag) == dnnl_success;
    return layout->is_set;
}

bool tn_dnnl_layout_copy(tn_dnnl_layout *layout, tn_dnnl_view view) {
    layout->is_set = view != NULL;
    if (view) layout->desc = *view;
    return layout->is_set;
}

void tn_dnnl_layout_clear(tn_dnnl_layout *layout) {
    layout->is_set = false;
}

tn_dnnl_view tn_dnnl_layout_view(const tn_dnnl_layout *layout) {
    return layout->is_set ? &layout->desc : NULL;
}

bool tn_dnnl_layout_key(const tn_dnnl_layout *layout, char *key) {
    write_key(tn_dnnl_hash(TN_DNNL_HASH_BASIS, &layout->desc, sizeof(layout->desc)), key);
    return true;
}

#endif

bool tn_dnnl_layout_of(tn_dnnl_layout *layout, const tn_tensor *tensor, int64_t parts) {
    static const struct {
        tn_format format;
        dnnl_format_tag_t tag;
    } tags[] = {
        {TN_LINEAR, dnnl_abcd}, {TN_NHWC, dnnl_acdb}, {TN_C8, dnnl_aBcd8b}, {TN_C16, dnnl_aBcd16b}};
    static const struct {
        tn_type type;
        dnnl_data_type_t same;
    } types[] = {{TN_F32, dnnl_f32}, {TN_U8, dnnl_u8}, {TN_I8, dnnl_s8}};
    dnnl_data_type_t type = dnnl_data_type_undef;
    if (!tensor || tensor->rank != 4 || tensor->quantization) return false;
    for (size_t i = 0; i < TN_COUNT(types); i++)
        if (types[i].type == tensor->type) type = types[i].same;
    if (type == dnnl_data_type_undef) return false;
    const int64_t shape[] = {tensor->shape[0] / parts, tensor->shape[1], tensor->shape[2],
                             tensor->shape[3]};
    for (int i = 0; i < 4; i++)
        if (shape[i] < 1) return false;
    for (size_t i = 0; i < TN_COUNT(tags); i++)
        if (tags[i].format == tensor->format)
            return tn_dnnl_layout_make(layout, type, 4, shape, tags[i].tag);
    return false;
}
