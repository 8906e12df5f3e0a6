// SPDX-License-Identifier: MIT
// Page and agent show each other that they know the token, and send it to nobody.
//
// All that is sent are codes HMAC-SHA-256(token, text), the token as its 64 hex digits, codes and sessions as hex digits:
//   GET /machine/hello?nonce=N   answers a new session S and the code of "retrace/agent/1\nN\nS", N of 64 hex digits
//   Authorization: Retrace S I C   of each request, C the code of "retrace/page/1\nS\nI\nMETHOD\nTARGET", I a decimal number
//                                that grows with each request of the session
//   Retrace-Proof                of each answer to one, the code of "retrace/answer/1\nS\nI\nSTATUS\nBODY"
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "node/net/http_types.hpp"

namespace retrace::node::machine {

class PageSessions {
public:
    explicit PageSessions(std::string token);

    struct Greeting {
        std::string session, code;
    };
    /// Begins a session, which costs nothing until a request shows the token; nullopt if the nonce is none.
    std::optional<Greeting> greet(std::string_view nonce);

    /// A request that has shown the token.
    struct Shown {
        std::string session;
        std::uint64_t number = 0;
    };
    /// Nullopt if it shows no token, belongs to no session of this process, or repeats an earlier request. Thread-safe.
    std::optional<Shown> shown(const HttpRequest& request);
    std::string code_of_answer(const Shown& request, const HttpReply& reply) const;

private:
    std::string session_of(std::uint64_t index) const;
    bool is_new(std::uint64_t index, std::uint64_t number);

    const std::string token_, secret_;
    std::atomic<std::uint64_t> greeted_{0};
    std::mutex mutex_;                               // guards the members below
    std::map<std::uint64_t, std::uint64_t> newest_;  ///< The greatest number that was shown, by session.
    std::uint64_t oldest_ = 0;                       ///< Sessions below it have ended.
};

}  // namespace retrace::node::machine
