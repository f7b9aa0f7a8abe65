/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a graph, see tenon/describe.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_GRAPH_READING_HPP
#define TENON_CPP_GRAPH_READING_HPP

#include <tenon/cpp/handle.hpp>
#include <tenon/cpp/items.hpp>
#include <tenon/describe.h>

namespace tenon {

class GraphBody;

/* The methods of Graph and GraphBody that read. */
template <class Self> class GraphReading {
  public:
    uint32_t input_count() const noexcept { return tn_graph_input_count(graph()); }
    uint32_t output_count() const noexcept { return tn_graph_output_count(graph()); }
    /* Null past the end. */
    const tn_port_info *input(uint32_t index) const noexcept {
        return tn_graph_input(graph(), index);
    }
    const tn_port_info *output(uint32_t index) const noexcept {
        return tn_graph_output(graph(), index);
    }
    /* TN_NO_TENSOR past the end. */
    tn_tensor_id input_tensor(uint32_t index) const noexcept {
        return tn_graph_input_tensor(graph(), index);
    }
    tn_tensor_id output_tensor(uint32_t index) const noexcept {
        return tn_graph_output_tensor(graph(), index);
    }
    tn_tensor_id find(std::string_view name) const {
        tn_tensor_id tensor = TN_NO_TENSOR;
        check(tn_graph_find(graph(), detail::text(name).c_str(), &tensor));
        return tensor;
    }

    uint32_t node_count() const noexcept { return tn_graph_node_count(graph()); }
    uint32_t tensor_count() const noexcept { return tn_graph_tensor_count(graph()); }
    tn_node_info node(uint32_t index) const { return node_of(graph(), index); }
    tn_tensor_info tensor(tn_tensor_id tensor) const { return tensor_of(graph(), tensor); }
    /* All of them; each is read when it is reached. */
    Items<tn_node_info> nodes() const noexcept { return {graph(), node_count(), node_of}; }
    Items<tn_tensor_info> tensors() const noexcept { return {graph(), tensor_count(), tensor_of}; }
    GraphBody body(uint32_t node, uint32_t index) const;
    tn_model_info model_info() const {
        tn_model_info info = options<tn_model_info>();
        check(tn_graph_get_model_info(graph(), &info));
        return info;
    }

  private:
    const tn_graph *graph() const noexcept { return static_cast<const Self *>(this)->get(); }
    static tn_node_info node_of(const void *graph, uint64_t index) {
        tn_node_info info = options<tn_node_info>();
        check(tn_graph_get_node(static_cast<const tn_graph *>(graph), static_cast<uint32_t>(index),
                                &info));
        return info;
    }
    static tn_tensor_info tensor_of(const void *graph, uint64_t index) {
        tn_tensor_info info = options<tn_tensor_info>();
        check(tn_graph_get_tensor(static_cast<const tn_graph *>(graph),
                                  static_cast<tn_tensor_id>(index), &info));
        return info;
    }
};

/* A graph in an attribute of a node. It belongs to the graph around it. */
class GraphBody : public GraphReading<GraphBody> {
  public:
    explicit GraphBody(const tn_body_info &info) noexcept : info_(info) {}
    const tn_graph *get() const noexcept { return info_.graph; }
    const char *attribute() const noexcept { return info_.attribute; }
    uint32_t capture_count() const noexcept { return info_.capture_count; }

  private:
    tn_body_info info_;
};

template <class Self> GraphBody GraphReading<Self>::body(uint32_t node, uint32_t index) const {
    tn_body_info info = options<tn_body_info>();
    check(tn_graph_get_body(graph(), node, index, &info));
    return GraphBody(info);
}

} // namespace tenon

#endif
