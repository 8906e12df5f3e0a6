// SPDX-License-Identifier: MIT
#include "tests/unit/verifier/agent/mini_chain.hpp"

namespace retrace::test {

using namespace verifier;

namespace {

Hash32 secret_of(std::uint8_t number) {
    Hash32 secret;
    secret.bytes[0] = number;
    return secret;
}

std::unique_ptr<solver::CheckpointStore> open_store(const TemporaryDirectory& directory) {
    auto store = solver::CheckpointStore::open(directory.path);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return std::move(store).value();
}

/// Whether both ends of a segment are open and no verdicts are being collected.
bool is_closed(const MiniChain::Audit& audit) {
    for (const auto& [verifier, seat] : audit.seats) {
        if (!seat.revealed) return false;
    }
    return audit.end.has_value();
}

}  // namespace

SolverParty::SolverParty(TinyTask& task, solver::RunnerFactory runners) { restart(task, std::move(runners)); }

void SolverParty::restart(TinyTask& task, solver::RunnerFactory runners) {
    disputes.reset();
    dispute_replays.reset();
    agent.reset();
    task_cache.reset();
    store = open_store(directory);
    task_cache = std::make_unique<solver::TaskCache>(task.source, task.pool, std::move(runners));
    solver::SolverConfig config;
    config.secret = secret_of(100);
    agent = std::make_unique<solver::SolverAgent>(config, *task_cache, *store);
    dispute_replays = std::make_unique<DisputeReplays>(*task_cache, [this](const DisputeView& view) {
        return agent->state_of(view.terms, view.own_run, view.first_state, view.first_root, view.segment);
    });
    disputes = std::make_unique<DisputeAgent>(10, *dispute_replays, &agent->slot());
}

VerifierParty::VerifierParty(TinyTask& task, solver::ArtifactSource& source, std::uint8_t number,
                             std::optional<VerifierAttack> fraud)
    : store(open_store(directory)), secret(secret_of(number)) {
    address.fill(number);
    const bool accuser = fraud == VerifierAttack::false_accuser;
    task_cache =
        std::make_unique<solver::TaskCache>(source, task.pool, accuser ? accusing_runners() : solver::honest_runners());
    VerifierConfig config;
    config.secret = secret;
    config.address = address;
    config.beacon_length = 100;
    agent = std::make_unique<VerifierAgent>(config, *task_cache, *store);
    if (fraud) agent = make_attacker(*fraud, config, std::move(agent));
}

MiniChain::MiniChain(TinyTask& task, SolverParty& solver, std::vector<VerifierParty*> verifiers)
    : task_(task), solver_(solver), verifiers_(std::move(verifiers)) {}

solver::SolverView MiniChain::solver_view() const {
    solver::SolverView view;
    view.height = height;
    if (declined) return view;
    solver::RunView run;
    run.terms = task_.terms;
    run.may_accept = !accepted;
    run.next_state = commitments.empty() ? 0 : commitments.rbegin()->first + 1;
    run.may_commit = accepted && run.next_state <= task_.terms.schedule.segments();
    for (const Audit& audit : audits) {
        if (!audit.start) run.open_segments.push_back(audit.segment);
        bool collected = audit.start.has_value();
        for (const auto& [verifier, seat] : audit.seats) collected = collected && !seat.commitment.is_zero();
        if (collected && !audit.end) run.reveal_segments.push_back(audit.segment + 1);
    }
    for (std::size_t i = 0; i < reports.size(); ++i) {
        if (answers.count(i) == 0) {
            run.reports.push_back({i, reports[i].kind, reports[i].index, reports[i].tensor, reports[i].tile});
        }
    }
    view.runs.push_back(std::move(run));
    return view;
}

std::vector<DisputeView> MiniChain::dispute_views(Side side, std::size_t index) const {
    std::vector<DisputeView> views;
    for (std::size_t i = 0; i < disputes.size(); ++i) {
        const Dispute& dispute = disputes[i];
        if (dispute.game.phase == Phase::decided) continue;
        if (side == Side::challenger && dispute.verifier != index) continue;
        DisputeView& view = views.emplace_back();
        view.id = i;
        view.terms = task_.terms;
        view.segment = dispute.segment;
        view.side = side;
        view.game = dispute.game;
        view.claimed_root = dispute.claimed_root;
    }
    return views;
}

VerifierView MiniChain::verifier_view(std::size_t index) const {
    VerifierView view;
    view.height = height;
    for (const Audit& audit : audits) {
        const Seat& own = audit.seats.at(index);
        AuditView seat;
        seat.id = audit.id;
        seat.terms = task_.terms;
        seat.segment = audit.segment;
        seat.start_root = audit.start.value_or(Hash32{});
        seat.end_root = audit.end.value_or(Hash32{});
        seat.commitment = own.commitment;
        seat.may_commit = audit.start && own.commitment.is_zero();
        seat.may_reveal = audit.end && !own.revealed;
        seat.may_report = seat.may_commit;
        if (audit.segment == 0 && audit.start && initial_challenges.empty())
            view.initials.push_back({task_.terms, 0, *audit.start});
        for (const auto& [other, taken] : audit.seats) {
            if (other != index && !taken.commitment.is_zero()) seat.others.push_back(taken.commitment);
        }
        if (own.revealed)
            view.keep.push_back({task_.terms.id, 0, audit.segment + 1, own.revealed == audit.end});
        else
            view.audits.push_back(std::move(seat));
    }
    view.disputes = dispute_views(Side::challenger, index);
    return view;
}

void MiniChain::block() {
    ++height;
    const solver::SolverView view = solver_view();
    auto out = solver_.agent->on_view(view);
    if (solver_filter) solver_filter(out.moves, view);
    for (const solver::SolverMove& move : out.moves) take(move);
    if (out.work) solver_.agent->on_done(out.work->run());
    auto played = solver_.disputes->on_view(height, dispute_views(Side::solver, 0));
    for (const PlayMove& move : played.moves) play(move, Side::solver);
    if (played.work) solver_.disputes->on_done(played.work->run());
    for (std::size_t i = 0; i < verifiers_.size(); ++i) {
        auto audited = verifiers_[i]->agent->on_view(verifier_view(i));
        for (const VerifierMove& move : audited.moves) take(i, move);
        if (audited.work) verifiers_[i]->agent->on_done(audited.work->run());
    }
    next_audit();
}

void MiniChain::next_audit() {
    if (!audits.empty() && !is_closed(audits.back())) return;
    const std::uint64_t segment = audits.size();
    if (commitments.count(segment + 1) == 0) return;
    Audit audit;
    audit.id = 1000 + segment;
    audit.segment = segment;
    for (std::size_t i = 0; i < verifiers_.size(); ++i) audit.seats[i] = {};
    audits.push_back(std::move(audit));
}

void MiniChain::take(const solver::SolverMove& move) {
    const auto opened = [&](const solver::Opening& opening) {
        const Hash32 commitment =
            solver::checkpoint_commitment(task_.terms.id, 0, opening.index, opening.salt, opening.root);
        EXPECT_EQ(commitments.at(opening.index), commitment) << "an opening that does not fit its commitment";
        return opening.root;
    };
    if (std::holds_alternative<solver::AcceptData>(move)) accepted = true;
    if (std::holds_alternative<solver::Decline>(move)) declined = true;
    if (const auto* commit = std::get_if<solver::CommitCheckpoint>(&move)) {
        EXPECT_TRUE(commitments.emplace(commit->index, commit->commitment).second);
    }
    if (const auto* open = std::get_if<solver::OpenSegment>(&move)) {
        audits.at(open->opening.index).start = opened(open->opening);
    }
    if (const auto* reveal = std::get_if<solver::RevealSegment>(&move)) {
        audits.at(reveal->opening.index - 1).end = opened(reveal->opening);
    }
    if (const auto* answer = std::get_if<solver::AnswerReport>(&move)) answers[answer->report] = answer->answer;
}

void MiniChain::take(std::size_t index, const VerifierMove& move) {
    const auto seat_of = [&](std::uint64_t audit) -> Seat& { return audits.at(audit - 1000).seats.at(index); };
    if (const auto* commit = std::get_if<CommitVerdict>(&move)) seat_of(commit->audit).commitment = commit->commitment;
    if (const auto* reveal = std::get_if<RevealVerdict>(&move)) {
        Seat& seat = seat_of(reveal->audit);
        const Hash32 commitment =
            solver::verdict_commitment(reveal->root, reveal->salt, verifiers_[index]->address, reveal->audit);
        EXPECT_EQ(commitment, seat.commitment);
        seat.revealed = reveal->root;
        Audit& audit = audits.at(reveal->audit - 1000);
        if (*seat.revealed == *audit.end) return;
        const Facts facts{task_.terms.contract, task_.terms.program_root, task_.terms.program_root, task_.terms.seed,
                          task_.terms.data_roots};
        const Claim claim{false, task_.terms.schedule.step_of(audit.segment),
                          task_.terms.schedule.step_of(audit.segment + 1), *audit.start, *audit.end};
        disputes.push_back({index, audit.segment, start(facts, claim), *seat.revealed});
    }
    if (const auto* report = std::get_if<ReportUnavailable>(&move)) reports.push_back(*report);
    if (const auto* challenge = std::get_if<ChallengeInitial>(&move)) {
        initial_challenges.push_back(*challenge);
        const Facts facts{task_.terms.contract, task_.terms.program_root, task_.terms.init_root, task_.terms.seed,
                          task_.terms.data_roots};
        disputes.push_back({index, 0, start(facts, Claim{true, 0, 0, {}, *audits.at(0).start}), challenge->root});
    }
    if (const auto* attest = std::get_if<AttestRetention>(&move)) attested.push_back(attest->index);
    if (const auto* played = std::get_if<PlayMove>(&move)) play(*played, Side::challenger);
}

void MiniChain::play(const PlayMove& move, Side side) {
    const auto decoded = decode_move(move.move);
    ASSERT_TRUE(decoded.has_value());
    const auto applied = apply(disputes.at(move.dispute).game, side, *decoded);
    EXPECT_TRUE(applied.has_value()) << slug(disputes.at(move.dispute).game.phase);
}

}  // namespace retrace::test
