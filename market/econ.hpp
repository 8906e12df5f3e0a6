// SPDX-License-Identifier: MIT
// What each way to cheat is worth, from the parameters of genesis. SPEC 8 derives the formulas. No rule of
// the chain reads this: people and tests do, to see that a set of parameters makes honest play the best.
#pragma once

#include <string_view>
#include <vector>

#include "market/odds.hpp"

namespace retrace::market {

/// A task on a chain, and what is assumed about the parties.
struct Setting {
    Params params;
    TaskSpec spec;  ///< Read: steps, interval, price_ceiling, audit_bp, auditors.
    std::uint64_t cost_bp =
        8'000;  ///< What computing a segment costs, as a share of its price. A replay costs the same.
    std::uint64_t verifiers = 10;  ///< With equal stakes.
    U256 stake;                    ///< What the solver has locked.
};

enum class Fraud : std::uint8_t {
    skip_segment = 1,  ///< One segment between the first and the last is made up.
    skip_all = 2,      ///< All of them are.
    forge_first = 3,   ///< The first or the last one, which are always audited.
    accuse_self = 4,   ///< A bad segment is accused by the solver's own verifier, for the challenger's share.
    withhold_data = 5,     ///< An audited segment is not opened or not served.
    stop = 6,              ///< The run is left in the middle.
    skip_audit = 7,        ///< A drawn auditor does nothing.
    idle_verdict = 8,      ///< It commits to anything and never reveals it.
    false_accusation = 9,  ///< A right segment is challenged.
    grind_beacon = 10,     ///< A bad segment, and colluding members withhold the reveals that draw it.
    bribe_auditors = 11,   ///< All drawn auditors are paid what betraying the solver would bring them.
    starve_auditors = 12,  ///< A bad segment that is drawn is served to nobody but who colludes.
    several_tasks = 13,    ///< One bad segment in each of as many tasks as an account may run.
    dispute_decoy = 14,    ///< A bad segment, while an accomplice disputes a task of its own to keep others out.
    harass_solver = 15,    ///< A right segment is challenged for what that makes its solver compute.
};
std::string_view slug(Fraud fraud) noexcept;
/// One sentence for people.
std::string_view sentence(Fraud fraud) noexcept;

/// Expected gain over honest play: win - lose; of harass_solver what its victim computes less what it is given for
/// that. `win` is rounded up and `lose` down, so that no gain is hidden.
struct Prospect {
    Fraud fraud{};
    U256 win, lose;
    bool gains = false;  ///< Whether more is won than lost, decided in parts of the smallest unit.
    bool assumed =
        true;  ///< Must not pay. False: answered by an assumption only (SPEC 8.4), shown but not asserted.
    bool pays() const noexcept { return gains; }
};
std::vector<Prospect> prospects(const Setting& setting);
/// Those that pay although they must not.
std::vector<Prospect> faults(const Setting& setting);

/// Limits of a set of parameters.
struct Limits {
    U256 least_stake;                ///< Without the safety factor.
    std::uint64_t collusion_bp = 0;  ///< The largest share of colluding stake that `stake` still bears,
    std::uint64_t served_collusion_bp = 0;  ///< and when the solver serves everybody.
    U256 price_for_auditors;         ///< The dearest segment whose replay the audit fee covers.
};
/// Null when nothing is ever audited.
std::optional<Limits> limits(const Setting& setting);

/// Of a whole task, expected.
struct AuditBooks {
    std::uint64_t audits_milli = 0;  ///< Audits, in thousandths.
    std::uint64_t replays_bp = 0;    ///< Replayed segments as a share of all.
    U256 fees;                       ///< To all auditors.
    U256 income;                     ///< Of each verifier,
    U256 expense;                    ///< and what its replays cost.
};
AuditBooks audit_books(const Setting& setting);

}  // namespace retrace::market
