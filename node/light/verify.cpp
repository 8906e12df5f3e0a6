// SPDX-License-Identifier: MIT
#include "node/light/verify.hpp"

#include <algorithm>

#include "ledger/crypto/ed25519.hpp"
#include "ledger/exec/validator.hpp"

namespace retrace::node::light {
namespace {

constexpr std::uint64_t kBlockVersion = 11;  // of CometBFT 0.38's headers

Unexpected<Refusal> invalid(const std::string& why) { return Unexpected{Refusal{RefusalKind::invalid, why}}; }

std::int64_t power_of(const std::vector<Validator>& validators) {
    std::int64_t total = 0;
    for (const Validator& one : validators) total += one.power;
    return total;
}

bool is_signed(const LightBlock& block, const Vote& vote, const Validator& validator) {
    return ledger::ed25519_verify(validator.key, signed_bytes(block.header.chain_id, block.commit, vote),
                                  vote.signature);
}

/// More than two thirds of the block's own set signed it.
Status<Refusal> check_commit(const LightBlock& block) {
    const std::vector<Vote>& votes = block.commit.votes;
    if (votes.size() != block.validators.size()) return invalid("the commit has not one vote for each validator");
    const std::int64_t needed = power_of(block.validators) * 2 / 3;
    std::int64_t found = 0;
    for (std::size_t i = 0; i < votes.size(); ++i) {
        if (votes[i].flag != kForBlock) continue;
        const Validator& validator = block.validators[i];
        if (!equal(votes[i].validator, ledger::consensus_address(validator.key)))
            return invalid("a vote is not in the place of its validator");
        if (is_signed(block, votes[i], validator)) found += validator.power;
        if (found > needed) return Unit{};
    }
    return invalid("validators with a power of " + std::to_string(found) + " signed; more than " +
                   std::to_string(needed) + " is needed");
}

/// More than a third of the power of the trusted set signed the block.
Status<Refusal> check_trust(const LightBlock& trusted, const LightBlock& fresh) {
    const std::int64_t needed = power_of(trusted.validators) / 3;
    std::int64_t found = 0;
    std::vector<bool> seen(trusted.validators.size());
    for (const Vote& vote : fresh.commit.votes) {
        if (vote.flag != kForBlock) continue;
        const auto member = std::ranges::find_if(trusted.validators, [&](const Validator& one) {
            return equal(vote.validator, ledger::consensus_address(one.key));
        });
        if (member == trusted.validators.end()) continue;
        const auto index = static_cast<std::size_t>(member - trusted.validators.begin());
        if (seen[index]) return invalid("a validator votes twice");
        seen[index] = true;
        if (is_signed(fresh, vote, *member)) found += member->power;
        if (found > needed) return Unit{};
    }
    return Unexpected{Refusal{RefusalKind::not_enough_trust, "trusted validators with a power of " +
                                                                 std::to_string(found) + " signed; more than " +
                                                                 std::to_string(needed) + " is needed"}};
}

/// All but the signatures.
Status<Refusal> check_form(const LightBlock& block) {
    const Header& header = block.header;
    if (header.block_version != kBlockVersion) return invalid("the header is not of CometBFT 0.38");
    if (header.height <= 0 || header.validators_hash.empty() || header.next_validators_hash.empty() ||
        header.proposer.empty()) {
        return invalid("the header is not complete");
    }
    if (block.commit.height != header.height) return invalid("the commit is of another height than the header");
    if (!equal(block.commit.block.hash, view(hash_of(header)))) return invalid("the commit is for another header");
    if (block.commit.block.parts == 0 || block.commit.block.parts_hash.empty())
        return invalid("the commit is for none");
    if (!equal(header.validators_hash, view(hash_of(block.validators))))
        return invalid("the validators are not the ones that the header commits to");
    return Unit{};
}

}  // namespace

Status<Refusal> verify_alone(const LightBlock& block) {
    RETRACE_CHECK(check_form(block));
    return check_commit(block);
}

Status<Refusal> check_age(const LightBlock& trusted, Time now, const TrustRules& rules) {
    const Time end{trusted.header.time.seconds + rules.period.count(), trusted.header.time.nanos};
    if (end > now) return Unit{};
    return Unexpected{Refusal{RefusalKind::expired, "the trusted block " + std::to_string(trusted.header.height) +
                                                        " is older than the period in which it may be trusted"}};
}

Status<Refusal> verify(const LightBlock& trusted, const LightBlock& fresh, Time now, const TrustRules& rules) {
    RETRACE_CHECK(check_age(trusted, now, rules));
    RETRACE_CHECK(check_form(fresh));
    if (fresh.header.chain_id != trusted.header.chain_id) return invalid("the header is of another chain");
    if (fresh.header.height <= trusted.header.height) return invalid("the header is not above the trusted one");
    if (fresh.header.time <= trusted.header.time) return invalid("the header is not later than the trusted one");
    if (fresh.header.time >= Time{now.seconds + rules.drift.count(), now.nanos})
        return invalid("the header is from the future; is this machine's clock right?");
    if (fresh.header.height == trusted.header.height + 1) {
        if (fresh.header.validators_hash != trusted.header.next_validators_hash)
            return invalid("the validators are not the ones that the header before announced");
    } else {
        RETRACE_CHECK(check_trust(trusted, fresh));
    }
    return check_commit(fresh);
}

}  // namespace retrace::node::light
