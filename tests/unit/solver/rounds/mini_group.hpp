// SPDX-License-Identifier: MIT
// A group of solver agents on a ledger of one task, in one process: messages are fetched from the other members' stores.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "kernels/builder/rounds.hpp"
#include "solver/agent/agent.hpp"
#include "solver/rounds/local_group.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {

struct TinyGroup {
    kernels::ThreadPool pool{1};
    MemorySource source;
    solver::TaskTerms terms;
    kernels::GroupPlan plan;
    kernels::Tensor x, y;
    static constexpr std::uint64_t kSamples = 64, kPixels = 16;

    explicit TinyGroup(kernels::UpdateKind update = kernels::UpdateKind::dense, std::uint32_t rounds = 6,
                       std::uint32_t steps_max = 4) {
        x = kernels::zeros(kernels::DType::u8, {kSamples, kPixels});
        y = kernels::zeros(kernels::DType::u8, {kSamples});
        std::uint32_t word = 12345;
        for (std::uint64_t i = 0; i < x.data.size(); ++i) {
            word = word * 1664525 + 1013904223;
            x.data[i] = static_cast<std::uint8_t>(word >> 24);
            if (i % kPixels == 0) y.data[i / kPixels] = static_cast<std::uint8_t>(word >> 31);
        }
        kernels::ModelSpec model;
        model.hidden = {12};
        model.input = {kPixels};
        model.classes = 2;
        kernels::TrainingSpec training;
        training.samples = kSamples;
        training.batch = 8;
        training.steps = 400;
        training.learning_rate = 3e-3f;
        kernels::RoundsSpec spec;
        spec.update = update;
        spec.inner = steps_max;
        spec.members = 4;
        const auto programs = kernels::build_training(model, training, kSamples, kSamples);
        EXPECT_TRUE(programs.has_value());
        auto built = kernels::build_rounds(*programs, training, spec);
        EXPECT_TRUE(built.has_value()) << (built ? "" : built.error().message);
        plan = std::move(built).value();
        const Bytes file = kernels::encode(plan);
        terms.id = 7;
        terms.program_root = kernels::plan_root(plan);
        terms.program_bytes = file.size();
        source.programs[terms.program_root] = file;
        for (const kernels::Tensor* tensor : {&x, &y}) {
            const Hash32 root = kernels::tensor_root(*tensor, pool);
            source.tensors[root] = *tensor;
            terms.data_roots.push_back(root);
        }
        terms.schedule = {rounds + 1, 1};
        terms.seed = 3;
        terms.contract = kernels::contract_hash();
        terms.group = solver::GroupTerms{rounds, plan.steps_max, plan.shared, plan.public_tensors, 8, 64, 1000};
    }
    solver::LocalGroup local(std::uint32_t members) {
        return solver::LocalGroup(plan, terms.seed, {&x, &y}, members, pool);
    }
};

class MiniGroup;

/// What one member fetches: the task's artifacts, and the messages and states of the others.
class GroupSource final : public solver::ArtifactSource {
public:
    explicit GroupSource(MiniGroup& group, std::uint32_t self) : group_(group), self_(self) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override;
    Result<solver::StateRoots> state(const Hash32& root) override;
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override;
    Result<kernels::Tensor> message_tensor(const Hash32& root, const kernels::TensorRecord& record, std::uint64_t task,
                                           std::uint32_t run) override;

private:
    MiniGroup& group_;
    std::uint32_t self_;
};

/// A member with its stores; the agent can be restarted.
struct GroupParty {
    TemporaryDirectory folder;
    std::unique_ptr<GroupSource> source;
    std::unique_ptr<kernels::ThreadPool> pool = std::make_unique<kernels::ThreadPool>(1);
    std::unique_ptr<solver::CheckpointStore> states;
    std::unique_ptr<solver::MessageStore> messages;
    std::unique_ptr<solver::TaskCache> task_cache;
    std::unique_ptr<solver::SolverAgent> agent;
    solver::SolverConfig config;
    solver::RunnerFactory runners = solver::honest_runners();

    void start();
};

/// A ledger with the rules of rounds in short.
class MiniGroup {
public:
    struct RunRecord {
        bool accepted = false, sent = false, finished = false;
        std::uint64_t next_state = 0;
        std::uint32_t base = 0, entered = 0;
        std::vector<Hash32> anchor;
        std::optional<std::uint32_t> last_round;
        std::vector<solver::OwnSegment> segments;
        std::vector<Hash32> commitments;
        std::optional<solver::CommitHoldings> holdings;
        bool revealed = false;
    };

