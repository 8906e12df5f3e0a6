// SPDX-License-Identifier: MIT
#include <map>

#include "ledger/chain/keys.hpp"
#include "ledger/chain/records.hpp"
#include "ledger/snapshot/state_entries.hpp"

namespace retrace::ledger {
namespace {

using Past = std::map<Bytes, Bytes>;  // keys that changed after the height, with their values at that height
constexpr std::size_t kNoLimit = ~std::size_t{0};

std::optional<Past> changed_since(const Store& store, std::uint64_t height, std::uint64_t tip) {
    Past out;
    for (std::uint64_t at = height + 1; at <= tip; ++at) {
        const auto record = store.get(keys::changed(at));
        const auto changed = record ? decode_keys(*record) : std::nullopt;
        if (!changed) return std::nullopt;
        for (const Bytes& key : *changed) {
            if (out.contains(key)) continue;  // an earlier change has already given the value before it
            auto before = store.get(keys::undo(key, at));
            if (!before) return std::nullopt;
            out.emplace(key, std::move(*before));
        }
    }
    return out;
}

/// Merges the present keys of one letter with the past ones; false if `visit` ended the visit.
bool visit_letter(const Store& store, char letter, const Past& past, const std::function<bool(View, View)>& visit) {
    const Bytes prefix{static_cast<std::uint8_t>(letter)};
    const Bytes end{static_cast<std::uint8_t>(letter + 1)};
    auto next = past.lower_bound(prefix);
    const auto last = past.lower_bound(end);
    const auto skip_empty = [&](View key, View value) { return value.empty() || visit(key, value); };
    bool going = true;
    store.scan(prefix, prefix, kNoLimit, [&](View key, View value) {
        while (going && next != last && std::ranges::lexicographical_compare(next->first, key)) {
            going = skip_empty(next->first, next->second);
            ++next;
        }
        if (!going) return false;
        if (next != last && equal(next->first, key)) {
            going = skip_empty(key, next->second);
            ++next;
        } else {
            going = skip_empty(key, value);
        }
        return going;
    });
    for (; going && next != last; ++next) going = skip_empty(next->first, next->second);
    return going;
}

}  // namespace

Status<ChainFailure> visit_state(const Store& store, std::uint64_t height,
                                 const std::function<bool(View key, View value)>& visit) {
    const auto record = store.get(keys::tip());
    const auto tip = record ? decode_tip(*record) : std::nullopt;
    if (!tip) return Unexpected{ChainFailure{ChainError::corrupt, "there is no chain"}};
    if (height > tip->height || height < tip->oldest_state) {
        return Unexpected{ChainFailure{ChainError::not_kept, "the state of block " + std::to_string(height) +
                                                                 " is not kept; the oldest is " +
                                                                 std::to_string(tip->oldest_state)}};
    }
    const auto past = changed_since(store, height, tip->height);
    if (!past) return Unexpected{ChainFailure{ChainError::corrupt, "an undo record is missing or damaged"}};
    (void)(visit_letter(store, 'a', *past, visit) && visit_letter(store, 's', *past, visit));
    return Unit{};
}

}  // namespace retrace::ledger
