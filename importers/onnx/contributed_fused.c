/* SPDX-License-Identifier: Apache-2.0 */
/* Contributed products and convolutions with what onnxruntime's optimizer has fused into them; see
 * contributed.h. */
#include "importers/onnx/contributed.h"

/* ----------------------------------------------------------------------------------------------
 * activations: a name, and up to three numbers in the order of the operator's own attributes */

enum { NUMBERS = 3 };

typedef struct activation {
    const char *op; /* null: none */
    double numbers[NUMBERS];
    uint32_t number_count; /* that the node gives */
} activation;

static const struct {
    const char *op;
    uint32_t version, number_count;
    const char *names[NUMBERS]; /* attributes; null: inputs */
    double defaults[NUMBERS];
} activations[] = {
    {"Relu", 14, 0, {0}, {0}},
    {"Sigmoid", 13, 0, {0}, {0}},
    {"Tanh", 13, 0, {0}, {0}},
    {"Softplus", 1, 0, {0}, {0}},
    {"Softsign", 1, 0, {0}, {0}},
    {"HardSwish", 14, 0, {0}, {0}},
    {"LeakyRelu", 16, 1, {"alpha"}, {0.009999999776482582}},
    {"Elu", 6, 1, {"alpha"}, {1}},
    {"ThresholdedRelu", 10, 1, {"alpha"}, {1}},
    {"HardSigmoid", 6, 2, {"alpha", "beta"}, {0.20000000298023224, 0.5}},
    {"Selu", 6, 2, {"alpha", "gamma"}, {1.6732631921768188, 1.0507010221481323}},
    {"Clip", 13, 2, {NULL, NULL}, {-3.4028234663852886e38, 3.4028234663852886e38}},
};

static tn_import_tensor activated(tn_contributed *node, tn_import_tensor x,
                                  const activation *with) {
    if (!with->op || !*with->op) return x;
    for (size_t i = 0; i < sizeof(activations) / sizeof(activations[0]); i++) {
        double numbers[NUMBERS] = {0};
        tn_attribute fields[NUMBERS];
        if (strcmp(activations[i].op, with->op) != 0) continue;
        const uint32_t count = activations[i].number_count;
        for (uint32_t k = 0; k < count; k++) {
            numbers[k] = k < with->number_count ? with->numbers[k] : activations[i].defaults[k];
            if (activations[i].names[k])
                fields[k] = tn_emit_f64(activations[i].names[k], numbers[k]);
        }
        if (count == 0 || activations[i].names[0])
            return tn_contributed_emit(node, with->op, activations[i].version, TN_TENSORS(x), count,
                                       fields);
        const tn_import_tensor low = tn_contributed_like(node, numbers[0], x);
        const tn_import_tensor high = tn_contributed_like(node, numbers[1], x);
        return TN_CONTRIBUTED_PLAIN(node, with->op, activations[i].version, x, low, high);
    }
    tn_contributed_refuse(node,
                          tn_arena_format(node->emit.arena, "with the activation '%s'", with->op));
    return x;
}

static const char *activation_name(const tn_contributed *node) {
    const tn_attribute *name = tn_contributed_attribute(node, "activation");
    return name && name->type == TN_FIELD_STRING ? name->s : NULL;
}

/* ----------------------------------------------------------------------------------------------
 * convolutions */

/* Conv, a sum with input 3, an activation. */
void tn_contributed_fused_conv(tn_contributed *node) {
    const tn_attribute *numbers = tn_contributed_attribute(node, "activation_params");
    activation with = {.op = activation_name(node)};
    tn_attribute fields[TN_EMIT_FIELDS];
    size_t count = 0;
    if (numbers && numbers->type == TN_FIELD_F32S)
        for (uint64_t i = 0; i < numbers->count && i < NUMBERS; i++)
            with.numbers[with.number_count++] = ((const float *)numbers->items)[i];
    for (uint64_t i = 0; i < node->attribute_count && count < TN_EMIT_FIELDS; i++)
        if (strncmp(node->attributes[i]->name, "activation", strlen("activation")) != 0)
            fields[count++] = *node->attributes[i];
    const tn_import_tensor y =
        tn_contributed_emit(node, "Conv", 11,
                            TN_TENSORS(tn_contributed_input(node, 0), tn_contributed_input(node, 1),
                                       tn_contributed_input(node, 2)),
                            count, fields);
    const tn_import_tensor sum = tn_contributed_add(node, y, tn_contributed_input(node, 3));
    tn_contributed_output(node, 0, activated(node, sum, &with));
}

