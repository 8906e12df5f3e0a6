// SPDX-License-Identifier: MIT
#include "tests/simulation/solver_party.hpp"

#include <algorithm>

#include "contracts/records/places.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/auction.hpp"
#include "merkle/base/ensure.hpp"
#include "node/agents/raise_pricing.hpp"
#include "node/agents/reserved_time.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kFloodPeriod = 128, kFloodBurst = 16;  // Views with runs. SPEC 6.5.
constexpr std::uint64_t kCommitBlocks = 8;                     // A call is in a block by then, also after an outage.
constexpr std::uint64_t kBenchRounds = 2;  // A solver that inflates its benchmark claims eight times as many.

}  // namespace

std::string SolverRole::describe() const {
    std::string out;
    const auto add = [&](std::string_view word) {
        if (!out.empty()) out += "+";
        out += word;
    };
    if (fraud) add(solver::slug(*fraud));
    if (protocol_attack) add(solver::slug(*protocol_attack));
    if (dispute_attack) add(verifier::slug(*dispute_attack));
    if (inflates_benchmark) add("inflates_benchmark");
    if (mute) add("mute");
    if (blind) add("blind");
    if (owned) add("owned");
    if (holds_until != 0) add("holds_back");
    if (opens_late) add("opens_late");
    if (sends_late) add("sends_late");
    if (!serves_only.empty()) add("serves_one");
    if (never_finishes) add("never_finishes");
    if (switches_data) add("switches_data");
    if (false_start) add("false_start");
    if (deals_garbage) add("deals_garbage");
    for (const std::string& call : omits) add("omits_" + call);
    if (gives_up) add("gives_up");
    if (stays_away) add("stays_away");
    if (declines_reserved) add("declines_reserved");
    if (ignores_offers) add("ignores_offers");
    if (out.empty() && joins) add("joins");
    if (out.empty() && leaves_in) add("leaves");
    if (out.empty() && !away.empty()) add("away");
    return out.empty() ? "honest" : out;
}

SolverParty::SolverParty(World& world, NodeId id, std::string name, SolverRole role)
    : Party(world, id, std::move(name), role.honest(), role.speed_bp), role_(std::move(role)), mask_random_(id) {
    if (role_.fraud == solver::ComputeAttack::silent) unresponsive_.emplace();
    if (role_.protocol_attack) protocol_attacks_.emplace(*role_.protocol_attack, secret());
}

void SolverParty::boot() {
    auto memory = std::make_unique<Memory>();
    auto store = solver::CheckpointStore::open(disk());
    ensure(store.has_value(), "a checkpoint store opens after any crash");
    memory->store = std::move(*store);
    auto messages = solver::MessageStore::open(disk() / "messages");
    ensure(messages.has_value(), "a message store opens after any crash");
    memory->messages = std::move(*messages);
    memory->provider = std::make_unique<StoreProvider>(*memory->store, world().pool, memory->messages.get());
    if (role_.protocol_attack)
        memory->attacking_provider = solver::attacking_provider(*role_.protocol_attack, *memory->provider);
    memory->source = std::make_unique<NetworkSource>(world(), id());
    auto runners = solver::honest_runners();
    if (role_.fraud)
        runners = [role = role_, messages = memory->messages.get()](
                      const solver::TaskTerms& terms, const kernels::Program& program, kernels::Inputs inputs,
                      kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
            if (role.task && *role.task != terms.id)
                return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), pool);
            if (terms.group)
                return solver::attacking_runners(*role.fraud, role.segment, messages)(terms, program, std::move(inputs),
                                                                                      pool);
            return solver::make_attacker(*role.fraud, terms.schedule, program, std::move(inputs), pool, role.segment);
        };
    if (role_.false_start) runners = with_false_start(std::move(runners));
    memory->task_cache =
        std::make_unique<solver::TaskCache>(*memory->source, world().pool, timed_runners(std::move(runners)));
    memory->task_cache->set_private(memory->data);
    solver::SolverConfig config;
    config.secret = secret();
    config.resend_blocks = kResendBlocks;
    config.pay_for_retention = role_.pays_for_retention;
    config.messages = memory->messages.get();
    config.member_steps = role_.member_steps;
    config.commit_blocks = kCommitBlocks;
    config.copy_every = {};  // Times of this machine must not decide what a run of a seed computes.
    config.away = [this](std::uint64_t, std::uint32_t round) { return role_.away.contains(round); };
    if (role_.inflates_benchmark)
        memory->bench = std::make_unique<solver::InflatedBenchmark>(world().pool);
    else if (!role_.mute)
        memory->bench = std::make_unique<solver::HonestBench>(world().pool);
    config.bench = memory->bench.get();
    config.bench_rounds_max = role_.inflates_benchmark ? 8 * kBenchRounds : kBenchRounds;
    memory->agent = std::make_unique<solver::SolverAgent>(std::move(config), *memory->task_cache, *memory->store);
    memory->dispute_replays = std::make_unique<verifier::DisputeReplays>(
        *memory->task_cache,
        [agent = memory->agent.get()](const verifier::DisputeView& view) {
            return agent->state_of(view.terms, view.own_run, view.first_state, view.first_root, view.segment);
        },
        memory->messages.get());
    memory->disputes =
        std::make_unique<verifier::DisputeAgent>(kResendBlocks, *memory->dispute_replays, &memory->agent->slot());
    memory->masks = std::make_unique<node::MaskDuties>(disk() / "masks", [this](std::span<std::uint8_t> out) {
        for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(mask_random_());
    });
    memory_ = std::move(memory);
    load_own_data();
}

