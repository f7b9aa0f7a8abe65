/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object's life: it is configured once, in prepare, and its bytes are the kernel's state;
 * contexts make their own objects of these bytes, and never a clone. A state that an object did not
 * write never reaches it (the checksum). See adapter.h.
 */
#include "adapter.h"

#include <cstring>
#include <mutex>
#include <new>

/* --- the kernel: state --- */

namespace {
struct Head {
    uint32_t mark, version;
    uint64_t bytes, checksum;
};
constexpr uint32_t mark = 0x424f4a46;

uint64_t checksumOf(const char *data, size_t bytes) {
    uint64_t hash = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ static_cast<unsigned char>(data[i])) * 1099511628211u;
    return hash;
}

struct State {
    std::vector<char> bytes;
};
} // namespace

/* The object is gone when this returns: what it is worth keeping for are its bytes. */
tn_status prepareNode(tn_call *call) TN_NOEXCEPT {
    std::vector<foreign::DynamicDesc> inputs, outputs;
    const std::unique_ptr<Instance> instance = create(entryOf(call), call->kernel_params);
    if (!instance) return refuse(call, "makes no object of these fields");
    if (!describe(*instance, call, inputs, outputs) || !instance->configure(inputs, outputs))
        return refuse(call, "is not configured for these tensors");
    State *state = new (std::nothrow) State;
    if (!state) return TN_ERROR_MEMORY;
    instance->save(state->bytes);
    call->state = state;
    return TN_OK;
}

void releaseNode(tn_call *call) TN_NOEXCEPT {
    delete static_cast<State *>(call->state);
}

tn_status saveState(tn_call *call, void *data, uint64_t *inout_bytes) TN_NOEXCEPT {
    const State *state = static_cast<const State *>(call->state);
    const Head head = {mark, 1, state->bytes.size(),
                       checksumOf(state->bytes.data(), state->bytes.size())};
    if (data) {
        std::memcpy(data, &head, sizeof(head));
        std::memcpy(static_cast<char *>(data) + sizeof(head), state->bytes.data(),
                    state->bytes.size());
    }
    *inout_bytes = sizeof(head) + state->bytes.size();
    return TN_OK;
}

tn_status loadState(tn_call *call, const void *data, uint64_t bytes) TN_NOEXCEPT {
    Head head = {};
    const char *body = static_cast<const char *>(data) + sizeof(head);
    if (bytes >= sizeof(head)) std::memcpy(&head, data, sizeof(head));
    if (head.mark != mark || head.version != 1 || head.bytes != bytes - sizeof(head) ||
        head.checksum != checksumOf(body, static_cast<size_t>(head.bytes)))
        return refuse(call, "has another state than it saved");
    State *state = new (std::nothrow) State;
    if (!state) return TN_ERROR_MEMORY;
    state->bytes.assign(body, body + head.bytes);
    call->state = state;
    return TN_OK;
}

/* --- the kernel: contexts --- */

namespace {
/* Resources by key, counted, for all objects of the process. */
class Shared final : public foreign::Resources {
  public:
    foreign::Resource *acquire(const char *key, foreign::Resource *like) noexcept override {
        const std::lock_guard<std::mutex> guard(lock);
        for (Item &item : items)
            if (item.key == key) return item.count++, item.resource;
        foreign::Resource *made = like->make();
        if (made) items.push_back({key, made, 1});
        return made;
    }
    void release(const char *key) noexcept override {
        const std::lock_guard<std::mutex> guard(lock);
        for (size_t i = 0; i < items.size(); i++) {
            if (items[i].key != key || --items[i].count > 0) continue;
            items[i].resource->unmake();
            items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
            return;
        }
    }

  private:
    struct Item {
        std::string key;
        foreign::Resource *resource;
        int count;
    };
    std::mutex lock;
    std::vector<Item> items;
} shared;

struct Context {
    std::unique_ptr<Instance> instance;
    std::vector<foreign::Desc> inputs, outputs;
};

template <typename Item> std::vector<foreign::Desc> descsOf(Item *const *tensors, uint32_t count) {
    std::vector<foreign::Desc> out;
    for (uint32_t i = 0; i < count; i++)
        out.push_back(descOf(tensors[i]));
    return out;
}
} // namespace

tn_status openContext(tn_call *call) TN_NOEXCEPT {
    const State *state = static_cast<const State *>(call->state);
    std::unique_ptr<Context> context(new (std::nothrow) Context);
    if (!context) return TN_ERROR_MEMORY;
    context->instance =
        loadInstance(entryOf(call).creator, state->bytes.data(), state->bytes.size());
    if (!context->instance || !context->instance->start(&shared, call->tactic))
        return refuse(call, "makes no object of its own bytes");
    call->context = context.release();
    return TN_OK;
}

void closeContext(tn_call *call) TN_NOEXCEPT {
    delete static_cast<Context *>(call->context);
}

tn_status reshapeContext(tn_call *call) TN_NOEXCEPT {
    Context &context = *static_cast<Context *>(call->context);
    size_t workspaceBytes = 0;
    context.inputs = descsOf(call->inputs, call->input_count);
    context.outputs = descsOf(call->outputs, call->output_count);
    if (!context.instance->reshape(context.inputs, context.outputs, workspaceBytes))
        return refuse(call, "does not take these shapes");
    call->workspace_bytes = workspaceBytes;
    return TN_OK;
}

tn_status runContext(tn_call *call) TN_NOEXCEPT {
    Context &context = *static_cast<Context *>(call->context);
    const void *inputs[64] = {};
    void *outputs[64] = {};
    if (call->input_count > 64 || call->output_count > 64)
        return refuse(call, "has too many tensors");
    for (uint32_t i = 0; i < call->input_count; i++)
        inputs[i] = call->inputs[i]->data;
    for (uint32_t i = 0; i < call->output_count; i++)
        outputs[i] = call->outputs[i] ? call->outputs[i]->data : nullptr;
    return context.instance->enqueue(context.inputs, context.outputs, inputs, outputs,
                                     call->workspace, call->stream)
               ? TN_OK
               : refuse(call, "failed to enqueue");
}
