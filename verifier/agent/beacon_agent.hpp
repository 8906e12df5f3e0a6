// SPDX-License-Identifier: MIT
// Reveals a verifier's beacon values. They are links of hash chains that are derived from the secret and used one after
// the other.
#pragma once

#include <optional>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

class BeaconAgent {
public:
    /// `context` outlives the agent.
    explicit BeaconAgent(AgentContext& context) : context_(context) {}
    BeaconAgent(const BeaconAgent&) = delete;
    BeaconAgent& operator=(const BeaconAgent&) = delete;

    void on_view(const BeaconView& view, std::vector<VerifierMove>& moves);

    /// Head of chain number `chain`. Chain 0 is used first, then the next one each time a chain is used up.
    Hash32 beacon_head(std::uint64_t chain) const;
    /// Returns the head of the next chain once few links are left before `last`, the newest head on the ledger.
    std::optional<Hash32> next_head(const Hash32& last);
    /// Returns the head to register in order to join: that of chain 0 if `last` is in no chain, else next_head or
    /// `last` itself; nullopt when all chains are used up. No chain is revealed twice.
    std::optional<Hash32> head_to_register(const std::optional<Hash32>& last);
    /// Returns the value before `head` in one of this verifier's chains; nullopt if `head` is in none of them or has no
    /// value before it.
    std::optional<Hash32> before(const Hash32& head);

private:
    /// Position of a value in this verifier's chains, and the number of values left before it.
    struct Place {
        std::uint64_t chain = 0, left = 0;
    };
    /// The next chain is registered when fewer links are left. One link is revealed per epoch, so there is enough time.
    static constexpr std::uint64_t kLinksLow = 64;

    std::optional<Place> place_of(const Hash32& head);
    std::vector<Hash32> chain_values(std::uint64_t chain) const;

    AgentContext& context_;
    std::vector<Hash32> values_;  // Values of chain number `chain_`; filled at first use.
    std::uint64_t chain_ = 0;
    std::optional<Hash32> foreign_;  // A head that is in none of the chains.
};

}  // namespace retrace::verifier
