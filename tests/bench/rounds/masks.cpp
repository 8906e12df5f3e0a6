// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstring>
#include <random>

#include "ledger/crypto/secret.hpp"
#include "merkle/base/ensure.hpp"
#include "node/masks/mask_member.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "tests/bench/rounds/measurements.hpp"
#include "tests/bench/rounds/wire.hpp"

namespace retrace::bench {
namespace {

constexpr std::uint32_t kCohort = 64;
constexpr std::size_t kValues = std::size_t{1} << 20;
constexpr unsigned kValueBits = 10;

/// Bytes on the wire of a message of these words.
std::uint64_t message_bytes(const std::vector<std::uint32_t>& words) {
    kernels::Tensor tensor = kernels::zeros(kernels::DType::i32, {words.size() / 32, 32});
    std::memcpy(tensor.data.data(), words.data(), tensor.data.size());
    return exchanged_bytes({solver::transport_form(tensor)});
}

/// Adds up the time of parts of one kind.
class PartTime {
public:
    template <class F>
    auto measure(F part) {
        const auto begin = std::chrono::steady_clock::now();
        auto out = part();
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        return out;
    }
    double milliseconds_each() const { return 1000 * seconds_ / kCohort; }

private:
    double seconds_ = 0;
};

}  // namespace

std::vector<Row> measure_masks() {
    const market::MaskRound round{1, 1, 0};
    PartTime keys, deal, mask, unmask, terms;
    std::map<std::uint32_t, node::MaskMember> members;
    market::MaskedRound masked;
    masked.round = round;
    std::uint64_t bytes = 0, plain = 0;
    for (std::uint32_t run = 0; run < kCohort; ++run) {
        const auto own = keys.measure([&] {
            return members.emplace(run, node::MaskMember(round, run, market::kCohortMin, ledger::random_bytes))
                .first->second.keys();
        });
        bytes += encode(own).size();
        masked.cohort.emplace(run, own);
    }
    for (auto& [run, member] : members) {
        masked.dealt.emplace(run, deal.measure([&] { return member.deal(masked.cohort).value(); }));
        bytes += encode(masked.dealt.at(run)).size();
        masked.recorded.push_back(run);
    }
    std::mt19937 random(1);
    std::vector<std::uint32_t> sum(kValues);
    std::vector<std::int32_t> expected(kValues), values(kValues);
    for (auto& [run, member] : members) {
        for (std::size_t i = 0; i < kValues; ++i) {
            values[i] = static_cast<std::int32_t>(random() % 1024) - 512;
            expected[i] += values[i];
        }
        const auto words = mask.measure([&] { return member.mask(masked.dealt, values, kValueBits).value(); });
        for (std::size_t i = 0; i < kValues; ++i) sum[i] += words[i];
        bytes += message_bytes(words);
        // Plain values travel in ten bits.
        std::vector<std::uint32_t> shifted;
        for (const std::int32_t value : values) shifted.push_back(static_cast<std::uint32_t>(value + 512));
        plain += message_bytes(shifted);
    }
    std::map<std::uint32_t, market::RevealedShares> revealed;
    for (auto& [run, member] : members) {
        revealed.emplace(run, unmask.measure([&] { return member.unmask(masked.recorded).value(); }));
        bytes += encode(revealed.at(run)).size();
    }
    const auto left = terms.measure([&] { return market::mask_terms(masked, revealed).value(); });
    ensure(node::unmasked(sum, left, node::masked_bits(kValueBits, kCohort)) == expected, "the sum is exact");
    return {
        {"mask_bytes", "bytes", "plain values", static_cast<double>(bytes) / kCohort,
         static_cast<double>(plain) / kCohort},
        {"mask_keys", "ms", "", keys.milliseconds_each(), 0},
        {"mask_deal", "ms", "", deal.milliseconds_each(), 0},
        {"mask_message", "ms", "", mask.milliseconds_each(), 0},
        {"mask_unmask", "ms", "", unmask.milliseconds_each(), 0},
        {"mask_terms", "ms", "", kCohort * terms.milliseconds_each(), 0},
    };
}

}  // namespace retrace::bench
