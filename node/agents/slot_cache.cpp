// SPDX-License-Identifier: MIT
#include "node/agents/slot_cache.hpp"

#include <set>

#include "merkle/hash/sha256.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

constexpr std::size_t kTagBytes = 4;

Bytes tag_of(const SlotName& name) {
    const Hash32 hash = merkle::sha256({view(name.first), View(name.second)});
    return Bytes(hash.bytes.begin(), hash.bytes.begin() + kTagBytes);
}

}  // namespace

const Bytes* SlotCache::find(const SlotName& name) {
    const auto found = slots_.find(name);
    if (found == slots_.end()) return nullptr;
    found->second.read = height_;
    return &found->second.bytes;
}

void SlotCache::put(const SlotName& name, const Bytes& value) {
    if (bytes_ > kBytesMax) return;
    const auto [at, added] = slots_.try_emplace(name);
    if (!added) bytes_ -= at->second.bytes.size();
    bytes_ += value.size() + (added ? name.second.size() + sizeof(SlotName) : 0);
    at->second = {value, height_};
}

bool SlotCache::erase_changed(RpcClient& client, std::uint64_t height) {
    if (height_ == 0 || height < height_) return false;
    const auto answer = client.call("retrace_getChangedSlots", {rpc::quantity(height_), rpc::quantity(height)});
    const json::object* const object = answer ? answer->if_object() : nullptr;
    const auto member = [&](const char* name) { return object != nullptr ? object->if_contains(name) : nullptr; };
    const json::value *const from = member("from_hash"), *const to = member("hash"), *const tags = member("changed");
    if (from == nullptr || to == nullptr || tags == nullptr) return false;
    const auto from_hash = rpc::parse_hash(*from), to_hash = rpc::parse_hash(*to);
    const auto bytes = rpc::parse_data(*tags);
    if (!from_hash || !to_hash || !bytes || bytes->size() % kTagBytes != 0) return false;
    const bool same_chain = hash_ == *from_hash;
    hash_ = *to_hash;
    if (!same_chain) return false;
    std::set<Bytes> changed;
    for (std::size_t i = 0; i < bytes->size(); i += kTagBytes)
        changed.emplace(bytes->begin() + static_cast<std::ptrdiff_t>(i),
                        bytes->begin() + static_cast<std::ptrdiff_t>(i + kTagBytes));
    std::erase_if(slots_, [&](const auto& item) {
        const auto& [name, value] = item;
        if (value.read + kUnreadBlocks >= height && !changed.contains(tag_of(name))) return false;
        bytes_ -= value.bytes.size() + name.second.size() + sizeof(SlotName);
        return true;
    });
    return true;
}

void SlotCache::advance(RpcClient& client, std::uint64_t height) {
    if (height == height_) return;
    const auto hash = hash_;
    if (!erase_changed(client, height)) {
        slots_.clear();
        bytes_ = 0;
        if (hash_ == hash) hash_.reset();
    }
    height_ = height;
}

}  // namespace retrace::node
