// SPDX-License-Identifier: MIT
#include "node/agents/account_guard.hpp"

#include "ledger/crypto/secret.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node {
namespace {

constexpr std::size_t kHashDigits = 64;

std::optional<Hash32> hash_of(std::string_view digits) {
    const auto bytes = digits.size() == kHashDigits ? from_hex(digits) : std::nullopt;
    if (!bytes || bytes->size() != Hash32::size()) return std::nullopt;
    Hash32 out;
    std::copy(bytes->begin(), bytes->end(), out.bytes.begin());
    return out;
}

Hash32 answer_of(const Hash32& secret, const Hash32& instance, const Hash32& challenge) {
    return merkle::sha256(
        {view(std::string_view("retrace/party-answer/1")), view(secret), view(challenge), view(instance)});
}

}  // namespace

std::optional<std::string> party_answer(const Hash32& secret, const Hash32& instance, std::string_view challenge) {
    const auto asked = hash_of(challenge);
    if (!asked) return std::nullopt;
    return to_hex(view(instance)) + to_hex(view(answer_of(secret, instance, *asked)));
}

std::optional<Hash32> ask_party(const std::string& endpoint, const Hash32& secret) {
    const auto url = parse_public_url(endpoint);
    if (!url) return std::nullopt;
    Hash32 challenge;
    ledger::random_bytes(challenge.bytes);
    HttpConnection connection(*url);
    const auto reply = connection.exchange({"GET", std::string(kPartyPath) + to_hex(view(challenge)), {}}, 1024,
                                           kernels::StopToken::after(std::chrono::seconds(3)));
    if (!reply || reply->status != 200 || reply->body.size() != 2 * kHashDigits) return std::nullopt;
    const std::string text(reply->body.begin(), reply->body.end());
    const auto instance = hash_of(std::string_view(text).substr(0, kHashDigits));
    const auto answer = hash_of(std::string_view(text).substr(kHashDigits));
    if (!instance || answer != answer_of(secret, *instance, challenge)) return std::nullopt;
    return instance;
}

std::string already_runs(const std::string& address, const std::string& endpoint) {
    return "another agent with the key of " + address + " runs at " + endpoint +
           ": two would disturb each other and lose stake; stop one of them, or give each a key of its own (retrace "
           "wallet new)";
}

}  // namespace retrace::node