void SolverParty::halt() {
    memory_.reset();
    enrolled_height_ = 0;
}

solver::ArtifactSource* SolverParty::provider() {
    if (!memory_) return nullptr;
    if (memory_->attacking_provider) return memory_->attacking_provider.get();
    return memory_->provider.get();
}

std::optional<Hash32> SolverParty::root_of(std::uint64_t task, std::uint32_t run, std::uint64_t index) const {
    if (!memory_) return std::nullopt;
    const auto commitment = memory_->store->commitment({task, run, index});
    if (!commitment) return std::nullopt;
    return commitment->root;
}

void SolverParty::enroll(const ledger::StateView& view, std::uint64_t height) {
    if (enrolled_height_ != 0 && height < enrolled_height_ + kResendBlocks) return;
    enrolled_height_ = height;
    const auto bonded = views::stake(view, address()).bonded;
    if (bonded.is_zero())
        call("deposits", contracts::Deposit{}, role_.stake);
    else
        call("registers as solver", contracts::RegisterSolver{"sim://" + name(), 0});
}

void SolverParty::accept_reservations(const ledger::StateView& view, std::uint64_t height) {
    if (role_.ignores_offers) return;
    for (std::uint64_t id = 1; id <= views::reservation_count(view); ++id) {
        const auto one = views::reservation(view, id);
        if (one->solver != address() || one->state != market::ReservationState::offered) continue;
        if (role_.honest() && !has_time(view, views::reserved_spec(view, id).value())) continue;
        const auto last = accepted_.find(id);
        if (last != accepted_.end() && height < last->second + kResendBlocks) continue;
        accepted_[id] = height;
        call("accepts reservation " + std::to_string(id), contracts::AcceptReservation{id});
    }
}

/// It does not take the task for which its time was reserved.
void SolverParty::break_word(const ledger::StateView& view, std::vector<solver::SolverMove>& moves) const {
    std::erase_if(moves, [&](const solver::SolverMove& move) {
        const auto* accept = std::get_if<solver::AcceptData>(&move);
        const auto* decline = std::get_if<solver::Decline>(&move);
        const std::uint64_t task = accept != nullptr ? accept->task : decline != nullptr ? decline->task : 0;
        return task != 0 && views::reservation_of_run(view, task, 0).has_value();
    });
}

/// Number of auctions that it may still win.
std::size_t SolverParty::open_bids(const ledger::StateView& view) const {
    return std::count_if(bids_.begin(), bids_.end(), [&](const auto& item) {
        const auto task = views::task(view, item.first.first);
        return task && task->round == item.first.second && task->wanted != 0 &&
               views::bid(view, item.first.first, address());
    });
}

