// SPDX-License-Identifier: MIT
// SPEC 21.13. Who takes part in a group whose members train on data of their own, which data these are, and who may see
// them.
#include <algorithm>
#include <functional>

#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/rules/groups/rules.hpp"

namespace retrace::contracts {
namespace {

using Accounts = std::vector<Address>;

/// 21.13.10: one form for each set of accounts.
bool is_list(const Accounts& accounts, std::size_t most) {
    if (accounts.empty() || accounts.size() > most) return false;
    return std::adjacent_find(accounts.begin(), accounts.end(), std::greater_equal<>()) == accounts.end();
}

Accounts join(const Accounts& known, const Accounts& more) {
    Accounts out;
    std::set_union(known.begin(), known.end(), more.begin(), more.end(), std::back_inserter(out));
    return out;
}

bool contains(const Accounts& accounts, const Address& account) {
    return std::binary_search(accounts.begin(), accounts.end(), account);
}

CallStatus admit_private(const StateView& view, std::uint64_t task) {
    const auto terms = views::group_spec(view, task);
    if (!terms) return CallStatus::not_group;                      // 21.13.11
    if (terms->private_sets == 0) return CallStatus::not_private;  // 21.13.12
    return CallStatus::ok;
}

}  // namespace

CallStatus check(const AdmitMembers& call) {
    return is_list(call.accounts, market::kNamedInCallMax) ? CallStatus::ok : CallStatus::wrong_accounts;  // 21.13.10
}

CallStatus admit(const AdmitMembers& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;  // 21.13.13
    const CallStatus is_private = admit_private(view, call.task);
    if (is_private != CallStatus::ok) return is_private;
    if (task->requester != context.sender) return CallStatus::not_requester;  // 21.13.14
    if (market::is_final(task->state)) return CallStatus::wrong_task_state;   // 21.13.15
    const Accounts known = views::admitted(view, call.task), admitted = join(known, call.accounts);
    if (admitted == known) return CallStatus::already_committed;                   // 21.13.35
    if (admitted.size() > market::kAdmittedMax) return CallStatus::too_many_open;  // 21.13.16
    return CallStatus::ok;
}

void apply(const AdmitMembers& call, const TxContext&, Effects& fx) {
    store_list(fx.state, keys::admitted(call.task), join(views::admitted(fx.state, call.task), call.accounts));
    fx.emit(MembersAdmitted{call.task, call.accounts});
}

CallStatus check(const CommitData& call) {
    const bool zero =
        std::any_of(call.data.begin(), call.data.end(), [](const Hash32& root) { return root.is_zero(); });
    return zero ? CallStatus::wrong_data : CallStatus::ok;  // 21.13.17
}

CallStatus admit(const CommitData& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.13.18
    const CallStatus is_private = admit_private(view, call.task);
    if (is_private != CallStatus::ok) return is_private;
    if (call.data.size() != views::group_spec(view, call.task)->private_sets)
        return CallStatus::wrong_data;                                                                  // 21.13.17
    if (!views::member(view, call.task, call.run)->data.empty()) return CallStatus::already_committed;  // 21.13.19
    return CallStatus::ok;
}

void apply(const CommitData& call, const TxContext&, Effects& fx) {
    auto member = must_load<market::Member>(fx.state, keys::member(call.task, call.run));
    member.data = call.data;
    store(fx.state, keys::member(call.task, call.run), member);
    fx.emit(DataCommitted{call.task, call.run, call.data});
}

namespace {

using market::FormerAuditor;

/// Those that may still have segments to audit.
std::vector<FormerAuditor> still_auditing(const market::Consent& consent, const market::Run& run) {
    std::vector<FormerAuditor> out = consent.former;
    std::erase_if(out, [&](const FormerAuditor& former) { return former.segments <= run.finalised; });
    return out;
}

void remove_account(Accounts& accounts, const Address& account) { std::erase(accounts, account); }

/// Whether the account is among those whose consent the member took back.
bool was_auditor(const market::Consent& consent, const Address& account) {
    return std::any_of(consent.former.begin(), consent.former.end(),
                       [&](const FormerAuditor& former) { return former.account == account; });
}

}  // namespace

CallStatus check(const GiveConsent& call) {
    return is_list(call.accounts, market::kConsentedMax) ? CallStatus::ok : CallStatus::wrong_accounts;  // 21.13.10
}

CallStatus admit(const GiveConsent& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.13.18
    const CallStatus is_private = admit_private(view, call.task);
    if (is_private != CallStatus::ok) return is_private;
    if (contains(call.accounts, context.sender)) return CallStatus::own_run;  // 21.13.20
    if (contains(call.accounts, must_load<market::Task>(view, keys::task(call.task)).requester))
        return CallStatus::own_task;  // 21.13.20
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    const auto consent = views::consent(view, call.task, call.run);
    const Accounts named = join(consent.named, call.accounts);
    if (named == consent.named) return CallStatus::already_committed;  // 21.13.26
    if (named.size() + still_auditing(consent, run).size() > market::kConsentedMax)
        return CallStatus::too_many_open;  // 21.13.21
    return CallStatus::ok;
}

void apply(const GiveConsent& call, const TxContext&, Effects& fx) {
    auto consent = views::consent(fx.state, call.task, call.run);
    consent.named = join(consent.named, call.accounts);
    store(fx.state, keys::consent(call.task, call.run), consent);
    fx.emit(ConsentGiven{call.task, call.run, call.accounts});
}

CallStatus check(const AcceptConsent&) { return CallStatus::ok; }

CallStatus admit(const AcceptConsent& call, const TxContext& context, const StateView& view) {
    const CallStatus is_private = admit_private(view, call.task);
    if (is_private != CallStatus::ok) return is_private;
    const auto run = views::run(view, call.task, call.run);
    if (!run) return CallStatus::unknown_run;                                         // 21.13.22
    if (run->state != market::RunState::running) return CallStatus::wrong_run_state;  // 21.13.23
    const auto consent = views::consent(view, call.task, call.run);
    if (!contains(consent.named, context.sender)) return CallStatus::no_consent;           // 21.13.24
    if (contains(consent.accepted, context.sender)) return CallStatus::already_committed;  // 21.13.25
    return CallStatus::ok;
}

void apply(const AcceptConsent& call, const TxContext& context, Effects& fx) {
    auto consent = views::consent(fx.state, call.task, call.run);
    consent.accepted = join(consent.accepted, {context.sender});
    std::erase_if(consent.former, [&](const FormerAuditor& former) { return former.account == context.sender; });
    store(fx.state, keys::consent(call.task, call.run), consent);
    fx.emit(ConsentAccepted{call.task, call.run, context.sender});
}

CallStatus check(const WithdrawConsent&) { return CallStatus::ok; }

CallStatus admit(const WithdrawConsent& call, const TxContext& context, const StateView& view) {
    const CallStatus is_private = admit_private(view, call.task);
    if (is_private != CallStatus::ok) return is_private;
    const auto run = views::run(view, call.task, call.run);
    if (!run) return CallStatus::unknown_run;                                         // 21.13.27
    if (run->state != market::RunState::running) return CallStatus::wrong_run_state;  // 21.13.28
    const bool by_member = run->solver == context.sender;
    if (!by_member && call.account != context.sender) return CallStatus::not_solver;  // 21.13.29
    const auto consent = views::consent(view, call.task, call.run);
    const bool named = contains(consent.named, call.account);
    if (!named && (by_member || !was_auditor(consent, call.account))) return CallStatus::no_consent;  // 21.13.30
    return CallStatus::ok;
}

void apply(const WithdrawConsent& call, const TxContext& context, Effects& fx) {
    const auto run = must_load<market::Run>(fx.state, keys::run(call.task, call.run));
    auto consent = views::consent(fx.state, call.task, call.run);
    const bool by_member = run.solver == context.sender, accepted = contains(consent.accepted, call.account);
    remove_account(consent.named, call.account);
    remove_account(consent.accepted, call.account);
    consent.former = still_auditing(consent, run);
    // 21.13.29: what the member took back once stays, also if it names the account again and takes that back.
    if (accepted || !by_member)
        std::erase_if(consent.former, [&](const FormerAuditor& former) { return former.account == call.account; });
    const std::uint64_t segments = std::max<std::uint64_t>(run.next_state, 1) - 1;
    if (by_member && accepted && segments > run.finalised) {
        consent.former.push_back({call.account, segments});
        std::sort(consent.former.begin(), consent.former.end(),
                  [](const FormerAuditor& a, const FormerAuditor& b) { return a.account < b.account; });
    }
    store(fx.state, keys::consent(call.task, call.run), consent);
    fx.emit(ConsentWithdrawn{call.task, call.run, call.account, by_member});
}

}  // namespace retrace::contracts
