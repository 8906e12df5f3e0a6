// SPDX-License-Identifier: MIT
#include "ledger/chain/page_source.hpp"

#include <algorithm>
#include <optional>

#include "ledger/chain/keys.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kUpperDepth = 12;  // depth of the lowest tops that are kept
constexpr std::size_t kUpperPages = ((std::size_t{1} << (kUpperDepth + kPageLevels)) - 1) / (kPlaces - 1);

/// Index of a page of the upper levels in memory; nullopt if it lies below them. A page's key is the depth of its top,
/// two bytes big endian, followed by its prefix in whole bytes.
std::optional<std::size_t> upper_index(View key) {
    const std::size_t depth = std::size_t{key[0]} << 8 | key[1];
    if (depth > kUpperDepth) return std::nullopt;
    std::size_t prefix = 0;
    for (const std::uint8_t byte : key.subspan(2)) prefix = prefix << 8 | byte;
    prefix >>= 8 * (key.size() - 2) - depth;
    const std::size_t above = ((std::size_t{1} << depth) - 1) / (kPlaces - 1);  // 1 + 16 + 256 + …
    return above + prefix;
}

std::unique_ptr<OpenPage> opened(Bytes key, View stored) {
    auto page = std::make_unique<OpenPage>();
    const auto depth = static_cast<std::uint16_t>(key[0] << 8 | key[1]);
    page->key = std::move(key);
    auto content = decode_page(stored);
    page->damaged = !content || depth > kPageDepthMax;
    if (page->damaged) return page;
    page->before = std::move(*content);
    page->places = places_of(page->before, depth);
    return page;
}

}  // namespace

void PageSource::keep_upper() {
    upper_.assign(kUpperPages, {});
    const Bytes all = keys::page({});
    store_.scan(all, all, kUpperPages, [&](View key, View page) {
        const auto index = upper_index(key.subspan(all.size()));
        if (index) upper_[*index] = to_bytes(page);
        return index.has_value();
    });
}

void PageSource::take_over(const std::vector<PageChange>& changes) {
    if (upper_.empty()) return;
    for (const PageChange& change : changes) {
        if (const auto index = upper_index(change.key)) upper_[*index] = change.page;
    }
}

std::unique_ptr<OpenPage> PageSource::open(Bytes key) const {
    const auto kept = upper_.empty() ? std::nullopt : upper_index(key);
    if (kept) return opened(std::move(key), upper_[*kept]);
    const auto stored = store_.get(keys::page(key));
    return opened(std::move(key), stored ? View(*stored) : View());
}

std::vector<std::unique_ptr<OpenPage>> PageSource::open_all(std::vector<Bytes> keys) const {
    std::vector<std::unique_ptr<OpenPage>> out;
    out.reserve(keys.size());
    if (!upper_.empty() && !keys.empty() && upper_index(keys.front())) {
        for (Bytes& key : keys) out.push_back(open(std::move(key)));
        return out;
    }
    std::vector<Bytes> store_keys;
    store_keys.reserve(keys.size());
    for (const Bytes& key : keys) store_keys.push_back(keys::page(key));
    out.resize(keys.size());
    store_.get_many(store_keys, [&](std::size_t i, View stored) { out[i] = opened(std::move(keys[i]), stored); });
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!out[i]) out[i] = opened(std::move(keys[i]), {});
    }
    return out;
}

}  // namespace retrace::ledger
