/* SPDX-License-Identifier: Apache-2.0 */
/* How plans are built, see tenon/builder.h. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_BUILD_OPTIONS_HPP
#define TENON_CPP_BUILD_OPTIONS_HPP

#include <tenon/border.h>
#include <tenon/cpp/handle.hpp>

namespace tenon {

/* tn_builder_options that has its texts and arrays:
 *     BuildOptions().input("x", {1, 8}, {2, 8}, {4, 8}).refit_all()
 * Numbers, flags and what else stays as in C are members of `plain`; texts and arrays that are set
 * here replace those there. */
class BuildOptions {
  public:
    tn_builder_options plain = options<tn_builder_options>();

    BuildOptions &flags(uint32_t more) {
        plain.flags |= more;
        return *this;
    }
    /* The range of an input, in the profile that was begun last. */
    BuildOptions &input(std::string_view name, Shape minimum, Shape optimum, Shape maximum) {
        if (minimum.size() != optimum.size() || maximum.size() != optimum.size())
            throw Error(TN_ERROR_ARGUMENT, "the shapes of a profile need one rank");
        if (profiles_.empty()) profiles_.emplace_back();
        profiles_.back().push_back(
            {detail::text(name), std::move(minimum), std::move(optimum), std::move(maximum)});
        return *this;
    }
    BuildOptions &input(std::string_view name, const Shape &only) {
        return input(name, only, only, only);
    }
    /* Begins a profile, when there are several. */
    BuildOptions &profile() {
        profiles_.emplace_back();
        return *this;
    }
    BuildOptions &border(std::string_view name, tn_type type, uint32_t order = TN_BORDER_AS_IS) {
        borders_.push_back({detail::text(name), type, order});
        return *this;
    }
    BuildOptions &refit(std::string_view constant) { return add(refit_, constant); }
    BuildOptions &refit_all() { return flags(TN_BUILD_REFIT); }
    BuildOptions &no_packed_weights() { return flags(TN_BUILD_NO_PACKED_WEIGHTS); }
    BuildOptions &keep_half() { return flags(TN_BUILD_KEEP_HALF); }
    BuildOptions &keep(std::string_view node) { return add(keep_, node); }
    BuildOptions &pin(std::string_view pin) { return add(pins_, pin); }
    BuildOptions &without_rewrite(std::string_view name) { return add(without_rewrites_, name); }
    BuildOptions &device(std::string_view name) { return set(device_, name); }
    BuildOptions &timing_cache(std::string_view path) { return set(timing_cache_, path); }
    BuildOptions &force_kernel(std::string_view pairs) { return set(force_kernel_, pairs); }

    /* Calls `function` with the struct of C, which lives until it returns. */
    template <class Function> auto call(Function &&function) const {
        tn_builder_options all = plain;
        const List refit(refit_), keep(keep_), pins(pins_), without(without_rewrites_);
        refit.put(all.refit, all.refit_count);
        keep.put(all.keep, all.keep_count);
        pins.put(all.pins, all.pin_count);
        without.put(all.without_rewrites, all.without_rewrite_count);
        put(device_, all.device);
        put(timing_cache_, all.timing_cache);
        put(force_kernel_, all.force_kernel);

        std::vector<tn_border> borders;
        for (const Border &each : borders_)
            borders.push_back({static_cast<uint32_t>(sizeof(tn_border)), each.type,
                               each.name.c_str(), each.order});
        std::vector<const tn_border *> border_list;
        for (const tn_border &each : borders)
            border_list.push_back(&each);
        if (!borders.empty()) {
            all.borders = border_list.data();
            all.border_count = static_cast<uint32_t>(border_list.size());
        }

        std::vector<Profile> profiles(profiles_.begin(), profiles_.end());
        std::vector<tn_profile> structs;
        std::vector<const tn_profile *> list;
        for (const Profile &each : profiles) {
            structs.push_back(options<tn_profile>());
            structs.back().input_count = static_cast<uint32_t>(each.list.size());
            structs.back().inputs = each.list.data();
        }
        for (const tn_profile &each : structs)
            list.push_back(&each);
        if (list.size() == 1) {
            all.profile_input_count = structs[0].input_count;
            all.profile_inputs = structs[0].inputs;
        } else if (!list.empty()) {
            all.profile_count = static_cast<uint32_t>(list.size());
            all.profiles = list.data();
        }
        return function(static_cast<const tn_builder_options &>(all));
    }

  private:
    struct Range {
        std::string name;
        Shape minimum, optimum, maximum;
    };
    struct Border {
        std::string name;
        tn_type type;
        uint32_t order;
    };
    using Texts = std::vector<std::string>;
    struct List {
        explicit List(const Texts &texts) {
            for (const std::string &each : texts)
                list.push_back(each.c_str());
        }
        void put(const char *const *&array, uint32_t &count) const noexcept {
            if (list.empty()) return;
            array = list.data();
            count = static_cast<uint32_t>(list.size());
        }
        std::vector<const char *> list;
    };
    struct Profile {
        explicit Profile(const std::vector<Range> &ranges) {
            for (const Range &each : ranges) {
                structs.push_back(options<tn_profile_input>());
                structs.back().rank = static_cast<uint32_t>(each.optimum.size());
                structs.back().name = each.name.c_str();
                structs.back().minimum = each.minimum.data();
                structs.back().optimum = each.optimum.data();
                structs.back().maximum = each.maximum.data();
            }
            for (const tn_profile_input &each : structs)
                list.push_back(&each);
        }
        Profile(Profile &&) = default;
        Profile(const Profile &) = delete;
        std::vector<tn_profile_input> structs;
        std::vector<const tn_profile_input *> list; /* into `structs`, which moves with it */
    };

    BuildOptions &add(Texts &texts, std::string_view text) {
        texts.push_back(detail::text(text));
        return *this;
    }
    BuildOptions &set(std::string &kept, std::string_view text) {
        kept = detail::text(text);
        return *this;
    }
    static void put(const std::string &kept, const char *&text) noexcept {
        if (!kept.empty()) text = kept.c_str();
    }

    std::vector<std::vector<Range>> profiles_;
    std::vector<Border> borders_;
    Texts refit_, keep_, pins_, without_rewrites_;
    std::string device_, timing_cache_, force_kernel_;
};

} // namespace tenon

#endif
