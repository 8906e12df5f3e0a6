// SPDX-License-Identifier: MIT
// Notices another agent of the same account: two would send each other's transactions out of order, answer the same
// duty twice, and lose stake. The ledger names one endpoint for an account; whoever answers there is asked for a proof
// that it has the account's secret.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// The path at which an agent proves that it has its account's secret: this and 64 hex digits of a challenge.
inline constexpr std::string_view kPartyPath = "/party/";

/// What an agent answers there: 64 hex digits of `instance`, and SHA-256("retrace/party-answer/1" ‖ secret ‖ challenge ‖
/// instance) in as many. nullopt: the challenge is malformed. Only who has the secret can make or check it.
std::optional<std::string> party_answer(const Hash32& secret, const Hash32& instance, std::string_view challenge);

/// Asks the agent at `endpoint`, for three seconds at most, with a random challenge. Returns the instance of an agent
/// with this secret; nullopt: none answers there.
std::optional<Hash32> ask_party(const std::string& endpoint, const Hash32& secret);

/// Follows what the ledger says about this agent's endpoint.
class AccountGuard {
public:
    explicit AccountGuard(std::string endpoint) : endpoint_(std::move(endpoint)) {}
    /// `registered`: the account's endpoint on the ledger. Returns true from when it has been ours and is another: an
    /// agent with the same key has registered since.
    bool is_replaced(const std::string& registered) {
        seen_ = seen_ || registered == endpoint_;
        return seen_ && registered != endpoint_;
    }

private:
    std::string endpoint_;
    bool seen_ = false;
};

/// Why an agent does not start or go on, with the remedy.
std::string already_runs(const std::string& address, const std::string& endpoint);

}  // namespace retrace::node
