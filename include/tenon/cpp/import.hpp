/* SPDX-License-Identifier: Apache-2.0 */
/* How models are read, see tenon/import.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_IMPORT_HPP
#define TENON_CPP_IMPORT_HPP

#include <tenon/cpp/runtime.hpp>
#include <tenon/import.h>

namespace tenon {

/* tn_import_options that has its texts: ImportOptions().set("weights", "net.caffemodel"). */
class ImportOptions {
  public:
    ImportOptions &format(std::string_view name) {
        format_ = detail::text(name);
        return *this;
    }
    ImportOptions &folder(std::string_view path) {
        folder_ = detail::text(path);
        has_folder_ = true;
        return *this;
    }
    /* Reads in a helper process (TN_IMPORT_ISOLATED), which may take so long (0: the default) and
     * so much memory. */
    ImportOptions &isolated(std::uint32_t limit_ms = 0, std::uint64_t memory = 0) {
        is_isolated_ = true;
        limit_ms_ = limit_ms;
        memory_ = memory;
        return *this;
    }
    /* An option of the importer's; texts serve for each, whatever its type. */
    ImportOptions &set(std::string_view name, std::string_view value) {
        texts_.emplace_back(detail::text(name), detail::text(value));
        return *this;
    }
    /* Calls `function` with the struct of C, which lives until it returns. */
    template <class Function> auto call(Function &&function) const {
        std::vector<tn_attribute> attributes(texts_.size(), options<tn_attribute>());
        std::vector<const tn_attribute *> list;
        for (std::size_t i = 0; i < texts_.size(); i++) {
            attributes[i].type = TN_FIELD_STRING;
            attributes[i].name = texts_[i].first.c_str();
            attributes[i].s = texts_[i].second.c_str();
            list.push_back(&attributes[i]);
        }
        tn_import_options all = options<tn_import_options>();
        all.format = format_.empty() ? nullptr : format_.c_str();
        all.folder = has_folder_ ? folder_.c_str() : nullptr;
        all.flags = is_isolated_ ? TN_IMPORT_ISOLATED : 0;
        all.isolation_limit_ms = limit_ms_;
        all.isolation_memory = memory_;
        all.option_count = list.size();
        all.options = list.data();
        return function(static_cast<const tn_import_options &>(all));
    }

  private:
    std::string format_, folder_;
    bool has_folder_ = false, is_isolated_ = false;
    std::uint32_t limit_ms_ = 0;
    std::uint64_t memory_ = 0;
    std::vector<std::pair<std::string, std::string>> texts_;
};

/* The importer that would read a file. */
inline const tn_importer &find_importer(const Runtime &runtime, std::string_view path) {
    const tn_importer *importer = nullptr;
    check(tn_graph_find_importer(runtime.get(), detail::text(path).c_str(), &importer));
    return *importer;
}

/* Calls function(const tn_importer &, const tn_library_info &) for each importer; one that answers
 * false ends the visit. */
template <class Function> void visit_importers(const Runtime &runtime, Function &&function) {
    detail::Visitor<std::remove_reference_t<Function>> visitor(function);
    tn_runtime_visit_importers(runtime.get(),
                               visitor.template call<const tn_importer *, const tn_library_info *>,
                               &visitor);
    visitor.rethrow();
}

} // namespace tenon

#endif