ledger::U256 SolverParty::wish(const market::TaskSpec& spec) const {
    return ledger::mul_div(spec.price_ceiling, role_.price_bp, market::kBasisPoints);
}

bool SolverParty::has_time(const ledger::StateView& view, const market::TaskSpec& spec) const {
    const std::uint64_t runs =
        views::open_runs(view, address()).size() + open_bids(view) + node::reserved_tasks(view, address()).size() + 1;
    const Millis segment = world().costs.segment * kJustAllowed / role_.speed_bp;
    const std::uint64_t due = std::max(world().params.checkpoint_blocks, spec.checkpoint_blocks) * kBlockMillis;
    return 2 * runs * segment <= due;
}

node::Quote SolverParty::quote(const ledger::StateView& view, std::uint64_t id, const market::TaskSpec& spec) const {
    if (spec.price_ceiling < role_.waits_for) return {std::nullopt, "waits for a higher ceiling"};
    ledger::U256 price = wish(spec);
    const auto task = views::task(view, id);
    if (!views::may_take_part(view, id, address())) return {std::nullopt, "not admitted"};
    if (role_.honest() && task && task->state == market::TaskState::running) {
        const auto raised = node::price_of_raise(view, *task, spec.segments(), price);
        if (!raised || spec.price_ceiling < *raised) return {std::nullopt, "too much may be unpaid"};
        price = *raised;
    }
    const auto params = views::params(view);
    const auto floor = params ? views::stake_floor(view, *params, id) : std::nullopt;
    if (role_.honest() && !role_.bids_always && !has_time(view, spec))
        return {std::nullopt, "as much as the machine can do"};
    if (!floor || views::free_stake(view, *params, address()) < *floor) return {std::nullopt, "stake too low"};
    return {price, {}};
}

bool SolverParty::is_between_floods(const solver::SolverView& view) {
    if (!role_.floods_in_bursts || role_.protocol_attack != solver::ProtocolAttack::flood) return false;
    return view.runs.empty() || flood_views_++ % kFloodPeriod >= kFloodBurst;
}

void SolverParty::act(const ledger::StateView& view, std::uint64_t height) {
    if (!views::solver(view, address())) {
        if (height >= role_.comes_at) enroll(view, height);
        return;
    }
    const node::Pricing pricing = [&](std::uint64_t id, const market::TaskSpec& spec) { return quote(view, id, spec); };
    solver::SolverView seen = node::solver_view(view, height, address(), pricing, world().immutable);
    if (role_.joins) offer_seats(view, seen);
    use_own_data(seen);
    seen.not_over = node::runs_not_over(view, address(), memory_->store->runs());
    play_masks(view, height, seen);
    solver::SolverAgent::Output out = memory_->agent->on_view(seen);
    if (unresponsive_) fall_silent(seen, out.moves);
    if (protocol_attacks_ && !is_between_floods(seen)) protocol_attacks_->filter(seen, out.moves);
    if (role_.blind) commit_blindly(seen, out.moves);
    if (height < role_.holds_until) hold_back(seen, out.moves);
    if (role_.opens_late) hold_openings_back(view, height, out.moves);
    if (role_.sends_late) hold_messages_back(view, out.moves);
    if (role_.never_finishes) stay_out_at_the_end(view, out.moves);
    accept_reservations(view, height);
    if (role_.stays_away) break_word(view, out.moves);
    if (role_.leaves_in) leave_groups(view);
    update_consent(view, height, seen);
    make_moves(view, seen, std::move(out.moves));
    if (out.work) {
        work<solver::SolverResult>(std::move(*out.work), [this](const solver::SolverResult& result) {
            memory_->agent->on_done(result);
            for (const std::string& problem : memory_->agent->take_problems()) say(problem);
        });
    }
    if (out.benchmark) {
        work_beside<solver::CapabilityResult>(
            std::move(*out.benchmark),
            [this](const solver::CapabilityResult& result) { memory_->agent->on_done(result); });
    }
    play(view, height);
}

