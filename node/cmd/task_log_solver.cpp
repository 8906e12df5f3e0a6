// SPDX-License-Identifier: MIT
#include "node/cmd/task_log_solver.hpp"

#include <algorithm>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/task_journal_wire.hpp"
#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInfix = "-solver-", kEnding = ".log";

fs::path file_of(const std::string& data_dir, std::uint64_t chain_id, std::uint64_t task, const std::string& solver) {
    fs::path out = task_note(data_dir, chain_id, task);
    out += std::string(kInfix) + solver + std::string(kEnding);
    return out;
}

/// The lines of one answer that are not kept yet.
Status<> keep(const Journal& journal, TaskLog& log) {
    for (const JournalLine& line : journal.lines)
        RETRACE_CHECK(
            log.add(line.height, (line.run == 0 ? "" : "run " + std::to_string(line.run) + ": ") + line.text));
    return Unit{};
}

}  // namespace

Result<std::vector<SolverWord>> ask_solvers(ChainSession& at, const KeyOptions& options, const std::string& data_dir,
                                            std::uint64_t task) {
    const auto status = task_status(at.chain, task);
    if (!status) return error(status.error().message);
    const auto chain_id = at.chain.chain_id();
    if (!chain_id) return error(chain_id.error().message);
    RETRACE_TRY(state, at.chain.newest());
    std::map<ledger::Address, std::string> endpoints;  // Empty: it is not registered any more.
    state.read([&] {
        for (const market::Run& run : status->runs) {
            const auto info = contracts::views::solver(state, run.solver);
            endpoints[run.solver] = info ? info->endpoint : std::string();
        }
    });
    if (state.failure()) return error(state.failure()->message);
    if (endpoints.empty()) return error("no solver has had a run of task " + std::to_string(task) + " yet");
    RETRACE_TRY(key, options.load());
    std::vector<SolverWord> out;
    for (const auto& [solver, endpoint] : endpoints) {
        SolverWord word{ledger::to_checksum(solver), {}, {}};
        TaskLog log(file_of(data_dir, *chain_id, task, ledger::to_0x(solver)));
        const auto told = fetch_journal(endpoint, sign_request(key, {*chain_id, solver}, task, state.height()));
        if (told) {
            RETRACE_CHECK(keep(*told, log));
            if (told->dropped != 0) word.missing = "it no longer has " + std::to_string(told->dropped) + " older lines";
        } else {
            word.missing = "it does not tell its log now: " + told.error().message;
        }
        if (log.is_full()) word.missing += (word.missing.empty() ? "" : "; ") + log.full_note();
        word.lines = log.lines();
        out.push_back(std::move(word));
    }
    return out;
}

std::vector<SolverWord> kept_words(const std::string& data_dir, std::uint64_t task) {
    const std::string infix = "-" + std::to_string(task) + std::string(kInfix);
    std::vector<SolverWord> out;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(requester_folder(data_dir) / "tasks", ignored)) {
        const std::string name = entry.path().filename().string();
        const std::size_t found = name.find(infix);
        if (found == std::string::npos || !name.ends_with(kEnding)) continue;
        const auto solver = ledger::parse_address(
            std::string_view(name).substr(found + infix.size(), name.size() - found - infix.size() - kEnding.size()));
        if (solver) out.push_back({ledger::to_checksum(*solver), TaskLog(entry.path()).lines(), "it was not asked"});
    }
    std::sort(out.begin(), out.end(), [](const SolverWord& a, const SolverWord& b) { return a.solver < b.solver; });
    return out;
}

}  // namespace retrace::node::cli