    MiniGroup(TinyGroup& task, std::uint32_t members) : task_(task) {
        for (std::uint32_t run = 0; run < members; ++run) add_member();
    }
    GroupParty& party(std::uint32_t run) { return *parties_.at(run); }
    RunRecord& run(std::uint32_t run) { return runs_.at(run); }
    std::uint32_t members() const { return static_cast<std::uint32_t>(runs_.size()); }
    TinyGroup& task() { return task_; }
    std::uint32_t add_member() {
        const std::uint32_t run = members();
        runs_.emplace_back();
        parties_.push_back(std::make_unique<GroupParty>());
        GroupParty& made = *parties_.back();
        made.source = std::make_unique<GroupSource>(*this, run);
        made.config.secret.bytes[0] = static_cast<std::uint8_t>(run + 1);
        made.config.away = [this, run](std::uint64_t, std::uint32_t round) { return away.contains({round, run}); };
        made.start();
        return run;
    }
    /// A further member begins at the base of state `index` of another.
    std::uint32_t join(std::uint32_t anchor, std::uint64_t index) {
        const auto state = party(anchor).states->commitment({task_.terms.id, anchor, index});
        EXPECT_TRUE(state.has_value());
        const std::uint32_t made = add_member();
        RunRecord& record = runs_[made];
        record.accepted = true;
        record.entered = record.base = static_cast<std::uint32_t>(state->header.step >> kernels::kPlaceBits);
        record.anchor.assign(state->tensor_roots.begin(), state->tensor_roots.begin() + task_.plan.shared);
        return made;
    }

    solver::SolverView view_of(std::uint32_t index) {
        const RunRecord& record = runs_[index];
        solver::SolverView out;
        out.height = height;
        solver::RunView view;
        view.terms = task_.terms;
        view.run = index;
        view.may_accept = !record.accepted;
        view.accept_by = record.accepted ? 0 : 1000;
        view.next_state = record.next_state;
        view.may_commit = record.accepted && record.next_state == 0;
        view.keep_from = record.next_state > 3 ? record.next_state - 3 : 0;
        view.open_roots = open_roots[index];
        view.reports = reports[index];
        solver::MemberView member;
        member.phase = phase;
        member.round = round;
        member.deadline = deadline;
        member.base = record.base;
        member.entered = record.entered;
        member.anchor = record.anchor;
        for (const solver::OwnSegment& segment : record.segments)
            if (segment.index >= view.keep_from) member.segments.push_back(segment);
        std::uint64_t from = record.base;
        for (const solver::OwnSegment& segment : member.segments) from = std::min(from, segment.span.from);
        for (const solver::RecordView& closed : records)
            if (closed.round >= from) member.records.push_back(closed);
        member.omitted = omitted(record, index, round);
        member.committed = committed;
        const bool ready = record.next_state > 0;
        member.may_commit = ready && phase == solver::RoundPhase::training && !record.sent;
        const bool is_open = phase != solver::RoundPhase::starting && phase != solver::RoundPhase::over;
        member.may_go_on = ready && is_open && !record.sent && task_.terms.group->max_age != 0;
        member.may_finish = ready && phase == solver::RoundPhase::over && !record.finished;
        member.may_list = phase == solver::RoundPhase::spreading && record.sent && !record.holdings;
        member.may_reveal = phase == solver::RoundPhase::revealing && record.holdings && !record.revealed;
        view.member = std::move(member);
        out.runs.push_back(std::move(view));
        return out;
    }

    /// One block: every member sees it, and its work is done before the next.
    void block() {
        ++height;
        for (std::uint32_t i = 0; i < members(); ++i) {
            if (offline.contains(i)) continue;
            GroupParty& it = party(i);
            auto out = it.agent->on_view(view_of(i));
            if (filter) filter(i, out.moves);
            for (const solver::SolverMove& move : out.moves)
                std::visit([&](const auto& content) { apply(i, content); }, move);
            if (!out.work) continue;
            if (before_work) before_work(i);
            it.agent->on_done(out.work->run());
        }
        advance();
    }
    /// Plays until all rounds are closed and each member has its last state, or `most` blocks have passed.
    bool play(int most = 400) {
        for (int i = 0; i < most; ++i) {
            block();
            if (phase != solver::RoundPhase::over) continue;
            bool over = true;
            for (std::uint32_t run = 0; run < members(); ++run) over = over && (runs_[run].finished || gone(run));
            if (over) return true;
        }
        return false;
    }
    bool gone(std::uint32_t run) const { return offline.contains(run); }

