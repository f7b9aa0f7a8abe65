/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of creators: usable before any constructor ran, since constructors use it. */
#include "foreign.h"

#include <cstring>

namespace foreign {

static constexpr int32_t most = 32;
static Registered items[most];
static int32_t count;

static const char *nameOf(const Registered &item) {
    return item.creator ? item.creator->name() : item.creatorV3->name();
}
static const char *spaceOf(const Registered &item) {
    return item.creator ? item.creator->space() : item.creatorV3->space();
}

static bool put(const Registered &item) {
    for (int32_t i = 0; i < count; i++)
        if (std::strcmp(nameOf(items[i]), nameOf(item)) == 0 &&
            std::strcmp(spaceOf(items[i]), spaceOf(item)) == 0)
            return false;
    if (count == most) return false;
    items[count++] = item;
    return true;
}

bool add(Creator *creator) noexcept {
    return put(Registered{creator, nullptr});
}
bool add(CreatorV3 *creator) noexcept {
    return put(Registered{nullptr, creator});
}
int32_t registered(const Registered **out_items) noexcept {
    *out_items = items;
    return count;
}

} // namespace foreign
