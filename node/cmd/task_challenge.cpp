// SPDX-License-Identifier: MIT
// retrace task challenge: replays the opened segments of a task and disputes those that end elsewhere than the solver
// says, until the disputes are over.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/agents/verifier_service.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/log.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace views = contracts::views;

struct ChallengeFlags {
    SignerOptions signer;
    std::string data_dir;
    std::uint64_t task = 0;
    unsigned threads = 0;
};

/// The disputes about the task that `challenger` has opened with numbers over `after`.
Result<std::vector<market::Dispute>> disputes_since(ChainReader& chain, std::uint64_t after, std::uint64_t task,
                                                    const ledger::Address& challenger) {
    RETRACE_TRY(state, chain.newest());
    std::vector<market::Dispute> out;
    for (std::uint64_t id = after + 1; id <= views::dispute_count(state); ++id) {
        auto dispute = views::dispute(state, id);
        if (dispute && dispute->task == task && dispute->challenger == challenger) out.push_back(std::move(*dispute));
    }
    if (state.failure()) return error(state.failure()->message);
    return out;
}

std::string counted(std::size_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Why no segment of the task can be challenged (contracts 15.1.7); nullopt: one can be, or may be later.
std::optional<std::string> why_over(ChainReader& chain, std::uint64_t id) {
    const auto status = task_status(chain, id);
    if (!status) return status.error().message;
    const market::Task& task = status->task;
    if (!market::is_final(task.state) && task.state != market::TaskState::delivering) return std::nullopt;
    const std::string named = "task " + std::to_string(id),
                      is = " (it is " + std::string(market::slug(task.state)) + ")";
    if (status->runs.empty()) return named + " never ran" + is + ": there is no segment to challenge";
    const auto state = chain.newest();
    if (!state) return state.error().message;
    // The newest segment that was opened has the last window; those behind it may be blind.
    std::uint64_t last = 0;
    state->read([&] {
        last = 0;
        for (const market::Run& run : status->runs) {
            bool found = false;
            for (std::uint64_t next = run.next_state; next >= run.first_state + 2 && !found; --next) {
                const auto segment = views::segment(*state, id, run.index, next - 2);
                found = segment && segment->window_end != 0;
                if (found) last = std::max(last, segment->window_end);
            }
        }
    });
    if (state->failure()) return state->failure()->message;
    if (last == 0) return "no segment of " + named + " was opened" + is + ": there is none to challenge";
    return "no segment of " + named + " can be challenged any more" + is + ": the last window ended at block " +
           std::to_string(last) +
           ". A model that was fetched is checked by `retrace receipt verify receipt.json --replay 4`";
}

int report(const Program& program, std::uint64_t task, const ReplayedSegments& replayed,
           const std::vector<market::Dispute>& disputes) {
    const std::size_t done = replayed.done.size(), failed = replayed.failed.size();
    std::string missing;
    if (failed != 0)
        missing = counted(failed, "segment") + " of task " + std::to_string(task) +
                  " could not be replayed: " + replayed.failed.begin()->second;
    std::string lost;
    for (const market::Dispute& dispute : disputes)
        if (dispute.state == market::DisputeState::challenger_lost)
            lost = "dispute " + std::to_string(dispute.id) + " was lost, and its bond with it";
    if (program.json) {
        json::array list;
        for (const market::Dispute& dispute : disputes)
            list.push_back(json::object{{"dispute", dispute.id},
                                        {"run", dispute.run},
                                        {"segment", dispute.segment},
                                        {"state", std::string(market::slug(dispute.state))}});
        std::cout << json::serialize(json::object{
                         {"task", task}, {"replayed", done}, {"not_replayed", failed}, {"disputes", std::move(list)}})
                  << '\n';
        return failed == 0 && lost.empty() ? kDone : kFailed;
    }
    if (done != 0)
        std::cout << counted(done, "segment") << " of task " << task << (done == 1 ? " was" : " were") << " replayed"
                  << (disputes.empty() ? ", and what was replayed ends where its solver says; nothing was disputed"
                                       : "")
                  << '\n';
    for (const market::Dispute& dispute : disputes)
        std::cout << "dispute " << dispute.id << " of segment " << dispute.segment << " of run " << dispute.run
                  << " ended: " << market::slug(dispute.state) << '\n';
    return missing.empty() && lost.empty() ? kDone : fail(program, missing.empty() ? lost : missing);
}

int challenge(const Program& program, const ChallengeFlags& flags) {
    auto key = flags.signer.key.load();
    if (!key) return fail(program, key.error().message);
    const ledger::Address self = key->address();
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    if (const auto over = why_over((*at)->chain, flags.task)) return fail(program, *over);
    const auto state = (*at)->chain.newest();
    if (!state) return fail(program, state.error().message);
    const std::uint64_t before = views::dispute_count(*state);
    if (state->failure()) return fail(program, state->failure()->message);
    set_up_log("warn");
    VerifierOptions options;
    options.agent.node_url = flags.signer.chain.node.url;
    options.agent.data_dir = requester_folder(flags.data_dir) / "challenges";
    options.agent.threads = flags.threads;
    if (flags.signer.chain.trust.given()) options.agent.trust = flags.signer.chain.trust.block;
    options.agent.listen_chosen = true;  // It opens disputes and serves nobody.
    options.watch_bp = 10'000;
    options.challenged_task = flags.task;
    auto service = VerifierService::open(options, std::move(*key));
    if (!service) return fail(program, service.error().message);
    std::cerr << "replaying the segments of task " << flags.task
              << " as they are opened, until it is delivered or ends; let it run: who does not answer loses a dispute"
              << std::endl;
    const std::atomic<bool> never{false};
    if (const auto ran = (*service)->run(never); !ran) return fail(program, ran.error().message);
    const auto disputes = disputes_since((*at)->chain, before, flags.task, self);
    if (!disputes) return fail(program, disputes.error().message);
    const ReplayedSegments& replayed = (*service)->replayed();
    if (replayed.done.empty() && replayed.failed.empty() && disputes->empty()) {
        const auto over = why_over((*at)->chain, flags.task);
        return fail(program, "nothing was replayed: " +
                                 over.value_or("no segment of task " + std::to_string(flags.task) + " was opened"));
    }
    return report(program, flags.task, replayed, *disputes);
}

}  // namespace

void add_task_challenge(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand(
        "challenge", "Replay a task's segments while they can be challenged, and dispute wrong ones");
    auto flags = std::make_shared<ChallengeFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    flags->signer.add_to(*command);
    command->add_option("--data-dir", flags->data_dir, "Where fetched states are kept (~/.retrace/requester)");
    add_threads(*command, flags->threads);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return challenge(program, *flags); }; });
}

}  // namespace retrace::node::cli
