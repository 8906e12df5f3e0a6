// SPDX-License-Identifier: MIT
#include "tests/simulation/committee.hpp"

#include <algorithm>

#include "ledger/crypto/ed25519.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/simulation/party.hpp"

namespace retrace::sim {
namespace {

constexpr std::uint64_t kPowerPerWeight = 100'000;
constexpr std::uint64_t kCoinsPerWeight = 10;

std::uint64_t sum(const Rotation::Powers& powers) {
    std::uint64_t out = 0;
    for (const auto& [address, power] : powers) out += power;
    return out;
}

Hash32 secret_of(std::string_view kind, const std::string& name) {
    return merkle::sha256({view(kind), view(std::string_view(name))});
}

}  // namespace

std::string_view slug(ProposerFraud fraud) noexcept {
    switch (fraud) {
        case ProposerFraud::none: return "honest";
        case ProposerFraud::censor: return "censor";
        case ProposerFraud::delay: return "delay";
        case ProposerFraud::reorder: return "reorder";
        case ProposerFraud::front_run: return "front_run";
    }
    return "unknown";
}

std::string ValidatorRole::describe() const {
    std::string out = std::to_string(weight) + " " + std::string(slug(fraud));
    if (silent_from != silent_until) out += " silent";
    if (signs_twice_at != 0) out += " signs twice";
    return out;
}

ledger::U256 stake_of(const ValidatorRole& role) {
    return ledger::U256(role.weight * kCoinsPerWeight) * ledger::U256(1000 * market::kMilli);
}

market::ValidatorRules simulated_validator_rules() {
    market::ValidatorRules rules;
    rules.places = 7;
    rules.unbond_blocks = 400;
    rules.evidence_blocks = 200;
    rules.downtime_blocks = 40;
    rules.jail_blocks = 30;
    rules.downtime_bp = 100;
    return rules;
}

std::int64_t Rotation::total() const {
    std::int64_t out = 0;
    for (const auto& [address, entry] : entries_) out += static_cast<std::int64_t>(entry.power);
    return out;
}

/// Keeps the priorities around zero, and their spread below twice the power of all.
void Rotation::centre() {
    const auto [low, high] =
        std::ranges::minmax_element(entries_, {}, [](const auto& one) { return one.second.priority; });
    const std::int64_t spread = high->second.priority - low->second.priority, limit = 2 * total();
    const std::int64_t ratio = (spread + limit - 1) / limit;
    std::int64_t all = 0;
    for (auto& [address, entry] : entries_) {
        if (ratio > 1) entry.priority /= ratio;
        all += entry.priority;
    }
    const auto count = static_cast<std::int64_t>(entries_.size());
    const std::int64_t mean = all >= 0 ? all / count : -((-all + count - 1) / count);  // CometBFT rounds down.
    for (auto& [address, entry] : entries_) entry.priority -= mean;
}

void Rotation::update(const Powers& powers) {
    std::erase_if(entries_, [&](const auto& one) { return !powers.contains(one.first); });
    const auto all = static_cast<std::int64_t>(sum(powers));
    const bool founded = entries_.empty();
    for (const auto& [address, power] : powers) {
        const auto [at, is_new] = entries_.try_emplace(address);
        at->second.power = power;
        if (is_new && !founded) at->second.priority = -(all + all / 8);
    }
    centre();
}

const ledger::ConsensusAddress& Rotation::next() {
    centre();
    for (auto& [address, entry] : entries_) entry.priority += static_cast<std::int64_t>(entry.power);
    // Of equal priorities the lowest address comes first, which is the order of the map.
    const auto most = std::ranges::max_element(entries_, {}, [](const auto& one) { return one.second.priority; });
    most->second.priority -= total();
    return most->first;
}

Committee::Committee(std::vector<ValidatorRole> roles, bool shares, Random random) : shares_(shares), random_(random) {
    for (std::size_t i = 0; i < roles.size(); ++i) {
        const std::string name = "validator-" + std::to_string(i);
        auto vrf = ledger::VrfSecret::from_bytes(view(secret_of("simulated share", name)));
        ensure(vrf.has_value(), "a hash is a scalar");
        ledger::Validator validator{ledger::ed25519_public_key(view(secret_of("simulated vote", name))),
                                    party_address(name), roles[i].weight * kPowerPerWeight, vrf->key()};
        const auto address = ledger::consensus_address(validator.key);
        members_.emplace(address, Member{roles[i], std::move(validator), std::move(*vrf)});
    }
}

std::vector<ledger::Validator> Committee::founders() const {
    std::vector<ledger::Validator> out;
    for (const auto& [address, member] : members_) out.push_back(member.validator);
    std::ranges::sort(out, {}, &ledger::Validator::key);
    return out;
}

/// What a block changes in the set counts two blocks later.
void Committee::note_set(const ledger::StateView& view, const ledger::TxExecutor& executor) {
    Rotation::Powers powers;
    for (const ledger::Validator& one : executor.validators(view))
        powers[ledger::consensus_address(one.key)] = one.power;
    ensure(!powers.empty(), "a set is never empty");
    if (sets_.empty()) sets_.assign(2, powers);
    sets_.push_back(std::move(powers));
    if (sets_.size() > 3) sets_.pop_front();
}

std::set<ledger::ConsensusAddress> Committee::missing_votes(std::uint64_t height, bool malicious, bool shared) {
    const Rotation::Powers& voters = sets_[0];
    std::set<ledger::ConsensusAddress> out;
    const std::uint64_t all = sum(voters);
    std::uint64_t present = all;
    for (const auto& [address, power] : voters) {
        const Member& member = members_.at(address);
        const bool withholds = shared && member.role.fraud != ProposerFraud::none && random_.chance(500);
        if (!member.is_silent(height - 1) && !withholds) continue;
        out.insert(address);
        present -= power;
    }
    if (!malicious) return out;
    // A block is valid with the votes of more than two thirds.
    for (const auto& [address, power] : voters) {
        const bool victim = members_.at(address).role.honest() && !out.contains(address);
        if (!victim || 3 * (present - power) <= 2 * all) continue;
        out.insert(address);
        present -= power;
    }
    return out;
}

/// Evidence waits for a proposer that does not leave it out: a malicious one does.
void Committee::add_evidence(std::uint64_t height, const Member& proposer, ledger::EngineReport& report) {
    for (const auto& [address, member] : members_)
        if (member.role.signs_twice_at != 0 && member.role.signs_twice_at + 1 == height)
            evidence_.push_back({address, height - 1});
    if (!proposer.role.honest()) return;
    report.misbehavior = std::exchange(evidence_, {});
}

Committee::Turn Committee::begin(std::uint64_t height, const ledger::StateView& view,
                                 const ledger::TxExecutor& executor) {
    note_set(view, executor);
    rotation_.update(sets_[1]);
    ledger::ConsensusAddress chosen = rotation_.next();
    // The round of a silent proposer times out; the next height goes on from the round that was first.
    for (Rotation later = rotation_; members_.at(chosen).is_silent(height);) chosen = later.next();
    const Member& proposer = members_.at(chosen);
    Turn turn{&proposer.role, proposer.validator.account, {}};
    if (height == 1) return turn;  // The genesis has no votes.
    const bool shared = shares_ && executor.takes_shares(view, height);
    const auto missing = missing_votes(height, proposer.role.fraud != ProposerFraud::none, shared);
    turn.report.missed.assign(missing.begin(), missing.end());
    add_evidence(height, proposer, turn.report);
    if (!shared) return turn;
    const auto input = executor.share_input(kChainId, height - 1);
    ensure(input.has_value(), "the contracts name the input of a share");
    for (const auto& [address, power] : sets_[0])
        if (!missing.contains(address)) turn.report.shares.push_back({address, members_.at(address).vrf.prove(*input)});
    return turn;
}

}  // namespace retrace::sim
