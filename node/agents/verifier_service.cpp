// SPDX-License-Identifier: MIT
#include "node/agents/verifier_service.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

#include "contracts/records/group_views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "market/escrow.hpp"
#include "node/agents/consent_change.hpp"
#include "node/agents/group_views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/wide_orders.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node {
namespace {

constexpr const char* kUsedUp =
    "all links of the beacon that follow from this key are revealed; unbond, and go on with a new key";

solver::RunnerFactory runners_of(const VerifierOptions& options, const WorkerProcesses& workers) {
    return options.attack == verifier::VerifierAttack::false_accuser ? verifier::accusing_runners() : workers.runners();
}

struct VerifierCall {
    Submitter& submitter;
    const market::Params& params;
    const ledger::StateView& state;
    Immutable& immutable;

    /// Bond of a challenge. The task that a move names was read for the view from which the move follows.
    ledger::U256 bond_of(std::uint64_t task) const {
        const auto spec = immutable.spec(state, task);
        return spec ? market::challenge_bond(params, *spec) : params.challenge_bond;
    }

    Result<Hash32> operator()(const verifier::CommitVerdict& m) const {
        spdlog::info("event=verdict_committed audit={}", m.audit);
        return submitter.send("commit verdict of audit " + std::to_string(m.audit),
                              contracts::CommitVerdict{m.audit, m.commitment});
    }
    Result<Hash32> operator()(const verifier::RevealVerdict& m) const {
        spdlog::info("event=verdict_revealed audit={} root={}", m.audit, to_hex(view(m.root)));
        return submitter.send("reveal verdict of audit " + std::to_string(m.audit),
                              contracts::RevealVerdict{m.audit, m.root, m.salt});
    }
    Result<Hash32> operator()(const verifier::AttestRetention& m) const {
        return submitter.send("attest state " + std::to_string(m.index) + " of task " + std::to_string(m.task),
                              contracts::AttestRetention{m.task, m.run, m.index});
    }
    Result<Hash32> operator()(const verifier::ReportUnavailable& m) const {
        spdlog::warn("event=report_unavailable task={} run={} index={} tensor={} tile={}", m.task, m.run, m.index,
                     m.tensor, m.tile);
        const contracts::ReportUnavailable call{
            static_cast<std::uint8_t>(m.kind), m.task, m.run, m.index, m.tensor, m.tile};
        return submitter.send("report task " + std::to_string(m.task), call, params.report_fee);
    }
    Result<Hash32> operator()(const verifier::RevealBeacon& m) const {
        return submitter.send_free("reveal beacon", contracts::RevealBeacon{m.preimage});
    }
    Result<Hash32> operator()(const verifier::ChallengeInitial& m) const {
        spdlog::warn("event=challenge_initial_state task={} run={}", m.task, m.run);
        return submitter.send("challenge the initial state of task " + std::to_string(m.task),
                              contracts::ChallengeInitial{m.task, m.run, m.root}, bond_of(m.task));
    }
    Result<Hash32> operator()(const verifier::ChallengeSegment& m) const {
        spdlog::warn("event=challenge task={} run={} segment={}", m.task, m.run, m.segment);
        return submitter.send("challenge segment " + std::to_string(m.segment) + " of task " + std::to_string(m.task),
                              contracts::ChallengeSegment{m.task, m.run, m.segment, m.root}, bond_of(m.task));
    }
    Result<Hash32> operator()(const verifier::AnswerReport& m) const {
        return submitter.send("answer report " + std::to_string(m.report),
                              contracts::AnswerUnavailable{m.report, m.answer});
    }
    Result<Hash32> operator()(const verifier::PlayMove& m) const {
        return submitter.send("move in dispute " + std::to_string(m.dispute), contracts::PlayMove{m.dispute, m.move});
    }
};

}  // namespace

VerifierService::VerifierService(const VerifierOptions& options, std::unique_ptr<AgentProcess> process,
                                 std::unique_ptr<WorkerProcesses> workers)
    : options_(options),
      process_(std::move(process)),
      workers_(std::move(workers)),
      task_cache_(process_->source(), process_->pool(), runners_of(options, *workers_), process_->memory(),
                  workers_->initialisers()),
      metrics_(process_->options().data_dir) {
    task_cache_.set_private(process_->private_data());
    if (!process_->options().offload.empty()) task_cache_.set_states_on_disk();
    verifier::VerifierConfig config;
    config.secret = process_->secret();
    config.address = process_->address().bytes;
    config.resend_blocks = kResendBlocks;
    config.watch_bp = options_.watch_bp;
    config.messages = &process_->messages();
    auto agent = std::make_unique<verifier::VerifierAgent>(config, task_cache_, process_->checkpoints());
    agent_ = agent.get();
    if (options.attack)
        verifier_ = verifier::make_attacker(*options.attack, config, std::move(agent));
    else
        verifier_ = std::move(agent);
}