    solver::RoundPhase phase = solver::RoundPhase::starting;
    std::uint32_t round = 0;
    std::uint64_t height = 0, deadline = 0, began = 0;
    std::uint64_t round_blocks = 12, fetch_blocks = 8;
    std::vector<solver::SentMessage> committed;
    std::vector<solver::RecordView> records;
    std::set<std::pair<std::uint32_t, std::uint32_t>> away;    ///< Round and run.
    std::set<std::pair<std::uint32_t, std::uint32_t>> hidden;  ///< Round and run of messages that nobody serves.
    std::set<std::uint32_t> offline;
    std::map<std::uint32_t, std::vector<std::uint64_t>> open_roots;
    std::map<std::uint32_t, std::vector<solver::ReportView>> reports;
    std::map<std::uint32_t, std::vector<solver::OpenMember>> opened;
    std::map<std::uint64_t, Bytes> answers;
    std::function<void(std::uint32_t, std::vector<solver::SolverMove>&)> filter;
    std::function<void(std::uint32_t)> before_work;
    /// Replaces a tensor that is served to others.
    std::function<void(std::uint32_t author, kernels::Tensor&)> tamper;
    std::vector<Hash32> roots_of(std::uint32_t run_index) {
        std::vector<Hash32> out;
        for (std::uint64_t i = 0; i < run(run_index).next_state; ++i)
            out.push_back(party(run_index).states->commitment({task_.terms.id, run_index, i})->root);
        return out;
    }

private:
    std::optional<std::uint64_t> omitted(const RunRecord& record, std::uint32_t index, std::uint32_t until) const {
        if (!record.last_round || *record.last_round < record.base || *record.last_round >= until) return std::nullopt;
        for (const solver::RecordView::Entry& entry : records.at(*record.last_round).entries)
            if (entry.run == index) return std::nullopt;
        return *record.last_round;
    }
    void apply(std::uint32_t index, const solver::AcceptData&) { runs_[index].accepted = true; }
    void apply(std::uint32_t index, const solver::CommitCheckpoint& m) {
        RunRecord& record = runs_[index];
        if (m.index != 0 || record.next_state != 0) return;
        record.next_state = 1;
        record.commitments.push_back(m.commitment);
    }
    void apply(std::uint32_t index, const solver::CommitRound& m) {
        RunRecord& record = runs_[index];
        if (m.index != record.next_state) return;
        const bool first = record.next_state == 1 && m.base == record.entered;
        if (m.steps != 0) {
            if (phase != solver::RoundPhase::training || record.sent) return;
            if (m.base > round || round - m.base > task_.terms.group->max_age) return;
            EXPECT_TRUE(!record.last_round || m.base > *record.last_round);
            EXPECT_EQ(m.message.size(), task_.plan.public_tensors.size());
            record.sent = true;
            committed.push_back({index, m.steps, m.message, round - m.base});
        } else {
            EXPECT_TRUE(m.message.empty());
            if (m.base > round || m.base == record.base) return;
        }
        EXPECT_TRUE(m.base > record.base || first);
        EXPECT_LE(m.base - record.base, task_.terms.group->keep_rounds);
        record.segments.push_back({m.index - 1, {record.base, m.base, m.steps, omitted(record, index, m.base)}});
        record.base = m.base;
        if (m.steps != 0) record.last_round = round;
        record.finished = phase == solver::RoundPhase::over && m.base == round;
        ++record.next_state;
        record.commitments.push_back(m.commitment);
    }
    void apply(std::uint32_t index, const solver::CommitHoldings& m) {
        if (phase == solver::RoundPhase::spreading && m.round == round && !runs_[index].holdings)
            runs_[index].holdings = m;
    }
    void apply(std::uint32_t index, const solver::RevealHoldings& m) {
        if (phase != solver::RoundPhase::revealing || m.round != round) return;
        ASSERT_TRUE(runs_[index].holdings.has_value());
        EXPECT_EQ(m.bitmap, runs_[index].holdings->bitmap);
        EXPECT_EQ(m.salt, runs_[index].holdings->salt);
        runs_[index].revealed = true;
    }
    void apply(std::uint32_t index, const solver::OpenMember& m) { opened[index].push_back(m); }
    void apply(std::uint32_t, const solver::AnswerReport& m) { answers[m.report] = m.answer; }
    void apply(std::uint32_t index, const auto&) { ADD_FAILURE() << "a move of member " << index << " without a rule"; }

