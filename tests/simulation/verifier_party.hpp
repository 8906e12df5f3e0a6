// SPDX-License-Identifier: MIT
// A verifier: the product's agent on a simulated machine, and what an adversary changes about it.
#pragma once

#include "tests/simulation/party.hpp"
#include "tests/simulation/provider.hpp"
#include "verifier/attacks/verifier_attacks.hpp"

namespace retrace::sim {

struct VerifierRole {
    std::optional<verifier::VerifierAttack> fraud;
    bool no_verdicts = false;  ///< Beside its fraud it gives no verdict.
    bool colludes = false;     ///< Repeats the roots of every solver that tells it one.
    ledger::U256 stake;
    std::uint64_t watch_bp = 0;  ///< Basis points of the opened segments that it replays without being drawn.
    std::uint64_t speed_bp = kFast;
    std::set<std::string> has_data_of = {};  ///< Members of private groups that gave it their data.

    bool honest() const { return !fraud && !no_verdicts && !colludes; }
    std::string describe() const;
};

class VerifierParty final : public Party {
public:
    VerifierParty(World& world, NodeId id, std::string name, VerifierRole role);

    solver::ArtifactSource* provider() override { return memory_ ? memory_->provider.get() : nullptr; }
    const VerifierRole& role() const noexcept { return role_; }

private:
    void boot() override;
    void halt() override;
    void act(const ledger::StateView& view, std::uint64_t height) override;
    void enroll(const ledger::StateView& view, std::uint64_t height, const std::optional<market::VerifierInfo>& info);
    void make_move(const ledger::StateView& view, const verifier::VerifierMove& move);
    // In private groups (private_parties.cpp):
    void load_data();
    void update_consents(const ledger::StateView& view, std::uint64_t height);
    std::unique_ptr<verifier::Verifier> adversary(const verifier::VerifierConfig& config,
                                                  std::unique_ptr<verifier::Verifier> honest);

    /// State that is lost in a crash.
    struct Memory {
        std::unique_ptr<solver::CheckpointStore> store;
        std::unique_ptr<solver::MessageStore> messages;
        std::unique_ptr<StoreProvider> provider;
        std::unique_ptr<NetworkSource> source;
        solver::PrivateData data;
        std::unique_ptr<solver::TaskCache> task_cache;
        verifier::VerifierAgent* agent = nullptr;  ///< Points into `verifier`.
        std::unique_ptr<verifier::Verifier> verifier;
        node::Seats seats;
    };
    VerifierRole role_;
    std::unique_ptr<Memory> memory_;
    std::uint64_t enrolled_height_ = 0;
    std::map<solver::RunKey, std::uint64_t> consents_;  ///< Run → height at which its consent was answered.
};

}  // namespace retrace::sim
