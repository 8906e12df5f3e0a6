// SPDX-License-Identifier: MIT
// The expected gain of each way to cheat under the parameters of genesis. SPEC 8 derives the formulas. No rule of the
// chain reads it; people and tests use it to check that honest play is the best strategy.
#pragma once

#include <string_view>
#include <vector>

#include "market/odds.hpp"

namespace retrace::market {

/// A task on a chain, and assumptions about the parties.
struct Setting {
    Params params;
    TaskSpec spec;                  ///< Fields read: steps, interval, price_ceiling, audit_bp, auditors.
    std::uint64_t cost_bp = 8'000;  ///< Cost of computing a segment, as a share of its price. A replay costs the same.
    std::uint64_t verifiers = 10;   ///< Number of verifiers, with equal stakes.
    U256 stake;                     ///< Stake that the solver has locked.
};

enum class Fraud : std::uint8_t {
    skip_segment = 1,      ///< One segment between the first and the last is made up.
    skip_all = 2,          ///< All of these are made up.
    forge_first = 3,       ///< The first or the last segment, which are always audited, is made up.
    accuse_self = 4,       ///< A bad segment is accused by the solver's own verifier, for the challenger's share.
    withhold_data = 5,     ///< An audited segment is not opened or not served.
    stop = 6,              ///< The solver leaves the run in the middle.
    skip_audit = 7,        ///< A drawn auditor does nothing.
    idle_verdict = 8,      ///< A drawn auditor commits to a guess and never reveals it.
    false_accusation = 9,  ///< A right segment is challenged.
    grind_beacon = 10,     ///< A bad segment, and colluding members withhold the reveals that draw it.
    bribe_auditors = 11,   ///< All drawn auditors are paid as much as betraying the solver would bring them.
    starve_auditors = 12,  ///< A drawn bad segment is served to colluding auditors only.
    several_tasks = 13,    ///< One bad segment in each of as many tasks as an account may run.
    dispute_decoy = 14,    ///< A bad segment, while an accomplice disputes a task of its own to keep others out.
    harass_solver = 15,    ///< A right segment is challenged to make its solver compute it again.
};
std::string_view slug(Fraud fraud) noexcept;
/// One sentence for human readers.
std::string_view sentence(Fraud fraud) noexcept;

/// Expected gain over honest play: win - lose. For harass_solver: the victim's computing cost less its compensation.
/// `win` is rounded up and `lose` down, so that rounding hides no gain.
struct Prospect {
    Fraud fraud{};
    U256 win, lose;
    bool gains = false;    ///< Whether win exceeds lose, decided in parts of the smallest unit.
    bool asserted = true;  ///< Must not pay. False: prevented by an assumption only (SPEC 8.4), shown but not asserted.
    bool pays() const noexcept { return gains; }
};
std::vector<Prospect> prospects(const Setting& setting);
/// The asserted frauds that pay although they must not.
std::vector<Prospect> faults(const Setting& setting);

/// Limits of a set of parameters.
struct Limits {
    U256 least_stake;                       ///< Without the safety factor.
    std::uint64_t collusion_bp = 0;         ///< Largest share of colluding stake that `stake` withstands,
    std::uint64_t served_collusion_bp = 0;  ///< and the same when the solver serves every auditor.
    U256 price_for_auditors;                ///< Highest segment price at which the audit fee covers a replay.
};
/// Returns nullopt when no segment is ever audited.
std::optional<Limits> limits(const Setting& setting);

/// Expected numbers for a whole task.
struct AuditBooks {
    std::uint64_t audits_milli = 0;  ///< Audits, in thousandths.
    std::uint64_t replays_bp = 0;    ///< Replayed segments as a share of all.
    U256 fees;                       ///< To all auditors.
    U256 income;                     ///< Income of each verifier,
    U256 expense;                    ///< and the cost of its replays.
};
AuditBooks audit_books(const Setting& setting);

}  // namespace retrace::market
