/* SPDX-License-Identifier: Apache-2.0 */
/* tn_graph, see tenon/graph.h, tenon/import.h, tenon/border.h and tenon/describe.h. Part of
 * tenon/tenon.hpp. */
#ifndef TENON_CPP_GRAPH_HPP
#define TENON_CPP_GRAPH_HPP

#include <tenon/border.h>
#include <tenon/cpp/graph_reading.hpp>
#include <tenon/cpp/import.hpp>

namespace tenon {

class Graph : public Owned<tn_graph, tn_graph_destroy>, public GraphReading<Graph> {
  public:
    using Owned::Owned;
    explicit Graph(const Runtime &runtime, std::string_view name = "")
        : Owned(detail::made<tn_graph>([&](tn_graph **out) {
              return tn_graph_create(runtime.get(), detail::text(name).c_str(), out);
          })) {}

    /* Reads a model of any format. */
    static Graph load(const Runtime &runtime, std::string_view path) {
        return load(runtime, path, options<tn_import_options>());
    }
    static Graph load(const Runtime &runtime, std::string_view path,
                      const tn_import_options &options) {
        return made([&](tn_graph **out) {
            return tn_graph_load(runtime.get(), detail::text(path).c_str(), &options, out);
        });
    }
    static Graph load(const Runtime &runtime, std::string_view path, const ImportOptions &options) {
        return options.call([&](const tn_import_options &c) { return load(runtime, path, c); });
    }
    /* The same from memory, which is not needed after the call. */
    static Graph parse(const Runtime &runtime, Bytes model) {
        return parse(runtime, model, options<tn_import_options>());
    }
    static Graph parse(const Runtime &runtime, Bytes model, const tn_import_options &options) {
        return made([&](tn_graph **out) {
            return tn_graph_parse(runtime.get(), model.data, model.bytes, &options, out);
        });
    }
    static Graph parse(const Runtime &runtime, Bytes model, const ImportOptions &options) {
        return options.call([&](const tn_import_options &c) { return parse(runtime, model, c); });
    }
    static Graph load_onnx(const Runtime &runtime, std::string_view path) {
        return made([&](tn_graph **out) {
            return tn_graph_load_onnx(runtime.get(), detail::text(path).c_str(), out);
        });
    }
    /* `folder`, where external data lies, may be null. */
    static Graph parse_onnx(const Runtime &runtime, const void *data, uint64_t bytes,
                            const char *folder = nullptr) {
        return made([&](tn_graph **out) {
            return tn_graph_parse_onnx(runtime.get(), data, bytes, folder, out);
        });
    }
    /* Takes a mean image from an input, whose name may be null where there is one. */
    void load_mean(const char *input, std::string_view path, double scale = 1) {
        check(tn_graph_load_mean(get(), input, detail::text(path).c_str(), scale));
    }
    void subtract_mean(const char *input, const Graph &mean, double scale = 1) {
        check(tn_graph_subtract_mean(get(), input, mean.get(), scale));
    }

    void set_opset(std::string_view domain, uint32_t version) {
        check(tn_graph_set_opset(get(), detail::text(domain).c_str(), version));
    }
    /* `names`, of unknown extents, is empty or as long as `shape`. */
    tn_tensor_id add_input(std::string_view name, tn_type type, const Shape &shape,
                           const std::vector<const char *> &names = {}) {
        if (!names.empty() && names.size() != shape.size())
            throw Error(TN_ERROR_ARGUMENT, "as many names as extents, or none, are needed");
        tn_tensor_id tensor = TN_NO_TENSOR;
        check(tn_graph_add_input(get(), detail::text(name).c_str(), type,
                                 static_cast<uint32_t>(shape.size()), shape.data(),
                                 names.empty() ? nullptr : names.data(), &tensor));
        return tensor;
    }
    /* One that is no dense tensor: TN_KIND_SEQUENCE and so on; key_type of maps. */
    tn_tensor_id add_kind_input(std::string_view name, uint32_t kind, tn_type type,
                                tn_type key_type = TN_NONE) {
        tn_tensor_id tensor = TN_NO_TENSOR;
        check(tn_graph_add_kind_input(get(), detail::text(name).c_str(), kind, key_type, type,
                                      &tensor));
        return tensor;
    }
    tn_tensor_id add_constant(std::string_view name, tn_type type, const Shape &shape,
                              const void *data, uint64_t bytes) {
        tn_tensor_id tensor = TN_NO_TENSOR;
        check(tn_graph_add_constant(get(), detail::text(name).c_str(), type,
                                    static_cast<uint32_t>(shape.size()), shape.data(), data, bytes,
                                    &tensor));
        return tensor;
    }
    std::vector<tn_tensor_id> add_node(const tn_node_description &node) {
        std::vector<tn_tensor_id> outputs(node.output_count, TN_NO_TENSOR);
        check(tn_graph_add_node(get(), &node, outputs.data()));
        return outputs;
    }
    /* A node of one output, of the newest version of an operator. */
    tn_tensor_id add_node(std::string_view op, const std::vector<tn_tensor_id> &inputs,
                          const std::vector<const tn_attribute *> &attributes = {},
                          std::string_view domain = "") {
        const std::string op_text = detail::text(op), domain_text = detail::text(domain);
        tn_node_description node = options<tn_node_description>();
        node.domain = domain_text.c_str();
        node.op = op_text.c_str();
        node.input_count = static_cast<uint32_t>(inputs.size());
        node.inputs = inputs.data();
        node.output_count = 1;
        node.attribute_count = attributes.size();
        node.attributes = attributes.data();
        return add_node(node)[0];
    }
    /* `body` is the graph's from here on. */
    const tn_body_graph *add_body(Graph &&body, uint32_t capture_count) {
        const tn_body_graph *added = nullptr;
        check(tn_graph_add_body(get(), body.get(), capture_count, &added));
        body.give_up();
        return added;
    }
    /* `name` null: the tensor's own. */
    void add_output(tn_tensor_id tensor, const char *name = nullptr) {
        check(tn_graph_add_output(get(), tensor, name));
    }
    void clear_outputs() noexcept { tn_graph_clear_outputs(get()); }
    void set_border(const tn_border &border) { check(tn_graph_set_border(get(), &border)); }
    /* `order` is TN_BORDER_... */
    void set_border(std::string_view name, tn_type type, uint32_t order = TN_BORDER_AS_IS) {
        const std::string name_text = detail::text(name);
        tn_border border = options<tn_border>();
        border.type = type;
        border.name = name_text.c_str();
        border.order = order;
        set_border(border);
    }
    void set_model_info(const tn_model_info &info) { check(tn_graph_set_model_info(get(), &info)); }
    /* A null value removes the entry. */
    void set_metadata(std::string_view key, const char *value) {
        check(tn_graph_set_metadata(get(), detail::text(key).c_str(), value));
    }

  private:
    template <class Create> static Graph made(Create &&create) {
        return Graph(detail::made<tn_graph>(create));
    }
};

} // namespace tenon

#endif