Result<std::unique_ptr<VerifierService>> VerifierService::open(const VerifierOptions& options, ledger::SecretKey key) {
    RETRACE_TRY(process, AgentProcess::open(options.agent, std::move(key)));
    if (options.attack && !process->developer_chain()) {
        return error("--cheat is refused: the chain at " + options.agent.node_url + " is not a developer chain");
    }
    RETRACE_TRY(workers, WorkerProcesses::open(process->worker_settings()));
    std::unique_ptr<VerifierService> service(new VerifierService(options, std::move(process), std::move(workers)));
    RETRACE_CHECK(service->enroll());
    return service;
}

namespace {

std::optional<Hash32> head_on_ledger(const std::optional<market::VerifierInfo>& info) {
    if (!info) return std::nullopt;
    return info->pending_head.is_zero() ? info->head : info->pending_head;
}

}  // namespace

Status<> VerifierService::check_account(const RemoteState& state,
                                        const std::optional<market::VerifierInfo>& info) const {
    if (info) RETRACE_CHECK(process_->check_alone(info->endpoint));
    const auto solver = contracts::views::solver(state, process_->address());
    if (!solver) return Unit{};
    RETRACE_CHECK(process_->check_alone(solver->endpoint));
    if (!contracts::views::open_runs(state, process_->address()).empty())
        return error("the account " + ledger::to_checksum(process_->address()) +
                     " has tasks as a solver, which it could not audit; give the verifier a key of its own (retrace "
                     "wallet new)");
    return Unit{};
}

Status<> VerifierService::enroll() {
    const auto height = process_->chain().height();
    if (!height) return error(height.error().message);
    enrolled_height_ = *height;
    waits_ = false;
    const RemoteState state = process_->chain().state(*height);
    const auto params = process_->immutable().params(state);
    const auto info = contracts::views::verifier(state, process_->address());
    if (!params) return error("the chain's parameters cannot be read");
    if (!options_.challenged_task) {
        RETRACE_CHECK(process_->check_endpoint());
        RETRACE_CHECK(check_account(state, info));
    }
    RETRACE_CHECK(process_->bond(params->min_verifier_stake));
    if (options_.challenged_task) return Unit{};
    if (!info || !info->member) {
        const auto head = agent_->beacon().head_to_register(head_on_ledger(info));
        if (!head) return error(kUsedUp);
        RETRACE_CHECK(process_->submitter().execute("register verifier",
                                                    contracts::RegisterVerifier{process_->endpoint(), *head}));
        spdlog::info("event=registered role=verifier endpoint={}", process_->endpoint());
    }
    return Unit{};
}

void VerifierService::update_registration(const market::VerifierInfo& info, const market::Params& params,
                                          std::uint64_t height) {
    if (!info.member || height < moved_height_ + kResendBlocks) return;
    const Hash32 last = *head_on_ledger(info);
    const auto next = agent_->beacon().next_head(last);
    if (!next && info.endpoint == process_->endpoint()) return;
    const std::uint64_t epoch = contracts::views::epoch_of(params, height + 1);
    if (info.joined_epoch < epoch && info.revealed_epoch != epoch) return;
    moved_height_ = height;
    const auto sent = process_->submitter().send(
        "register verifier", contracts::RegisterVerifier{process_->endpoint(), next.value_or(last)});
    if (sent)
        spdlog::info("event=registered_again endpoint={} next_chain={}", process_->endpoint(), next.has_value());
    else
        spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
}

bool VerifierService::waits_for_place(const RemoteState& state) {
    bool candidate = false;
    state.read([&] { candidate = contracts::views::is_candidate(state, process_->address()); });
    if (state.failure()) return true;  // The next block tells.
    if (candidate && !waits_)
        spdlog::info("event=candidate reason=\"the list of verifiers is full\" action=\"waits for a place\"");
    waits_ = candidate;
    return candidate;
}

Status<> VerifierService::run(const std::atomic<bool>& stop) {
    while (!stop && !finished_ && !ended_) {
        if (const auto result = order_thread_.poll()) {
            if (const auto* done = std::get_if<verifier::VerifierResult>(&*result)) {
                if (options_.challenged_task) count(*done);
                verifier_->on_done(*done);
            } else {
                data_checks_.on_done(std::get<DataChecked>(*result), height_);
            }
        }
        for (const std::string& problem : verifier_->take_problems()) {
            ++problems_;
            spdlog::warn("event=problem reason=\"{}\"", printable(problem));
        }
        if (const auto height = process_->new_height()) {
            on_block(*height);
            process_->report_outcomes();
        }
        std::this_thread::sleep_for(process_->options().poll);
    }
    process_->stop_fetching();
    if (stop && !options_.challenged_task)
        spdlog::warn(
            "event=stopped action=\"start it again within this epoch, or unbond first: a member that does not reveal "
            "its link of the beacon in an epoch loses the beacon penalty, and the verdicts of its audits are due\"");
    process_->report_earnings();
    return ended_ ? Status<>(error(*ended_)) : Status<>(Unit{});
}

