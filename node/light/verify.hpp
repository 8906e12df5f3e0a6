// SPDX-License-Identifier: MIT
// Whether a header of CometBFT follows from one that is trusted (CometBFT specification, "Light client: verification").
#pragma once

#include <chrono>
#include <string>

#include "node/light/light_block.hpp"

namespace retrace::node::light {

enum class RefusalKind : std::uint8_t {
    not_enough_trust = 1,  ///< Too few of the trusted validators signed: a header between the two may show more.
    expired = 2,           ///< The trusted header is too old: its validators may have left, and may sign anything.
    invalid = 3,           ///< No honest node shows this.
};
struct Refusal {
    RefusalKind kind{};
    std::string message;
};

struct TrustRules {
    std::chrono::seconds period = std::chrono::hours(7 * 24);  ///< How long a header is trusted.
    std::chrono::seconds drift{10};                            ///< How far a header may be ahead of the clock.
};

/// The header has the form and the hashes that it needs, and is signed by more than two thirds of its own set.
Status<Refusal> verify_alone(const LightBlock& block);

/// Whether the block is still within the period in which it may be trusted.
Status<Refusal> check_age(const LightBlock& trusted, Time now, const TrustRules& rules);

/// `fresh` follows from `trusted`, which is of the same chain and lower: it is signed by more than two thirds of its own
/// set, which the trusted header announced if it is the one before, and otherwise by more than a third of the power of
/// the trusted set. Signatures are checked until enough are found. One that is wrong does not count: CometBFT accepts
/// some (ZIP 215) that RFC 8032 does not, and with such a signature one validator could make every block invalid here.
Status<Refusal> verify(const LightBlock& trusted, const LightBlock& fresh, Time now, const TrustRules& rules = {});

}  // namespace retrace::node::light