    void begin(solver::RoundPhase next, std::uint64_t blocks) {
        phase = next;
        began = height;
        deadline = height + blocks;
    }
    bool all(const auto& condition) const { return std::all_of(runs_.begin(), runs_.end(), condition); }
    bool is_late() const { return height >= deadline; }
    void advance() {
        using solver::RoundPhase;
        if (phase == RoundPhase::starting) {
            if (all([](const RunRecord& r) { return r.next_state > 0; })) begin(RoundPhase::training, round_blocks);
        } else if (phase == RoundPhase::training) {
            if (all([](const RunRecord& r) { return r.sent; }) || is_late()) begin(RoundPhase::spreading, fetch_blocks);
        } else if (phase == RoundPhase::spreading) {
            if (all([](const RunRecord& r) { return !r.sent || r.holdings; }) || is_late())
                begin(RoundPhase::revealing, fetch_blocks);
        } else if (phase == RoundPhase::revealing) {
            if (all([](const RunRecord& r) { return !r.holdings || r.revealed; }) || is_late()) close();
        }
    }
    void close() {
        solver::RecordView record{round, 0, {}};
        for (std::size_t bit = 0; bit < committed.size(); ++bit) {
            std::size_t others = 0, listed = 0;
            for (std::uint32_t i = 0; i < members(); ++i) {
                if (i == committed[bit].run || !runs_[i].revealed) continue;
                ++others;
                listed += runs_[i].holdings->bitmap[bit / 8] >> bit % 8 & 1;
            }
            if (others == 0 || 3 * listed < 2 * others) continue;
            const solver::SentMessage& of = committed[bit];
            const std::uint32_t weight = kernels::message_weight(of.steps, of.age, task_.terms.group->max_age);
            record.entries.push_back({of.run, of.steps, of.tensors, weight, of.age});
            record.total += weight;
        }
        std::sort(record.entries.begin(), record.entries.end(),
                  [](const auto& a, const auto& b) { return a.run < b.run; });
        records.push_back(std::move(record));
        committed.clear();
        for (RunRecord& run : runs_) {
            run.sent = run.revealed = false;
            run.holdings.reset();
        }
        ++round;
        const bool over = round == task_.terms.group->rounds;
        begin(over ? solver::RoundPhase::over : solver::RoundPhase::training, round_blocks);
    }

    TinyGroup& task_;
    std::vector<RunRecord> runs_;
    std::vector<std::unique_ptr<GroupParty>> parties_;
};

inline void GroupParty::start() {
    agent.reset();
    task_cache.reset();
    messages.reset();
    states.reset();
    states = std::move(solver::CheckpointStore::open(folder.path / "states")).value();
    messages = std::move(solver::MessageStore::open(folder.path / "messages")).value();
    task_cache = std::make_unique<solver::TaskCache>(*source, *pool, runners);
    config.messages = messages.get();
    agent = std::make_unique<solver::SolverAgent>(config, *task_cache, *states);
}

inline Result<Bytes> GroupSource::program(const Hash32& root, std::uint64_t limit) {
    return group_.task().source.program(root, limit);
}
inline Result<solver::StateRoots> GroupSource::state(const Hash32&) { return error("not served"); }
inline Result<kernels::Tensor> GroupSource::tensor(const Hash32& root, const kernels::TensorRecord& record) {
    for (std::uint32_t i = 0; i < group_.members(); ++i) {
        if (i == self_) continue;
        auto here = group_.party(i).states->tensor(root, *group_.party(self_).pool);
        if (here) return here;
    }
    return group_.task().source.tensor(root, record);
}
inline Result<kernels::Tensor> GroupSource::message_tensor(const Hash32& root, const kernels::TensorRecord& record,
                                                           std::uint64_t, std::uint32_t run) {
    for (const solver::SentMessage& sent : group_.committed)
        if (sent.run == run && group_.hidden.contains({group_.round, run}) &&
            std::find(sent.tensors.begin(), sent.tensors.end(), root) != sent.tensors.end())
            return error("not served");
    for (std::uint32_t i = 0; i < group_.members(); ++i) {
        if (i == self_) continue;
        auto here = group_.party(i).messages->tensor(root, record, *group_.party(self_).pool);
        if (!here) continue;
        if (group_.tamper) group_.tamper(run, *here);
        return here;
    }
    return error("nobody serves " + to_hex(view(root)));
}

}  // namespace retrace::test
