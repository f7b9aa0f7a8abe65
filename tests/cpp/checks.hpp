/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of tenon/tenon.hpp share: checks, and a network. */
#ifndef TENON_TESTS_CPP_CHECKS_HPP
#define TENON_TESTS_CPP_CHECKS_HPP

#include <cstdio>
#include <cstring>
#include <tenon/tenon.hpp>

inline int failed;
inline void check_that(bool is_true, const char *condition, int line) {
    if (is_true) return;
    std::fprintf(stderr, "line %d: not so: %s\n", line, condition);
    failed++;
}
#define CHECK_THAT(condition) check_that((condition), #condition, __LINE__)

/* The status that `function` throws; TN_OK: none. */
template <class Function> tn_status thrown_by(Function &&function) {
    try {
        function();
    } catch (const tenon::Error &error) {
        CHECK_THAT(*error.message() && std::strstr(error.what(), error.message()) &&
                   std::strstr(error.what(), error.where()));
        return error.status();
    }
    return TN_OK;
}

/* y = relu(x + x) of 4 floats. */
inline tenon::Graph network(const tenon::Runtime &runtime) {
    tenon::Graph graph(runtime, "doubled");
    const tn_tensor_id x = graph.add_input("x", TN_F32, {4});
    graph.add_output(graph.add_node("Relu", {graph.add_node("Add", {x, x})}), "y");
    return graph;
}

#endif
