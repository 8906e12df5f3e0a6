// SPDX-License-Identifier: MIT
#include "node/cmd/private_data_flags.hpp"

#include <charconv>
#include <optional>

#include "ledger/crypto/eip55.hpp"
#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {
namespace {

std::optional<std::uint64_t> parse_task(const std::string& text) {
    std::uint64_t task = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), task);
    const bool whole = failed == std::errc() && end == text.data() + text.size();
    return whole && task != 0 ? std::optional(task) : std::nullopt;
}

/// Adds REQUESTER or REQUESTER:ROOT; false if the text is neither.
bool add_data_use(const std::string& text, DataUse& out) {
    const auto colon = text.find(':');
    const auto requester = ledger::parse_address(text.substr(0, colon));
    if (!requester) return false;
    if (colon == std::string::npos) return out.requesters.insert(*requester), true;
    const auto root = from_hex(text.substr(colon + 1));
    if (!root || root->size() != Hash32::size()) return false;
    out.plans.emplace(*requester, to_hash32(*root));
    return true;
}

}  // namespace

Status<> set_own_data(const OwnDataFlags& flags, SolverOptions& out) {
    for (const std::string& folder : flags.folders) out.agent.private_data.push_back({folder});
    const auto consent = parse_accounts(flags.consent);
    if (!consent) return error("--consent: " + consent.error().message);
    out.consent = *consent;
    if (out.consent.size() > market::kConsentedMax)
        return error("--consent names " + std::to_string(out.consent.size()) + " accounts, and a member has at most " +
                     std::to_string(market::kConsentedMax) + " auditors");
    for (const std::string& text : flags.data_for)
        if (!add_data_use(text, out.data_use))
            return error("--data-for must be the account of a requester, 0x and 40 hex digits" +
                         std::string(parse_task(text) ? ": anybody may post the task that gets a number" : "") +
                         "; followed by : and the plan's root (64 hex digits, program_root of `task show --json`), for "
                         "tasks of that plan alone");
    if (flags.folders.empty() && (!out.consent.empty() || !flags.data_for.empty()))
        return error("--consent and --data-for are about one's own data; name the folder of these with --data");
    if (!flags.folders.empty() && flags.data_for.empty())
        return error(
            "--data needs --data-for: the requesters whose programs may read the data. What a member "
            "sends is public, so a requester's program can publish them");
    return Unit{};
}

Result<PrivateFolder> parse_audited_data(const std::string& text) {
    const auto colon = text.find(':'), equals = text.find('=');
    const bool cut = colon != std::string::npos && equals != std::string::npos && colon < equals;
    const auto task = cut ? parse_task(text.substr(0, colon)) : std::nullopt;
    const auto member = cut ? ledger::parse_address(text.substr(colon + 1, equals - colon - 1)) : std::nullopt;
    if (!task || !member || equals + 1 == text.size())
        return error("--data must be TASK:ACCOUNT=FOLDER: the training and the member whose data are in the folder");
    return PrivateFolder{text.substr(equals + 1), *task, *member};
}

}  // namespace retrace::node::cli
