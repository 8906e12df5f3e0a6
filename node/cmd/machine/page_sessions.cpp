// SPDX-License-Identifier: MIT
#include "node/cmd/machine/page_sessions.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "ledger/crypto/kdf.hpp"
#include "ledger/crypto/secret.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::node::machine {
namespace {

constexpr std::size_t kDigits = 64;       // of a nonce, a session and a code
constexpr std::size_t kIndexDigits = 16;  // of a session, which begins with its index
constexpr std::size_t kSessionsMax = 64;  // that have shown the token; the oldest ends for a new one
constexpr std::string_view kScheme = "Retrace ";

std::string code(const std::string& key, const std::string& text) {
    return to_hex(ledger::hmac_sha256(view(std::string_view(key)), view(std::string_view(text))));
}

/// Takes as long for any text of this length.
bool is_equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned>(a[i] ^ b[i]);
    return different == 0;
}

std::string random_secret() {
    std::array<std::uint8_t, kDigits / 2> bytes{};
    ledger::random_bytes(bytes);
    return to_hex(bytes);
}

template <int base>
std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return out;
}

/// Cuts the text in front of the next space off.
std::string_view word(std::string_view& text) {
    const std::size_t at = std::min(text.find(' '), text.size());
    const std::string_view out = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return out;
}

}  // namespace

PageSessions::PageSessions(std::string token) : token_(std::move(token)), secret_(random_secret()) {}

std::string PageSessions::session_of(std::uint64_t index) const {
    std::array<std::uint8_t, kIndexDigits / 2> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(index >> (8 * (7 - i)));
    const std::string digits = to_hex(bytes);
    return digits + code(secret_, digits).substr(kIndexDigits);
}

std::optional<PageSessions::Greeting> PageSessions::greet(std::string_view nonce) {
    if (nonce.size() != kDigits || !from_hex(nonce)) return std::nullopt;
    Greeting out;
    out.session = session_of(++greeted_);
    out.code = code(token_, "retrace/agent/1\n" + std::string(nonce) + "\n" + out.session);
    return out;
}

std::optional<PageSessions::Shown> PageSessions::shown(const HttpRequest& request) {
    std::string_view rest = request.authorization;
    if (!rest.starts_with(kScheme)) return std::nullopt;
    rest.remove_prefix(kScheme.size());
    const std::string session(word(rest));
    const std::string digits(word(rest));
    const auto index = number_of<16>(std::string_view(session).substr(0, kIndexDigits));
    const auto number = number_of<10>(digits);
    if (!index || !number || !is_equal(session, session_of(*index))) return std::nullopt;
    const std::string text =
        "retrace/page/1\n" + session + "\n" + digits + "\n" + request.method + "\n" + request.target;
    if (!is_equal(rest, code(token_, text)) || !is_new(*index, *number)) return std::nullopt;
    return Shown{session, *number};
}

bool PageSessions::is_new(std::uint64_t index, std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    if (index < oldest_) return false;
    const auto [at, begins] = newest_.try_emplace(index, number);
    if (!begins && number <= at->second) return false;
    at->second = number;
    if (newest_.size() <= kSessionsMax) return true;
    oldest_ = newest_.begin()->first + 1;
    newest_.erase(newest_.begin());
    return index >= oldest_;
}

std::string PageSessions::code_of_answer(const Shown& request, const HttpReply& reply) const {
    return code(token_, "retrace/answer/1\n" + request.session + "\n" + std::to_string(request.number) + "\n" +
                            std::to_string(reply.status) + "\n" + std::string(reply.body.begin(), reply.body.end()));
}

}  // namespace retrace::node::machine
