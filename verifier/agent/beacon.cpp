// SPDX-License-Identifier: MIT
// The verifier's links of the beacon: hash chains that follow from the secret.
#include "verifier/agent/agent.hpp"

namespace retrace::verifier {

Hash32 VerifierAgent::beacon_head(std::uint64_t chain) const {
    return solver::beacon_value(config_.secret, chain, config_.beacon_length);
}

std::optional<Hash32> VerifierAgent::before(const Hash32& head) {
    for (std::uint64_t chain = 0; beacon_.empty() && chain < config_.beacon_chains; ++chain) {
        Hash32 value = solver::beacon_value(config_.secret, chain, 0);
        std::map<Hash32, Hash32> links;
        for (std::uint64_t i = 0; i < config_.beacon_length; ++i) {
            const Hash32 next = solver::beacon_link(value);
            links[next] = value;
            value = next;
        }
        if (links.count(head) != 0) beacon_ = std::move(links);
    }
    const auto found = beacon_.find(head);
    if (found == beacon_.end()) return std::nullopt;
    return found->second;
}

void VerifierAgent::reveal_beacon(const VerifierView& view, Output& out) {
    if (!view.beacon.may_reveal) return;
    const std::optional<Hash32> preimage = before(view.beacon.head);
    if (!preimage) {
        if (due("beacon problem", view.height))
            problems_.push_back("the registered beacon chain is not this key's");
        return;
    }
    const std::string name = "beacon " + to_hex(retrace::view(view.beacon.head));
    if (due(name, view.height)) out.moves.push_back(RevealBeacon{*preimage});
}

}  // namespace retrace::verifier