/// In the only task of its fraud, if it has one.
void SolverParty::fall_silent(const solver::SolverView& seen, std::vector<solver::SolverMove>& moves) {
    solver::SolverView shown = seen;
    if (role_.task) std::erase_if(shown.runs, [&](const solver::RunView& run) { return run.terms.id != *role_.task; });
    unresponsive_->filter(shown, moves);
}

/// While it holds back, its other replicas may open no state; afterwards they may open all at once.
void SolverParty::hold_back(const solver::SolverView& seen, std::vector<solver::SolverMove>& moves) const {
    std::erase_if(moves, [&](const solver::SolverMove& move) {
        const auto* commit = std::get_if<solver::CommitCheckpoint>(&move);
        return commit != nullptr && std::any_of(seen.runs.begin(), seen.runs.end(), [&](const solver::RunView& run) {
                   return run.terms.id == commit->task && commit->index > run.first_state;
               });
    });
}

/// Commits to all states but the last one, because the last committed state of a task is always audited.
void SolverParty::commit_blindly(const solver::SolverView& seen, std::vector<solver::SolverMove>& moves) {
    std::erase_if(moves, [](const solver::SolverMove& move) {
        return !std::holds_alternative<solver::CommitBid>(move) && !std::holds_alternative<solver::RevealBid>(move) &&
               !std::holds_alternative<solver::AcceptData>(move);
    });
    for (const solver::RunView& run : seen.runs) {
        if (!run.may_commit || run.next_state != run.first_state || !blinded_.insert({run.terms.id, run.run}).second)
            continue;
        for (std::uint64_t index = run.first_state; index < run.terms.schedule.segments(); ++index)
            call("commits blindly to state " + std::to_string(index),
                 contracts::CommitCheckpoint{run.terms.id, run.run, index, secret()}, {}, true);
    }
}

void SolverParty::play(const ledger::StateView& view, std::uint64_t height) {
    const auto disputes = node::dispute_views(view, address(), world().immutable);
    verifier::DisputeAgent::Output out = memory_->disputes->on_view(height, disputes);
    for (const verifier::PlayMove& move : out.moves) {
        std::optional<Bytes> bytes = move.move;
        for (const verifier::DisputeView& dispute : disputes) {
            if (role_.dispute_attack && dispute.id == move.dispute)
                bytes = verifier::apply_attack(*role_.dispute_attack, dispute.game, move.move);
        }
        if (bytes) call("moves in dispute " + std::to_string(move.dispute), contracts::PlayMove{move.dispute, *bytes});
    }
    if (out.work) {
        const auto done = [this](const verifier::Answer& answer) {
            memory_->disputes->on_done(answer);
            for (const std::string& problem : memory_->disputes->take_problems()) say(problem);
        };
        work<verifier::Answer>(std::move(*out.work), done, true);
        memory_->agent->preempt();  // The dispute move preempts training in progress.
    }
}

void SolverParty::send_bid(const ledger::StateView& view, const solver::CommitBid& bid) {
    const auto task = views::task(view, bid.task);
    const auto spec = views::spec(view, bid.task);
    const auto price = spec ? quote(view, bid.task, *spec).price : std::nullopt;
    if (!task || !price) return;
    const SealedBid sealed =
        bids_.try_emplace({bid.task, bid.round}, SealedBid{*price, task->reveal_end + spec->finish_blocks})
            .first->second;
    const Hash32 commitment =
        market::bid_commitment(bid.task, bid.round, sealed.price, sealed.finish, bid.salt, address());
    const auto place = views::bid_place_fee(view, world().params, *task);
    if (place) call("bids", contracts::CommitBid{bid.task, commitment}, world().params.bid_deposit + *place);
}

bool SolverParty::gives_back(const ledger::StateView& view, const solver::CommitCheckpoint& move) const {
    const auto spec = views::spec(view, move.task);
    const auto run = views::run(view, move.task, move.run);
    return role_.gives_back_after != 0 && spec && run && spec->spot && move.index < spec->segments() &&
           move.index == run->first_state + role_.gives_back_after;
}

