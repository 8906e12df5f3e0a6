// SPDX-License-Identifier: MIT
#include "node/server/engine/shares.hpp"

#include <algorithm>

#include "merkle/base/codec.hpp"

namespace retrace::node {
namespace {

constexpr std::string_view kPrefix = "retrace/shares/1";

}  // namespace

Bytes encode_shares(std::span<const ledger::BeaconShare> shares) {
    Writer out;
    out.raw(view(kPrefix)).u32(static_cast<std::uint32_t>(shares.size()));
    for (const ledger::BeaconShare& share : shares) out.raw(share.validator).raw(share.proof);
    return std::move(out).take();
}

std::optional<std::vector<ledger::BeaconShare>> decode_shares(View entry) {
    Reader in(entry);
    if (!equal(in.raw(kPrefix.size()), view(kPrefix))) return std::nullopt;
    std::vector<ledger::BeaconShare> out;
    for (std::uint32_t left = in.count(2 * ledger::kValidatorsMax, 20 + 81); left > 0 && in.ok(); --left) {
        ledger::BeaconShare share;
        const View validator = in.raw(share.validator.size()), proof = in.raw(share.proof.size());
        if (!in.ok()) break;
        std::ranges::copy(validator, share.validator.begin());
        std::ranges::copy(proof, share.proof.begin());
        if (!out.empty() && !(out.back().validator < share.validator)) return std::nullopt;
        out.push_back(share);
    }
    if (!in.finish()) return std::nullopt;
    return out;
}

std::vector<ledger::BeaconShare> shares_of(std::span<const engine::Vote> votes) {
    std::vector<ledger::BeaconShare> out;
    for (const engine::Vote& vote : votes) {
        ledger::BeaconShare share{vote.validator, {}};
        if (vote.flag != engine::VoteFlag::commit || vote.extension.size() != share.proof.size()) continue;
        std::ranges::copy(vote.extension, share.proof.begin());
        out.push_back(share);
    }
    std::ranges::sort(out, {}, &ledger::BeaconShare::validator);
    return out;
}

bool is_share(const ledger::TxExecutor& executor, const ledger::StateView& view, std::uint64_t chain_id,
              std::uint64_t height, const ledger::BeaconShare& share) {
    const auto input = executor.share_input(chain_id, height);
    const auto validator = executor.validator_of(view, share.validator);
    return input && validator && ledger::vrf_verify(validator->vrf_key, *input, share.proof);
}

bool are_enough(const ledger::TxExecutor& executor, const ledger::StateView& view, std::uint64_t chain_id,
                std::uint64_t height, std::span<const engine::Vote> votes,
                std::span<const ledger::BeaconShare> shares) {
    std::int64_t all = 0, found = 0;
    std::size_t right = 0;
    for (const engine::Vote& vote : votes) {
        all += vote.power;
        if (vote.flag != engine::VoteFlag::commit) continue;
        const auto share = std::ranges::lower_bound(shares, vote.validator, {}, &ledger::BeaconShare::validator);
        if (share == shares.end() || share->validator != vote.validator) continue;
        if (!is_share(executor, view, chain_id, height, *share)) return false;
        found += vote.power;
        ++right;
    }
    return right == shares.size() && found > all / 3 * 2 + all % 3 * 2 / 3;
}

}  // namespace retrace::node
