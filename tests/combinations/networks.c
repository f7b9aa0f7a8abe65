/* SPDX-License-Identifier: Apache-2.0 */
/* The networks: of convolutions, with bodies, with an output of a size that only data decides, with
 * a sequence, on a device, and on a device and the processor in turns. All have an input "x" of any
 * number of rows. */
#include "bodies/ask.h" /* before cmocka's macro `fail`, which is also a member of tn_host */

#include "refit/refit_nets.h"

#include "combination.h"

const char *const net_names[NETS] = {"conv", "bodies", "unknown", "sequences", "stub", "mixed"};

const char *network_device(uint32_t net) {
    return net == NET_STUB || net == NET_MIXED ? "stub" : "cpu";
}

void network_output(uint32_t net, uint32_t output, int64_t rows, uint32_t *out_rank,
                    int64_t *out_shape) {
    const bool is_wide = net == NET_CONV || net == NET_STUB || net == NET_MIXED;
    const bool is_map = is_wide && output == 1, is_flat = net == NET_UNKNOWN && output == 0;
    const int64_t shape[4] = {is_flat ? rows * 8 : rows, is_wide && !is_map ? 10 : 8, 8, 8};
    *out_rank = is_map ? 4 : is_flat ? 1 : 2;
    memcpy(out_shape, shape, sizeof(shape));
}

tn_library *combination_ask(const tn_host *host);
tn_library *combination_ask(const tn_host *host) {
    return ask_entry(host);
}

static tn_tensor_id kept(tn_graph *graph, tn_tensor_id x, int64_t width, uint32_t seed) {
    const tn_tensor_id w = net_constant(graph, "kept", seed, 0, 1, SHAPE(width));
    return net_node_of(graph, "Test", 1, "Keep", "keep", 2, IDS(x, w), 0, NULL);
}

static tn_tensor_id classify(tn_graph *graph, tn_tensor_id x, int64_t width, uint32_t seed) {
    const tn_tensor_id w = net_constant(graph, "fc.w", seed, 0, 2, SHAPE(width, 10)),
                       b = net_constant(graph, "fc.b", seed, 0, 1, SHAPE(10));
    x = net_node(graph, "Flatten", "flatten", 1, IDS(x));
    return net_node(graph, "Gemm", "fc", 3, IDS(x, w, b));
}

static tn_tensor_id convolve(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 4, SHAPE(-1, 3, 8, 8));
    const tn_tensor_id y = net_conv(graph, "conv", x, 3, 8, seed);
    return net_node(graph, "Relu", "relu", 1, IDS(y));
}

static void make_conv(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id z = convolve(graph, seed);
    tn_tensor_id y = net_conv(graph, "conv2", z, 8, 8, seed);
    y = net_node(graph, "GlobalAveragePool", "mean", 1, IDS(y));
    y = kept(graph, classify(graph, y, 8, seed), 10, seed);
    must(tn_graph_add_output(graph, y, "y"));
    must(tn_graph_add_output(graph, z, "z"));
}

static void make_bodies(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(-1, 8));
    tn_tensor_id go = TN_NO_TENSOR;
    must(tn_graph_add_input(graph, "go", TN_BOOL, 0, NULL, NULL, &go));
    const tn_tensor_id before = net_node(
        graph, "Add", "before", 2, IDS(x, net_constant(graph, "common", seed, 0, 1, SHAPE(8))));
    const tn_attribute attributes[] = {net_graph("then_branch", net_branch(graph, "yes", seed)),
                                       net_graph("else_branch", net_branch(graph, "no", seed))};
    tn_tensor_id y =
        net_node_of(graph, "Test", 1, "If", "if", 3, IDS(go, before, before), 2, attributes);
    must(tn_graph_add_output(graph, net_node(graph, "Relu", "relu", 1, IDS(y)), "y"));
}

/* y: those above 0 of all numbers. */
static void make_unknown(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(-1, 8));
    const int64_t all = -1;
    tn_tensor_id shape = TN_NO_TENSOR;
    must(tn_graph_add_constant(graph, "all", TN_I64, 1, SHAPE(1), &all, sizeof(all), &shape));
    tn_tensor_id y = net_node(graph, "MatMul", "product", 2,
                              IDS(x, net_constant(graph, "w", seed, 0, 2, SHAPE(8, 8))));
    y = kept(graph, y, 8, seed);
    const tn_tensor_id flat = net_node(graph, "Reshape", "flat", 2, IDS(y, shape));
    const tn_tensor_id above =
        net_node_of(graph, "ask", 1, "Above", "above", 1, IDS(flat), 0, NULL);
    must(tn_graph_add_output(graph, net_node(graph, "Relu", "relu", 1, IDS(above)), "y"));
    must(tn_graph_add_output(graph, y, "z"));
}

static void make_sequences(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id x = net_input(graph, 2, SHAPE(-1, 8));
    const int64_t one = 1;
    tn_tensor_id at = TN_NO_TENSOR;
    must(tn_graph_add_constant(graph, "one", TN_I64, 0, NULL, &one, sizeof(one), &at));
    const tn_tensor_id a = net_node(graph, "MatMul", "product", 2,
                                    IDS(x, net_constant(graph, "w", seed, 0, 2, SHAPE(8, 8))));
    const tn_tensor_id list =
        net_node_of(graph, "Test", 1, "SequenceConstruct", "list", 2, IDS(x, a), 0, NULL);
    const tn_tensor_id y =
        net_node_of(graph, "Test", 1, "SequenceAt", "at", 2, IDS(list, at), 0, NULL);
    must(tn_graph_add_output(graph, kept(graph, y, 8, seed), "y"));
}

static void make_stub(tn_graph *graph, uint32_t seed) {
    const tn_tensor_id z = convolve(graph, seed);
    const tn_tensor_id y = net_node(graph, "Relu", "relu2", 1,
                                    IDS(classify(graph, net_pool(graph, "pool", z), 128, seed)));
    must(tn_graph_add_output(graph, y, "y"));
}

/* The device, the processor, and the device again. */
static void make_mixed(tn_graph *graph, uint32_t seed) {
    tn_tensor_id y = net_node(graph, "Sigmoid", "sigmoid", 1, IDS(convolve(graph, seed)));
    const tn_tensor_id z = net_conv(graph, "conv2", y, 8, 8, seed);
    y = kept(graph, classify(graph, net_pool(graph, "pool", z), 128, seed), 10, seed);
    must(tn_graph_add_output(graph, net_node(graph, "Relu", "relu2", 1, IDS(y)), "y"));
    must(tn_graph_add_output(graph, z, "z"));
}

tn_graph *make_network(tn_runtime *runtime, uint32_t net, uint32_t seed) {
    static const net_maker makers[NETS] = {make_conv,      make_bodies, make_unknown,
                                           make_sequences, make_stub,   make_mixed};
    return net_make(runtime, makers[net], seed);
}
