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

}  // namespace

Status<> set_own_data(const OwnDataFlags& flags, SolverOptions& out) {
    for (const std::string& folder : flags.folders) out.agent.private_data.push_back({folder});
    const auto consent = parse_accounts(flags.consent);
    if (!consent) return error("--consent: " + consent.error().message);
    out.consent = *consent;
    if (out.consent.size() > market::kConsentedMax)
        return error("--consent names " + std::to_string(out.consent.size()) + " accounts, and a member has at most " +
                     std::to_string(market::kConsentedMax) + " auditors");
    for (const std::string& text : flags.data_for) {
        const auto task = parse_task(text);
        const auto requester = ledger::parse_address(text);
        if (!task && !requester)
            return error("--data-for must be a task's number, or the account of a requester, 0x and 40 hex digits");
        if (task)
            out.data_use.tasks.insert(*task);
        else
            out.data_use.requesters.insert(*requester);
    }
    if (flags.folders.empty() && (!out.consent.empty() || !flags.data_for.empty()))
        return error("--consent and --data-for are about one's own data; name the folder of these with --data");
    if (!flags.folders.empty() && flags.data_for.empty())
        return error(
            "--data needs --data-for: the tasks, or the requesters, whose programs may read the data. What a member "
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