void VerifierService::count(const verifier::VerifierResult& result) {
    const auto* const seen = std::get_if<verifier::Watched>(&result);
    if (seen == nullptr || seen->preempted) return;
    const solver::CheckpointKey segment{seen->task, seen->run, seen->segment};
    if (seen->problem.empty()) {
        replayed_.done.insert(segment);
        replayed_.failed.erase(segment);
    } else {
        replayed_.failed[segment] = printable(seen->problem);
    }
}

void VerifierService::on_block(std::uint64_t height) {
    height_ = height;
    const RemoteState state = process_->chain().state(height);
    const auto params = process_->immutable().params(state);
    verifier::VerifierView view;
    WatchChoice choice;
    if (!options_.attack) {
        choice = [this](std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
            if (options_.challenged_task && task != *options_.challenged_task) return false;
            return agent_->watches(task, run, segment);
        };
    }
    // A view that was not read completely leaves no trace: seats from before a restart are looked for only once.
    Seats seats;
    std::map<std::uint64_t, solver::TaskTerms> tasks;
    RunPeers peers;
    std::optional<market::VerifierInfo> info;
    const auto read = [&] {
        seats = seats_;
        view = verifier_view(state, height, process_->address(), seats, process_->immutable(),
                             options_.watch_bp != 0 || options_.attack == verifier::VerifierAttack::griefer,
                             process_->checkpoints().retained(), choice);
        tasks.clear();
        peers = RunPeers();
        const auto add = [&](const auto& list) {
            for (const auto& item : list) {
                tasks.emplace(item.terms.id, item.terms);
                peers.add(state, {item.terms.id, item.run});
                if constexpr (requires { item.member; })
                    if (item.member) peers.add_authors(state, authors_of(item.terms.id, item.member->records));
            }
        };
        add(view.audits);
        add(view.disputes);
        add(view.initials);
        add(view.watch);
        add(view.offers);
        add(view.reports);
        for (const AuditedData& data : process_->audited_data())
            if (const auto task = contracts::views::task(state, data.task))
                for (const std::uint32_t index : task->active) peers.add(state, {data.task, index});
        peers.add_verifiers(state);
        info = contracts::views::verifier(state, process_->address());
    };
    state.read_ahead(read);
    state.read(read);
    if (state.failure() || !params) return;  // The next block brings another view.
    if (options_.challenged_task)
        std::erase_if(view.initials,
                      [&](const auto& initial) { return initial.terms.id != *options_.challenged_task; });
    seats_ = std::move(seats);
    if (info && info->member && !options_.challenged_task)
        if (const auto alone = process_->check_not_replaced(info->endpoint); !alone) {
            ended_ = alone.error().message;
            return;
        }
    process_->immutable().forget_unused();
    process_->set_peers(std::move(peers));
    // If the node was down, this member may have missed a reveal and dropped out; it joins again as soon as the node is
    // back.
    if (!options_.challenged_task && info && !info->member && !waits_for_place(state) &&
        height > enrolled_height_ + params->epoch_blocks) {
        spdlog::warn("event=dropped_from_beacon action=\"joins again\"");
        if (const auto joined = enroll(); !joined)
            spdlog::warn("event=not_joined reason=\"{}\"", joined.error().message);
    }
    if (info && !options_.challenged_task) update_registration(*info, *params, height);

    if (!options_.challenged_task) update_consents(state, height);
    // Before new work is added: an agent that is never without work would otherwise keep every task that it ever had.
    if (order_thread_.idle()) task_cache_.keep_only(tasks);
    verifier::Verifier::Output out = verifier_->on_view(view);
    for (const verifier::VerifierMove& move : out.moves) {
        const auto sent = std::visit(VerifierCall{process_->submitter(), *params, state, process_->immutable()}, move);
        if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
    }
    finished_ = options_.challenged_task && is_finished(state, view, out);
    if (out.work) order_thread_.add(process_->in_time(widen<AnyResult>(std::move(*out.work))));
    // A kept state is proved with its task's program, which possibly nobody else serves by then.
    for (const verifier::KeepView& kept : view.keep) {
        if (tasks.contains(kept.task)) continue;
        if (const auto spec = process_->immutable().spec(state, kept.task))
            tasks[kept.task].program_root = spec->program_root;
    }
    if (!state.failure()) process_->collect_garbage(height, tasks);
    write_metrics(view);
    process_->tell_board([&](AgentStatus& status) {
        status.work = order_thread_.items();
        status.duties = duties_of(view);
        status.problems = problems_;
    });
}

