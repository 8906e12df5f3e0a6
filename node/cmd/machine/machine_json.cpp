// SPDX-License-Identifier: MIT
#include "node/cmd/machine/machine_json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>

namespace retrace::node::machine {
namespace {

namespace json = boost::json;

constexpr std::size_t kRows = 100;

json::object sum_json(const IncomeBook::Sum& sum) {
    return {{"earned", sum.earned.to_quantity()},
            {"lost", sum.lost.to_quantity()},
            {"segments", sum.segments},
            {"audits", sum.audits},
            {"last", sum.last}};
}

/// The newest rows first.
json::array rows_json(const std::map<std::uint64_t, IncomeBook::Sum>& rows, std::string_view name) {
    json::array out;
    for (auto row = rows.rbegin(); row != rows.rend() && out.size() < kRows; ++row) {
        json::object one = sum_json(row->second);
        one[name] = row->first;
        out.push_back(std::move(one));
    }
    return out;
}

json::object ledger_json(const LedgerFacts& facts) {
    const IncomeBook& income = facts.income;
    return {{"chain_id", facts.chain_id},
            {"height", facts.height},
            {"block_time", facts.block_time},
            {"pace_s", facts.pace_s},
            {"balance", facts.balance.to_quantity()},
            {"bonded", facts.stake.bonded.to_quantity()},
            {"locked", facts.stake.locked.to_quantity()},
            {"unbonding", facts.stake.unbonding.to_quantity()},
            {"unbond_height", facts.stake.unbond_height},
            {"income_first", income.first()},
            {"income_last", income.last()},
            {"income_complete", income.is_complete()},
            {"total", sum_json(income.total())},
            {"tasks", rows_json(income.tasks(), "task")},
            {"audits", rows_json(income.audits(), "audit")},
            {"days", rows_json(income.days(), "day")},
            {"trouble", facts.trouble}};
}

/// The rows of a list that the agent wrote as JSON.
json::array parsed_rows(const std::string& text) {
    boost::system::error_code wrong;
    json::value rows = json::parse(text, wrong);
    if (wrong || !rows.is_array()) return {};
    if (rows.as_array().size() > kRows) rows.as_array().resize(kRows);
    return std::move(rows.as_array());
}

}  // namespace

json::object state_json(const AgentIdentity& agent, const AgentStatus& status, const LedgerFacts& facts) {
    json::array work, duties, waiting;
    for (const std::string& item : status.work)
        if (work.size() < kRows) work.emplace_back(item);
    for (const Duty& duty : status.duties)
        if (duties.size() < kRows)
            duties.push_back(json::object{{"what", duty.what}, {"task", duty.task}, {"due", duty.due}});
    for (const solver::FailedWork& failed : status.waiting)
        if (waiting.size() < kRows)
            waiting.push_back(json::object{{"task", failed.task},
                                           {"what", failed.what},
                                           {"why", failed.why},
                                           {"attempts", failed.attempts},
                                           {"next", failed.next},
                                           {"due", failed.deadline}});
    const Earnings& since = status.since_start;
    return {{"role", agent.role},
            {"node", agent.node_url.substr(0, agent.node_url.find('#'))},
            {"address", status.address},
            {"endpoint", status.endpoint},
            {"height", status.height},
            {"draining", status.draining},
            {"work", std::move(work)},
            {"duties", std::move(duties)},
            {"waiting", std::move(waiting)},
            {"choices", parsed_rows(status.choices)},
            {"earlier", parsed_rows(status.earlier)},
            {"reserved", parsed_rows(status.reserved)},
            {"problems", status.problems},
            {"pending_calls", status.pending_calls},
            {"fees_since_start", since.fees.to_quantity()},
            {"ledger", ledger_json(facts)}};
}

json::object log_json(const LogTail::Page& page) {
    json::array lines;
    for (const std::string& line : page.lines) lines.emplace_back(line);
    return {{"first", page.first}, {"lines", std::move(lines)}};
}

}  // namespace retrace::node::machine
