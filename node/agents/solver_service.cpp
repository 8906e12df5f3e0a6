// SPDX-License-Identifier: MIT
#include "node/agents/solver_service.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/secret.hpp"
#include "node/agents/group_views.hpp"
#include "node/agents/machine_speed.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/wide_orders.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/data/dataset.hpp"

namespace retrace::node {
namespace {

namespace calls = contracts;

/// Logs training progress at a limited rate: the requester's program controls the step rate and the metrics, and must
/// not fill the disk with the log.
class ProgressLog {
public:
    void operator()(std::uint64_t task, const solver::Progress& progress) {
        constexpr std::uint64_t kEvery = 25;
        constexpr std::chrono::seconds kPause{1};
        constexpr std::size_t kMetricsMax = 8;
        const auto now = std::chrono::steady_clock::now();
        if (progress.step % kEvery != 0 || now < last_ + kPause) return;
        last_ = now;
        for (std::size_t i = 0; i < std::min(progress.metrics.size(), kMetricsMax); ++i) {
            const kernels::Metric& metric = progress.metrics[i];
            spdlog::info("event=train task={} step={} {}={:.4f}", task, progress.step, printable(metric.name),
                         metric.value);
        }
    }

private:
    std::chrono::steady_clock::time_point last_{};
};

solver::RunnerFactory runners_of(const SolverOptions& options, const WorkerProcesses& workers,
                                 solver::MessageStore& messages) {
    if (!options.cheat || !options.cheat->compute_attack) return workers.runners();
    return solver::attacking_runners(*options.cheat->compute_attack, options.cheat->segment, &messages);
}

/// What trains, as a requester reads it.
std::string machine_text(const SolverOptions& options, const kernels::ThreadPool& pool) {
    const bool on_device = computes_on_device(options.device) && !options.cheat;
    return on_device ? std::string("a CUDA device")
                     : std::to_string(pool.threads()) + " threads of its processors (" +
                           std::string(kernels::name_of(kernels::cpu_level())) + ")";
}

/// `private_sets`: data sets that it has for private groups.
Bidding::Options bidding_options(const SolverOptions& options, std::size_t private_sets) {
    return {options.price,
            options.hardware_class,
            options.only_tasks,
            options.groups,
            options.min_price,
            std::nullopt,
            computes_on_device(options.device),
            private_sets,
            options.data_use,
            options.stake_share};
}

}  // namespace

SolverService::SolverService(const SolverOptions& options, std::unique_ptr<AgentProcess> process,
                             std::unique_ptr<WorkerProcesses> workers)
    : options_(options),
      process_(std::move(process)),
      workers_(std::move(workers)),
      journal_(process_->journals(), machine_text(options, process_->pool()), options.agent.retention_blocks),
      bidding_(bidding_options(options, process_->own_data().size()), process_->options().data_dir / "bids",
               process_->address()),
      withheld_(options.agent.retention_blocks),
      mask_duties_(process_->genesis()
                       ? mask_notes_folder(process_->options().data_dir, process_->chain_id(), *process_->genesis())
                       : std::filesystem::path(),
                   ledger::random_bytes),
      task_cache_(process_->source(), process_->pool(), runners_of(options, *workers_, process_->messages()),
                  process_->memory(), workers_->initialisers()),
      bench_pool_(process_->pool().threads()),
      bench_(bench_pool_),
      metrics_(process_->options().data_dir) {
    task_cache_.set_private(process_->private_data());
    if (!process_->options().offload.empty()) task_cache_.set_states_on_disk();
    if (options_.cheat && options_.cheat->compute_attack == solver::ComputeAttack::silent) unresponsive_.emplace();
    if (options_.cheat && options_.cheat->protocol_attack)
        protocol_attacks_.emplace(*options_.cheat->protocol_attack, process_->secret());
    solver::SolverConfig config;
    config.secret = process_->secret();
    config.resend_blocks = kResendBlocks;
    config.on_progress = [this, log = ProgressLog()](std::uint64_t task, const solver::Progress& progress) mutable {
        log(task, progress);
        journal_.on_progress(task, progress);
    };
    config.pay_for_retention = options_.pay_for_retention;
    config.bench = &bench_;
    config.retention_blocks = options_.agent.retention_blocks;
    config.messages = &process_->messages();
    config.pace = options_.pace;
    config.room = [folder = process_->options().data_dir](std::uint64_t bytes) {
        const auto fits = check_disk(folder, TensorFiles::Limits{}.left_free, bytes, "the messages of its group");
        return fits ? Status<>(Unit{}) : Status<>(error(fits.error().message));
    };
    agent_ = std::make_unique<solver::SolverAgent>(std::move(config), task_cache_, process_->checkpoints());
    const auto own_state = [this](const verifier::DisputeView& view) {
        return agent_->state_of(view.terms, view.own_run, view.first_state, view.first_root,
                                solver::start_state_of(view.member, view.segment));
    };
    dispute_replays_ = std::make_unique<verifier::DisputeReplays>(task_cache_, own_state, &process_->messages());
    disputes_ = std::make_unique<verifier::DisputeAgent>(kResendBlocks, *dispute_replays_, &agent_->slot());
}

Result<std::unique_ptr<SolverService>> SolverService::open(const SolverOptions& options, ledger::SecretKey key) {
    RETRACE_CHECK(solver::check_device(options.device));
    AgentOptions agent_options = options.agent;
    if (options.cheat && options.cheat->protocol_attack)
        agent_options.tamper = tamper_of(*options.cheat->protocol_attack);
    RETRACE_TRY(process, AgentProcess::open(agent_options, std::move(key)));
    if (options.cheat && !process->developer_chain()) {
        return error("--cheat is refused: the chain at " + options.agent.node_url + " is not a developer chain");
    }
    if (options.pace != 0 && !process->developer_chain())
        return error("--pace is refused: the chain at " + options.agent.node_url + " is not a developer chain");
    WorkerSettings settings = process->worker_settings();
    settings.device = options.device;
    RETRACE_TRY(workers, WorkerProcesses::open(settings));
    std::unique_ptr<SolverService> service(new SolverService(options, std::move(process), std::move(workers)));
    service->machine_.multiply_adds_per_s = multiply_adds_per_second(service->bench_pool_, kMeasureSpeed);
    if (const double disk = service->process_->disk_speed(); disk > 0)
        service->agent_->set_disk_byte_cost(1 +
                                            static_cast<std::uint64_t>(service->machine_.multiply_adds_per_s / disk));
    RETRACE_CHECK(service->enroll());
    return service;
}

Status<> SolverService::check_account(const RemoteState& state) const {
    const auto solver = contracts::views::solver(state, process_->address());
    const auto verifier = contracts::views::verifier(state, process_->address());
    if (state.failure()) return error(state.failure()->message);
    if (solver) RETRACE_CHECK(process_->check_alone(solver->endpoint));
    if (verifier) RETRACE_CHECK(process_->check_alone(verifier->endpoint));
    if (verifier && verifier->member)
        return error("the account " + ledger::to_checksum(process_->address()) +
                     " is a verifier, and its stake is for audits; give the solver a key of its own (retrace wallet "
                     "new)");
    return Unit{};
}

Status<> SolverService::enroll() {
    const auto height = process_->chain().height();
    if (!height) return error(height.error().message);
    const RemoteState state = process_->chain().state(*height);
    const auto params = process_->immutable().params(state);
    const auto info = contracts::views::solver(state, process_->address());
    if (!params) return error("the chain's parameters cannot be read");
    RETRACE_CHECK(process_->check_endpoint());
    RETRACE_CHECK(check_account(state));
    RETRACE_CHECK(process_->bond(params->min_solver_stake));
    if (!info || info->endpoint != process_->endpoint() || info->hardware_class != options_.hardware_class) {
        RETRACE_CHECK(process_->submitter().execute(
            "register solver", calls::RegisterSolver{process_->endpoint(), options_.hardware_class}));
        spdlog::info("event=registered role=solver endpoint={}", process_->endpoint());
    }
    return Unit{};
}

Status<> SolverService::run(const std::atomic<bool>& stop, const std::atomic<bool>& drain) {
    while (!stop && !drained_ && !ended_) {
        if (drain && !draining_) {
            draining_ = true;
            spdlog::info(
                "event=draining action=\"bids no more, reveals its bids, and ends at the next checkpoint of each task, "
                "or when spot tasks that it gives back there are final; a second signal ends it at once\"");
        }
        const bool has_result = take_result();
        if (const auto height = process_->new_height()) {
            on_block(*height);
            process_->report_outcomes();
        } else if (has_result && !ended_) {
            act(view_);  // What depends on the result comes into the next block.
        }
        if (is_node_lost()) break;
        std::this_thread::sleep_for(process_->options().poll);
    }
    process_->stop_fetching();
    process_->report_earnings();
    return ended_ ? Status<>(error(*ended_)) : Status<>(Unit{});
}

bool SolverService::owes_proof(const ledger::StateView& state, const std::optional<market::SolverInfo>& info) const {
    const auto challenge =
        info && info->challenge != 0 ? contracts::views::challenge(state, info->challenge) : std::nullopt;
    if (!challenge || !market::is_open(challenge->state)) return false;
    // An answer that was sent may not be in a block yet.
    return challenge->state != market::ChallengeState::running || process_->submitter().pending() != 0;
}

bool SolverService::is_node_lost() {
    constexpr std::chrono::seconds kLost{30};  // A node that is started again answers by then.
    const auto now = std::chrono::steady_clock::now();
    if (!process_->lost_node()) node_seen_ = now;
    if (!draining_ || now - node_seen_ < kLost) return false;
    spdlog::warn(
        "event=not_drained reason=\"the node does not answer\" action=\"start it again when the node is there: what "
        "its tasks and bids owe is not known\"");
    return true;
}

void SolverService::drain(const solver::SolverView& view, std::vector<solver::SolverMove>& moves) {
    std::erase_if(moves, [](const solver::SolverMove& move) {
        return std::holds_alternative<solver::CommitBid>(move) || std::holds_alternative<solver::JoinGroup>(move) ||
               std::holds_alternative<solver::AnswerCapability>(move);
    });
    std::uint64_t due = 0;
    drained_ = owed_ == 0;
    for (const solver::RunView& run : view.runs) {
        const auto [from, first] = drain_from_.try_emplace({run.terms.id, run.run}, run.next_state);
        const bool computes = run.next_state <= run.terms.schedule.segments();
        // A spot run is given back, and its stake is free when that is final.
        const bool is_handed_over = run.spot && (computes || run.given_back);
        const bool owes_checkpoint = run.deadline != 0 && run.next_state <= from->second;
        const bool waits = !run.may_accept && (is_handed_over || owes_checkpoint);
        drained_ = drained_ && !waits;
        if (run.deadline != 0) due = due == 0 ? run.deadline : std::min(due, run.deadline);
    }
    if (!drained_) return;
    for (const ReservedTask& task : reserved_tasks_)
        spdlog::warn(
            "event=drained reservation={} from={} until={} action=\"have it run again when the task may begin: it "
            "loses stake "
            "if it does not take it\"",
            task.reservation.id, task.reservation.from, task.reservation.until);
    if (view.runs.empty())
        spdlog::info("event=drained runs=0");
    else
        spdlog::warn(
            "event=drained runs={} action=\"start it again{}: it owes checkpoints and answers, and its stake "
            "depends on them\"",
            view.runs.size(), due == 0 ? "" : " before block " + std::to_string(due));
}

void SolverService::update_machine(std::uint64_t height) {
    constexpr std::uint64_t kEvery = 100;  // Blocks.
    if (machine_height_ != 0 && height < machine_height_ + kEvery) return;
    if (const auto time = block_time(process_->client(), height)) {
        machine_.block_s = *time;
        machine_height_ = height;
    }
    bidding_.set_machine(machine_.multiply_adds_per_s, machine_.block_s);
}

void SolverService::write_choices(std::uint64_t height) {
    const std::vector<Choice> now = bidding_.choices();
    history_.update(height, now);
    const std::string text = choices_json(now), earlier = earlier_json(history_.earlier()),
                      reserved = reserved_json(bidding_.reserved());
    if (text == choices_ && earlier == earlier_ && reserved == reserved_) return;
    choices_ = text;
    earlier_ = earlier;
    reserved_ = reserved;
    const std::string file = "{\"height\":" + std::to_string(height) + ",\"choices\":" + text +
                             ",\"earlier\":" + earlier + ",\"reserved\":" + reserved + "}\n";
    const auto path = process_->options().data_dir / kChoicesFile;
    if (const auto written = write_durably(path, {view(std::string_view(file))}, 0600); !written)
        spdlog::debug("event=choices_not_written reason=\"{}\"", written.error().message);
}

Result<std::vector<Choice>> SolverService::dry_run(const SolverOptions& options, const ledger::Address& self) {
    RETRACE_TRY(client, RpcClient::connect(options.agent.node_url));
    RETRACE_CHECK(wait_for_node(client, options.agent.timeout));
    ChainReader chain(client, options.agent.trust);
    const auto newest = chain.newest();
    if (!newest) return error(newest.error().message);
    const auto base_fee = client.base_fee();
    if (!base_fee) return error(base_fee.error().message);
    kernels::ThreadPool pool(options.agent.threads);
    Machine machine;
    machine.multiply_adds_per_s = multiply_adds_per_second(pool, kMeasureSpeed);
    machine.block_s = block_time(client, newest->height()).value_or(machine.block_s);
    std::size_t private_sets = 0;
    if (!options.agent.private_data.empty()) {
        RETRACE_TRY(data, load_dataset(options.agent.private_data.front().folder));
        private_sets = data.parts.size();
    }
    Immutable immutable;
    std::vector<Choice> out;
    bool known = false;
    const auto look = [&] {
        const auto params = immutable.params(*newest);
        known = params.has_value();
        if (!known) return;
        Bidding::Options bids = bidding_options(options, private_sets);
        const ledger::U256 free = contracts::views::free_stake(*newest, *params, self);
        bids.assumed_stake = ledger::max(free, ledger::max(options.agent.stake, params->min_solver_stake));
        Bidding bidding(std::move(bids), {}, self);
        bidding.set_machine(machine.multiply_adds_per_s, machine.block_s);
        const Pricing pricing = [&](std::uint64_t task, const market::TaskSpec& spec) {
            return bidding.consider(*newest, *params, *base_fee, task, spec);
        };
        solver::SolverView view = solver_view(*newest, newest->height(), self, pricing, immutable);
        bidding.set_reserved(reserved_tasks(*newest, self));
        bidding.choose(*newest, *params, *base_fee, immutable, view);
        out = bidding.choices();
    };
    newest->read_ahead(look);
    newest->read(look);
    if (newest->failure()) return error(newest->failure()->message);
    if (!known) return error("the node at " + options.agent.node_url + " has no Retrace contracts");
    return out;
}

bool SolverService::take_result() {
    if (const auto measured = bench_thread_.poll()) agent_->on_done(*measured);
    const auto result = order_thread_.poll();
    if (!result) return false;
    const auto* done = std::get_if<solver::SolverResult>(&*result);
    if (done != nullptr)
        agent_->on_done(*done);
    else if (const auto* checked = std::get_if<DataChecked>(&*result))
        data_checks_.on_done(*checked, view_.height);
    else
        disputes_->on_done(std::get<verifier::Answer>(*result));
    report_problems(agent_->take_problems());
    report_problems(disputes_->take_problems());
    return done != nullptr;
}

void SolverService::report_problems(std::vector<std::string> problems) {
    problems_ += problems.size();
    for (std::string& problem : problems) spdlog::warn("event=problem reason=\"{}\"", printable(std::move(problem)));
}

void SolverService::on_block(std::uint64_t height) {
    const RemoteState state = process_->chain().state(height);
    const auto params = process_->immutable().params(state);
    std::optional<ledger::U256> base_fee;  // Requested once, on first use.
    bool ahead = true;
    const Pricing pricing = [&](std::uint64_t task, const market::TaskSpec& spec) -> Quote {
        if (!base_fee) {
            const auto fee = process_->client().base_fee();
            if (!params || !fee) return {std::nullopt, "the node does not say what calls cost"};
            base_fee = *fee;
        }
        // `consider` logs the reason for no bid, so it is called only after the whole state was read: during the
        // read-ahead the reason may come from empty values.
        return ahead ? bidding_.quote(state, *params, *base_fee, task, spec)
                     : bidding_.consider(state, *params, *base_fee, task, spec);
    };
    update_machine(height);
    solver::SolverView view;
    std::vector<verifier::DisputeView> disputes;
    RunPeers peers;
    std::optional<std::string> registered;
    Withheld withheld = withheld_;
    std::vector<FreeSeat> seats;
    std::vector<ReservedTask> reserved;
    std::map<std::uint64_t, ledger::Address> requesters;
    bidding_.set_lacking_room(lacks_room(process_->options().data_dir));
    const auto read = [&] {
        reserved = reserved_tasks(state, process_->address());
        if (options_.groups && !draining_)
            seats = free_seats(state, process_->address(), process_->immutable(), agent_->ready_seats());
        view = solver_view(state, height, process_->address(), pricing, process_->immutable());
        stopped_.clear();
        for (solver::RunView& run : view.runs) allow_data(state, run);
        view.not_over = runs_not_over(state, process_->address(), process_->checkpoints().runs());
        disputes = dispute_views(state, process_->address(), process_->immutable());
        withheld = withheld_;
        withheld.update(state, height, process_->address());
        peers = RunPeers();
        for (const FreeSeat& seat : seats) peers.add(state, {seat.task, seat.anchor.run});
        requesters.clear();
        for (const solver::RunView& run : view.runs) {
            if (!process_->journals().knows(run.terms.id))
                if (const auto task = contracts::views::task(state, run.terms.id))
                    requesters[run.terms.id] = task->requester;
            peers.add(state, {run.terms.id, run.run});
            if (run.member) peers.add_authors(state, authors_of(run.terms.id, *run.member));
        }
        if (!process_->own_data().empty())
            for (const FreeSeat& seat : seats) peers.add(state, {seat.task, seat.anchor.run});
        for (const verifier::DisputeView& dispute : disputes)
            if (dispute.member) peers.add_authors(state, authors_of(dispute.terms.id, dispute.member->records));
        peers.add_verifiers(state);
        const auto info = contracts::views::solver(state, process_->address());
        registered = info ? std::optional(info->endpoint) : std::nullopt;
        if (draining_) owed_ = bidding_.to_reveal(state, height) + (owes_proof(state, info) ? 1 : 0);
    };
    state.read_ahead(read);
    ahead = false;
    state.read(read);
    if (state.failure() || !params) return;  // The next block brings another view.
    reserved_tasks_ = reserved;
    bidding_.set_reserved(std::move(reserved));
    std::set<solver::RunKey> give_back;
    state.read([&] {
        const ledger::U256 fee = base_fee.value_or(ledger::U256());
        bidding_.on_view(state, *params, fee, process_->immutable(), view);
        give_back = bidding_.to_give_back(state, *params, fee, process_->immutable(), view);
    });
    if (state.failure()) return;
    warn_of_overlaps();
    offer_seats(state, *params, seats, view);
    if (registered) {
        if (const auto alone = process_->check_not_replaced(*registered); !alone) {
            ended_ = alone.error().message;
            return;
        }
    }
    for (const solver::RunKey& run : give_back)
        if (!give_back_.contains(run))
            spdlog::info(
                "event=gives_back task={} run={} reason=\"other work, or work for which time is reserved, needs its "
                "time\"",
                run.first, run.second);
    give_back_ = std::move(give_back);
    process_->immutable().forget_unused();
    process_->set_peers(std::move(peers));
    withheld_ = std::move(withheld);
    process_->withhold(withheld_.roots());
    std::map<std::uint64_t, solver::TaskTerms> tasks;
    for (const solver::RunView& run : view.runs) tasks.emplace(run.terms.id, run.terms);
    for (const solver::SeatView& seat : view.seats) tasks.emplace(seat.terms.id, seat.terms);
    for (const verifier::DisputeView& dispute : disputes) tasks.emplace(dispute.terms.id, dispute.terms);
    // Before new work is added: an agent that is never without work would otherwise keep every task that it ever had.
    if (order_thread_.idle()) task_cache_.keep_only(tasks);

    journal_.on_view(view, requesters, agent_->waiting());
    play_masks(state, height, view);
    act(view);
    state.read([&] {
        update_consent(state, height, view);
        leave_stopped(state, height);
    });
    data_checks_.forget_unless([&](std::uint64_t task) {
        return std::ranges::any_of(seats, [&](const FreeSeat& seat) { return seat.task == task; });
    });
    play(height, disputes);
    process_->collect_garbage(height, tasks);
    write_metrics(view, disputes.size());
    write_choices(height);
    process_->tell_board([&](AgentStatus& status) {
        status.work = order_thread_.items();
        status.duties = duties_of(view, disputes, reserved_tasks_);
        status.waiting = agent_->waiting();
        status.choices = choices_;
        status.earlier = earlier_;
        status.reserved = reserved_;
        status.problems = problems_;
        status.draining = draining_;
    });
    view_ = std::move(view);
}

void SolverService::warn_of_overlaps() {
    std::set<std::uint64_t> now;
    for (const ReservedTime& time : bidding_.promised()) {
        if (time.left >= -kRounding) continue;
        now.insert(time.reservation);
        if (!overlaps_.contains(time.reservation))
            spdlog::warn(
                "event=overlap reservation={} from={} reason=\"the tasks that are reserved then need {} of this "
                "machine's time\"",
                time.reservation, time.from, percent(1 - time.left));
    }
    overlaps_ = std::move(now);
}

void SolverService::act(const solver::SolverView& view) {
    solver::SolverAgent::Output out = agent_->on_view(view);
    if (unresponsive_) unresponsive_->filter(view, out.moves);
    if (protocol_attacks_) protocol_attacks_->filter(view, out.moves);
    if (draining_) drain(view, out.moves);
    for (const solver::SolverMove& move : out.moves) send(view, move);
    if (out.work) order_thread_.add(process_->in_time(widen<AnyResult>(journal_.timed(std::move(*out.work)))));
    if (out.benchmark) bench_thread_.add(std::move(*out.benchmark));
}

void SolverService::write_metrics(const solver::SolverView& view, std::size_t disputes) {
    AgentFigures figures;
    figures.role = "solver";
    figures.height = view.height;
    figures.duties = view.runs.size();
    figures.disputes = disputes;
    figures.problems = problems_;
    if (metrics_.is_due(view.height)) figures.earnings = process_->earnings();
    figures.pending_calls = process_->submitter().pending();
    figures.remembered = process_->immutable().specs() + bidding_.remembered();
    figures.workers = workers_->figures();
    figures.waiting = agent_->waiting();
    metrics_.write(figures);
}

void SolverService::play(std::uint64_t height, const std::vector<verifier::DisputeView>& disputes) {
    verifier::DisputeAgent::Output played = disputes_->on_view(height, disputes);
    for (const verifier::PlayMove& move : played.moves) {
        std::optional<Bytes> bytes = move.move;
        for (const verifier::DisputeView& dispute : disputes) {
            if (options_.cheat && options_.cheat->dispute_attack && dispute.id == move.dispute)
                bytes = verifier::apply_attack(*options_.cheat->dispute_attack, dispute.game, move.move);
        }
        if (!bytes) continue;
        const auto sent = process_->submitter().send("move in dispute " + std::to_string(move.dispute),
                                                     calls::PlayMove{move.dispute, *bytes});
        if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
    }
    if (played.work) order_thread_.add(process_->in_time(widen<AnyResult>(std::move(*played.work))));
}

}  // namespace retrace::node