void SolverParty::make_moves(const ledger::StateView& view, const solver::SolverView& seen,
                             std::vector<solver::SolverMove> moves) {
    const bool force = role_.protocol_attack == solver::ProtocolAttack::flood;
    for (const solver::SolverMove& move : moves) {
        if (const auto* sent = std::get_if<solver::CommitRound>(&move)) note_masks(*sent, seen);
        if (make_member_move(view, move)) continue;
        if (const auto* m = std::get_if<solver::CommitBid>(&move)) {
            if (!role_.joins || !views::is_group(view, m->task)) send_bid(view, *m);
        } else if (const auto* m = std::get_if<solver::RevealBid>(&move)) {
            const auto sealed = bids_.find({m->task, m->round});
            if (sealed != bids_.end())
                call("reveals its bid",
                     contracts::RevealBid{m->task, sealed->second.price, sealed->second.finish, m->salt});
        } else if (const auto* m = std::get_if<solver::AcceptData>(&move)) {
            const auto run = views::run(view, m->task, m->run);
            const auto spec = views::spec(view, m->task);
            if (role_.gives_up || (role_.declines_reserved && views::reservation_of_run(view, m->task, m->run)))
                call("gives its seat up", contracts::DeclineTask{m->task});
            else if (role_.honest() && run && spec && !node::pays_for_all(*run, spec->segments(), wish(*spec)))
                call("declines: too much may be unpaid", contracts::DeclineTask{m->task});
            else
                call("accepts the data", contracts::AcceptData{m->task});
        } else if (const auto* m = std::get_if<solver::Decline>(&move)) {
            call("declines: " + m->reason, contracts::DeclineTask{m->task});
        } else if (const auto* m = std::get_if<solver::CommitCheckpoint>(&move); m != nullptr && gives_back(view, *m)) {
            call("gives the run back at state " + std::to_string(m->index),
                 contracts::GiveBack{m->task, m->run, m->index, m->commitment});
        } else if (const auto* m = std::get_if<solver::CommitCheckpoint>(&move)) {
            call("commits checkpoint " + std::to_string(m->index),
                 contracts::CommitCheckpoint{m->task, m->run, m->index, m->commitment}, {}, force);
        } else if (const auto* m = std::get_if<solver::OpenSegment>(&move)) {
            call("opens segment " + std::to_string(m->opening.index),
                 contracts::OpenSegment{m->task, m->run, m->opening.index, m->opening.salt, m->opening.root});
        } else if (const auto* m = std::get_if<solver::RevealSegment>(&move)) {
            call("reveals the end of segment " + std::to_string(m->opening.index - 1),
                 contracts::RevealSegment{m->task, m->run, m->opening.index - 1, m->opening.salt, m->opening.root});
        } else if (const auto* m = std::get_if<solver::OpenRoots>(&move)) {
            for (const solver::Opening& opening : m->openings)
                call("opens state " + std::to_string(opening.index),
                     contracts::OpenRoots{m->task, m->run, opening.index, {opening.salt}, {opening.root}});
        } else if (const auto* m = std::get_if<solver::AnswerReport>(&move)) {
            call("answers report " + std::to_string(m->report), contracts::AnswerUnavailable{m->report, m->answer});
        } else if (const auto* m = std::get_if<solver::ReportKept>(&move)) {
            constexpr auto kKept = static_cast<std::uint8_t>(market::ReportKind::kept);
            call("reports a state that is not kept",
                 contracts::ReportUnavailable{kKept, m->task, m->run, m->index, m->tensor, m->tile},
                 world().params.report_fee);
        } else if (const auto* m = std::get_if<solver::AnswerCapability>(&move)) {
            call("answers challenge " + std::to_string(m->challenge),
                 contracts::AnswerCapability{m->challenge, m->rounds, m->root});
        } else if (const auto* m = std::get_if<solver::ProveCapability>(&move)) {
            call("proves challenge " + std::to_string(m->challenge), contracts::ProveCapability{m->challenge, m->proof},
                 {}, role_.inflates_benchmark);
        } else if (const auto* m = std::get_if<solver::RequestRetention>(&move)) {
            call("pays for keeping state " + std::to_string(m->index),
                 contracts::RequestRetention{m->task, m->run, m->index}, world().params.audit_fee);
        }
    }
}

}  // namespace retrace::sim
