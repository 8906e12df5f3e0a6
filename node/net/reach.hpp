// SPDX-License-Identifier: MIT
// How the port of an agent shows a node that connects back to it that an agent is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "merkle/base/bytes.hpp"

namespace retrace::node {

/// The path at which an agent answers: this and the 64 hex digits of a nonce.
inline constexpr std::string_view kReachPath = "/reach/";

/// What is answered: SHA-256("retrace/reach-answer/1" ‖ nonce) in 64 hex digits. It tells nothing about the agent; a
/// server of something else does not give it.
std::string reach_answer(const Hash32& nonce);
/// Same for the target of a request; empty if the target is not kReachPath and 64 lower-case hex digits.
std::string reach_answer_to(std::string_view target);

/// Whether nodes connect back to a port: those of HTTP and HTTPS by their protocols, and by both what needs no
/// privileges, so that no question has a node talk to the mail server of an address that others share.
constexpr bool is_reach_port(std::uint64_t port, bool tls) noexcept {
    return port == (tls ? 443 : 80) || (port >= 1024 && port <= 65'535);
}
/// The same as a sentence's part.
inline constexpr std::string_view kReachPorts = "80 (443 for https), or from 1024 to 65535";

}  // namespace retrace::node
