/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of the C interface as ranges. Part of tenon/tenon.hpp. */
#ifndef TENON_CPP_ITEMS_HPP
#define TENON_CPP_ITEMS_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace tenon {

/* A range that owns nothing: item `index` is get(from, index). It has the lifetime of `from`. */
template <class Item> class Items {
  public:
    using Get = Item (*)(const void *from, uint64_t index);
    class Iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::remove_cv_t<std::remove_reference_t<Item>>;
        using difference_type = std::ptrdiff_t;
        using pointer = const value_type *;
        using reference = Item;
        Iterator(const Items &items, uint64_t index) noexcept : items_(items), index_(index) {}
        Item operator*() const { return items_[index_]; }
        Iterator &operator++() noexcept {
            index_++;
            return *this;
        }
        Iterator operator++(int) noexcept {
            const Iterator before = *this;
            index_++;
            return before;
        }
        bool operator==(const Iterator &other) const noexcept { return index_ == other.index_; }
        bool operator!=(const Iterator &other) const noexcept { return index_ != other.index_; }

      private:
        Items items_;
        uint64_t index_;
    };

    Items(const void *from, uint64_t count, Get get) noexcept
        : from_(from), count_(count), get_(get) {}
    Item operator[](uint64_t index) const { return get_(from_, index); }
    uint64_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    Iterator begin() const noexcept { return Iterator(*this, 0); }
    Iterator end() const noexcept { return Iterator(*this, count_); }

  private:
    const void *from_;
    uint64_t count_;
    Get get_;
};

/* An array of items (tn_model_info.opsets), of pointers to structs (tn_described_program.steps), or
 * of texts. */
template <class Item> Items<const Item &> items(const Item *array, uint64_t count) noexcept {
    return {array, count, [](const void *from, uint64_t index) -> const Item & {
                return static_cast<const Item *>(from)[index];
            }};
}
template <class Item> Items<const Item &> items(const Item *const *array, uint64_t count) noexcept {
    return {array, count, [](const void *from, uint64_t index) -> const Item & {
                return *static_cast<const Item *const *>(from)[index];
            }};
}
inline Items<const char *> items(const char *const *array, uint64_t count) noexcept {
    return {array, count, [](const void *from, uint64_t index) {
                return static_cast<const char *const *>(from)[index];
            }};
}

} // namespace tenon

#endif
