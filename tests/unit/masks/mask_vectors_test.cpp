// SPDX-License-Identifier: MIT
// A round whose every byte an independent script computed (tests/vectors/masks/generate.py).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "merkle/hash/sha256.hpp"
#include "tests/unit/masks/cohort.hpp"

namespace retrace::test {
namespace {

/// Words of the lines of round.txt behind their name.
std::multimap<std::string, std::vector<std::string>> vector_lines() {
    std::ifstream file(std::string(RETRACE_VECTORS) + "/masks/round.txt");
    std::multimap<std::string, std::vector<std::string>> out;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, word;
        words >> name;
        auto& into = out.emplace(name, std::vector<std::string>())->second;
        while (words >> word) into.push_back(word);
    }
    return out;
}

/// The script's random numbers: SHA-256 of a name and a counter.
market::RandomSource counted_random(const std::string& name) {
    return [name, counter = std::uint32_t{0}](std::span<std::uint8_t> out) mutable {
        const Hash32 hash = merkle::Sha256().update(view(std::string_view(name))).update_u32(++counter).finish();
        std::copy_n(hash.bytes.begin(), out.size(), out.begin());
    };
}

TEST(MaskVectors, ARoundOfAnIndependentScript) {
    const auto lines = vector_lines();
    ASSERT_GT(lines.size(), 15u);
    const auto line = [&](const std::string& name, std::uint32_t run) {
        return lines.find(name + "." + std::to_string(run))->second;
    };
    const auto numbers = [](const std::vector<std::string>& words) {
        std::vector<std::int32_t> out;
        for (const std::string& word : words) out.push_back(std::stoi(word));
        return out;
    };
    const MaskRound round{0x1122334455667788, 9, 2};
    const std::vector<std::uint32_t> runs{1, 4, 6, 30};
    market::MaskedRound masked;
    masked.round = round;
    std::map<std::uint32_t, MaskMember> members;
    for (const std::uint32_t run : runs) {
        members.emplace(run, MaskMember(round, run, 3, counted_random("member " + std::to_string(run))));
        masked.cohort.emplace(run, members.at(run).keys());
        EXPECT_EQ(to_hex(encode(masked.cohort.at(run))), line("keys", run).front());
    }
    for (const std::uint32_t run : runs) {
        masked.dealt.emplace(run, members.at(run).deal(masked.cohort).value());
        EXPECT_EQ(to_hex(encode(masked.dealt.at(run))), line("shares", run).front());
    }
    masked.recorded = {1, 4, 30};
    std::vector<std::uint32_t> sum;
    for (const std::uint32_t run : masked.recorded) {
        const auto message = members.at(run).mask(masked.dealt, numbers(line("values", run)), 10).value();
        EXPECT_EQ(std::vector<std::int32_t>(message.begin(), message.end()), numbers(line("message", run)));
        sum.resize(message.size());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += message[i];
    }
    std::map<std::uint32_t, RevealedShares> revealed;
    for (const std::uint32_t run : masked.recorded) {
        revealed.emplace(run, members.at(run).unmask(masked.recorded).value());
        EXPECT_EQ(to_hex(encode(revealed.at(run))), line("revealed", run).front());
    }
    const auto terms = mask_terms(masked, revealed).value();
    auto term = lines.lower_bound("term");
    for (const market::MaskTerm& found : terms) {
        ASSERT_EQ(term->first, "term");
        EXPECT_EQ(to_hex(view(found.seed)), term->second[0]);
        EXPECT_EQ(found.added ? "+" : "-", term->second[1]);
        ++term;
    }
    EXPECT_NE(term->first, "term");
    EXPECT_EQ(node::unmasked(sum, terms, 12), numbers(lines.find("sum")->second));
}

}  // namespace
}  // namespace retrace::test
