// SPDX-License-Identifier: MIT
#include "verifier/agent/beacon_agent.hpp"

#include <algorithm>

#include "solver/commitments.hpp"

namespace retrace::verifier {

Hash32 BeaconAgent::beacon_head(std::uint64_t chain) const {
    return solver::beacon_value(context_.config.secret, chain, context_.config.beacon_length);
}

/// The chain's values in the order of computation: each one is the link of the one before it.
std::vector<Hash32> BeaconAgent::chain_values(std::uint64_t chain) const {
    std::vector<Hash32> values{solver::beacon_value(context_.config.secret, chain, 0)};
    for (std::uint64_t i = 0; i < context_.config.beacon_length; ++i)
        values.push_back(solver::beacon_link(values.back()));
    return values;
}

std::optional<BeaconAgent::Place> BeaconAgent::place_of(const Hash32& head) {
    const auto find = [&]() -> std::optional<Place> {
        const auto at = std::find(values_.begin(), values_.end(), head);
        if (at == values_.end()) return std::nullopt;
        return Place{chain_, static_cast<std::uint64_t>(at - values_.begin())};
    };
    if (const auto here = find()) return here;
    // A search of all chains takes seconds, and a foreign head is looked up in every block.
    if (foreign_ == head || head.is_zero()) return std::nullopt;
    // Neighbouring chains come first: the next chain is registered while the current one is still revealed. After a
    // restart it may be any chain.
    std::vector<std::uint64_t> order;
    if (!values_.empty()) order = {chain_ + 1, chain_ - 1};
    for (std::uint64_t chain = 0; chain < context_.config.beacon_chains; ++chain) order.push_back(chain);
    for (const std::uint64_t chain : order) {
        if (chain >= context_.config.beacon_chains) continue;
        chain_ = chain;
        values_ = chain_values(chain);
        if (const auto here = find()) return here;
    }
    foreign_ = head;
    values_.clear();
    return std::nullopt;
}

std::optional<Hash32> BeaconAgent::before(const Hash32& head) {
    const auto place = place_of(head);
    if (!place || place->left == 0) return std::nullopt;
    return values_[place->left - 1];
}

std::optional<Hash32> BeaconAgent::next_head(const Hash32& last) {
    const auto place = place_of(last);
    const std::uint64_t low = std::clamp<std::uint64_t>(context_.config.beacon_length / 4, 1, kLinksLow);
    if (!place || place->left >= low) return std::nullopt;
    if (place->chain + 1 >= context_.config.beacon_chains) return std::nullopt;
    return beacon_head(place->chain + 1);
}

std::optional<Hash32> BeaconAgent::head_to_register(const std::optional<Hash32>& last) {
    const auto place = last ? place_of(*last) : std::nullopt;
    if (!place) return beacon_head(0);
    if (const auto next = next_head(*last)) return next;
    // The values of a used-up chain are public: revealing them again would let others predict the draws.
    return place->left != 0 ? last : std::nullopt;
}

void BeaconAgent::on_view(const BeaconView& view, std::vector<VerifierMove>& moves) {
    if (!view.may_reveal) return;
    const std::optional<Hash32> preimage = before(view.head);
    if (!preimage) {
        if (context_.due("beacon problem"))
            context_.problems.push_back("the registered beacon chain is used up, or not this key's");
        return;
    }
    const std::string name = "beacon " + to_hex(retrace::view(view.head));
    if (context_.due(name)) moves.emplace_back(RevealBeacon{*preimage});
}

}  // namespace retrace::verifier
