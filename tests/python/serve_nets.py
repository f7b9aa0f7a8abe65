# SPDX-License-Identifier: Apache-2.0
"""Small plans that the tests of serving make."""

import tenon


def scale(path, factor, least=1, most=8):
    """y = factor * x, x (n, 4) of f32."""
    graph = tenon.Graph()
    graph.output(graph.input("x", "f32", ("n", 4)) * factor, "y")
    graph.build({"x": [(least, 4), (min(4, most), 4), (most, 4)]}, timing=False).save(path)
    return path


def over_rows(path):
    """y = x - max over axis 0: rows that are joined change each other."""
    graph = tenon.Graph()
    x = graph.input("x", "f32", ("n", 4))
    graph.output(x - graph.add("ReduceMax", [x, graph.constant([0], "i64")], keepdims=1), "y")
    graph.build({"x": [(1, 4), (2, 4), (8, 4)]}, timing=False).save(path)
    return path


def plugin():
    """An operator from source text: y = x + 1."""
    return tenon.Plugin("Served::Next", forward="""
        for (int64_t i = 0; i < tn_layer_count(x); i++)
            ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;""")


def with_plugin(path, layer):
    """y of x, by the operator."""
    graph = tenon.Graph(plugins=[layer])
    graph.output(graph.add(layer, [graph.input("x", "f32", ("n", 4))]), "y")
    graph.build({"x": [(1, 4), (4, 4), (8, 4)]}, timing=False).save(path)
    return path


def with_list(path):
    """A list of x and -x beside their sum."""
    graph = tenon.Graph()
    x = graph.input("x", "f32", (1, 4))
    graph.output(graph.add("SequenceConstruct", [x, -x]), "both")
    graph.build(timing=False).save(path)
    return path


def trouble():
    """An operator that takes 50 ms, y = 2 x, and does what x[0] says: 666 breaks it for the rest of the process, 777 never returns, 888 ends
    the process."""
    return tenon.Plugin("Served::Trouble", headers=["signal.h", "unistd.h"], extra_src="static int is_broken;", forward="""
        const float *from = x->data;
        is_broken |= from[0] == 666;
        while (from[0] == 777)
            usleep(1000);
        if (from[0] == 888)
            raise(SIGKILL);
        usleep(50000);
        for (int64_t i = 0; i < tn_layer_count(x); i++)
            ((float *)y->data)[i] = 2 * from[i];
        if (is_broken)
            return call->host->fail(call, TN_ERROR_INTERNAL, "broken"), TN_ERROR_INTERNAL;""")