/* ----------------------------------------------------------------------------------------------
 * products */

/* Gemm and an activation, whose numbers come in the attributes' order. */
void tn_contributed_fused_gemm(tn_contributed *node) {
    static const char *const names[NUMBERS] = {"activation_alpha", "activation_beta",
                                               "activation_gamma"};
    activation with = {.op = activation_name(node)};
    for (uint32_t i = 0; i < NUMBERS; i++) {
        const tn_attribute *number = tn_contributed_attribute(node, names[i]);
        if (number) with.numbers[with.number_count++] = tn_contributed_number(node, names[i], 0);
    }
    const tn_import_tensor y =
        TN_CONTRIBUTED(node, "Gemm", 13,
                       TN_TENSORS(tn_contributed_input(node, 0), tn_contributed_input(node, 1),
                                  tn_contributed_input(node, 2)),
                       tn_emit_f64("alpha", tn_contributed_number(node, "alpha", 1)),
                       tn_emit_f64("beta", tn_contributed_number(node, "beta", 1)),
                       tn_emit_i64("transA", tn_contributed_integer(node, "transA", 0)),
                       tn_emit_i64("transB", tn_contributed_integer(node, "transB", 0)));
    tn_contributed_output(node, 0, activated(node, y, &with));
}

/* A factor of FusedMatMul: with `batch_flag` its first axis goes behind those of the batch, with
 * `flag` the last two are swapped. By Einsum where the file does not say how many axes there are.
 */
static tn_import_tensor transposed(tn_contributed *node, uint32_t input, const char *flag,
                                   const char *batch_flag) {
    int64_t order[TN_MAX_RANK];
    const bool by_batch = tn_contributed_integer(node, batch_flag, 0) != 0;
    const bool is_swapped = tn_contributed_integer(node, flag, 0) != 0;
    const tn_import_tensor x = tn_contributed_input(node, input);
    if (!by_batch && !is_swapped) return x;
    const tn_import_tensor_info info = tn_import_tensor_at(node->emit.graph, x);
    if (info.type == TN_NONE || info.rank < 2 || info.rank > TN_MAX_RANK) {
        const char *equation = !by_batch    ? "...ij->...ji"
                               : is_swapped ? "i...j->...ji"
                                            : "i...j->...ij";
        return TN_CONTRIBUTED(node, "Einsum", 12, TN_TENSORS(x),
                              tn_emit_text("equation", equation));
    }
    for (uint32_t i = 0; i < info.rank; i++)
        order[i] = i;
    for (uint32_t i = 0; by_batch && i + 2 < info.rank; i++) {
        order[i] = i + 1;
        order[i + 1] = 0;
    }
    if (is_swapped) {
        const int64_t last = order[info.rank - 1];
        order[info.rank - 1] = order[info.rank - 2];
        order[info.rank - 2] = last;
    }
    return TN_CONTRIBUTED(node, "Transpose", 13, TN_TENSORS(x),
                          tn_emit_i64s("perm", info.rank, order));
}

void tn_contributed_fused_mat_mul(tn_contributed *node) {
    const double alpha = tn_contributed_number(node, "alpha", 1);
    const tn_import_tensor a = transposed(node, 0, "transA", "transBatchA");
    const tn_import_tensor b = transposed(node, 1, "transB", "transBatchB");
    tn_import_tensor y = TN_CONTRIBUTED_PLAIN(node, "MatMul", 13, a, b);
    if (alpha != 1) {
        const tn_import_tensor factor = tn_contributed_like(node, alpha, y);
        y = TN_CONTRIBUTED_PLAIN(node, "Mul", 14, y, factor);
    }
    tn_contributed_output(node, 0, y);
}
