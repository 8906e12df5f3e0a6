// SPDX-License-Identifier: MIT
#include "node/net/reach.hpp"

#include "merkle/hash/sha256.hpp"

namespace retrace::node {

std::string reach_answer(const Hash32& nonce) {
    return to_hex(view(merkle::sha256({view(std::string_view("retrace/reach-answer/1")), view(nonce)})));
}

std::string reach_answer_to(std::string_view target) {
    if (!target.starts_with(kReachPath)) return {};
    const std::string_view digits = target.substr(kReachPath.size());
    constexpr std::size_t kDigits = 64;
    if (digits.size() != kDigits || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return {};
    return reach_answer(to_hash32(*from_hex(digits)));
}

}  // namespace retrace::node