void VerifierService::update_consents(const RemoteState& state, std::uint64_t height) {
    namespace views = contracts::views;
    std::erase_if(answered_, [&](const auto& item) { return height > item.second + kResendBlocks; });
    std::map<solver::RunKey, ConsentAnswer> due;
    std::set<Hash32> plans;
    std::vector<solver::WorkOrder<DataChecked>> orders;
    state.read([&] {
        due.clear();
        plans.clear();
        for (const AuditedData& data : process_->audited_data())
            if (const auto spec = process_->immutable().spec(state, data.task)) plans.insert(spec->program_root);
        for (const std::uint64_t id : views::active_tasks(state)) {
            const auto terms = process_->immutable().group(state, id);
            const auto task = terms && terms->private_sets != 0 ? views::task(state, id) : std::nullopt;
            for (const std::uint32_t index : task ? task->active : std::vector<std::uint32_t>{}) {
                const auto run = views::run(state, id, index);
                const auto member = views::member(state, id, index);
                if (!run || !member || run->state != market::RunState::running) continue;
                const auto has = has_data(state, height, *run, member->data, orders);
                if (!has) continue;
                const auto answer =
                    consent_answer(views::consent(state, id, index), run->finalised, process_->address(), *has);
                if (answer != ConsentAnswer::none) due[{id, index}] = answer;
            }
        }
    });
    for (auto& order : orders) order_thread_.add(process_->in_time(widen<AnyResult>(std::move(order))));
    if (state.failure()) return;
    process_->withhold_programs(std::move(plans));
    for (const auto& [run, answer] : due) {
        if (!answered_.emplace(run, height).second) continue;
        const bool accepts = answer == ConsentAnswer::accept;
        spdlog::info("event={} task={} run={}", accepts ? "accept_consent" : "withdraw_consent", run.first, run.second);
        const std::string of = " consent in task " + std::to_string(run.first);
        const auto sent =
            accepts ? process_->submitter().send("accept" + of, contracts::AcceptConsent{run.first, run.second})
                    : process_->submitter().send(
                          "withdraw" + of, contracts::WithdrawConsent{run.first, run.second, process_->address()});
        if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
    }
}

std::optional<bool> VerifierService::has_data(const ledger::StateView& state, std::uint64_t height,
                                              const market::Run& run, const std::vector<Hash32>& roots,
                                              std::vector<solver::WorkOrder<DataChecked>>& orders) {
    if (!has_data_of(process_->audited_data(), run.task, run.solver, roots)) return false;
    process_->private_data().allow(run.task, roots);
    if (const auto known = data_checks_.result(run.task, roots)) {
        if (!known->empty() && unfit_.insert(run.task).second)
            spdlog::warn("event=no_consent task={} run={} reason=\"{}\"", run.task, run.index, printable(*known));
        return known->empty();
    }
    const auto terms = process_->immutable().terms(state, run.task);
    if (!terms) return std::nullopt;
    if (auto order = data_checks_.order(*terms, roots, {run.task, run.index}, height, task_cache_))
        orders.push_back(std::move(*order));
    return std::nullopt;
}

bool VerifierService::is_finished(const RemoteState& state, const verifier::VerifierView& view,
                                  const verifier::Verifier::Output& out) {
    constexpr std::uint64_t kIdleBlocks = 3;  // A call that was just sent is in no view yet.
    std::optional<market::Task> task;
    state.read([&] { task = contracts::views::task(state, *options_.challenged_task); });
    const bool runs =
        state.failure() || (task && !market::is_final(task->state) && task->state != market::TaskState::delivering);
    const bool busy = runs || out.work || !out.moves.empty() || !order_thread_.idle() || !view.disputes.empty() ||
                      process_->submitter().pending() != 0;
    idle_blocks_ = busy ? 0 : idle_blocks_ + 1;
    return idle_blocks_ >= kIdleBlocks;
}

void VerifierService::write_metrics(const verifier::VerifierView& view) {
    AgentFigures figures;
    figures.role = "verifier";
    figures.height = view.height;
    figures.duties = view.audits.size();
    figures.disputes = view.disputes.size();
    figures.problems = problems_;
    if (metrics_.is_due(view.height)) figures.earnings = process_->earnings();
    figures.pending_calls = process_->submitter().pending();
    figures.workers = workers_->figures();
    figures.remembered = process_->immutable().specs() + seats_.audits().size() + seats_.offers().size();
    metrics_.write(figures);
}

}  // namespace retrace::node
