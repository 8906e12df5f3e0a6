// SPDX-License-Identifier: MIT
// The verifier: audits the segments it is drawn for, plays the disputes that follow, keeps verified states,
// reveals its links of the beacon. A state machine like solver::SolverAgent; what it must remember is on the
// chain, in its secret and in its store.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "solver/agent/task_cache.hpp"
#include "solver/agent/work.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "solver/commitments.hpp"
#include "verifier/agent/dispute_agent.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// A segment was replayed; the end state is in the store under (task, run, segment + 1).
struct Replayed {
    std::uint64_t audit = 0;
    std::optional<Hash32> root;
    std::string problem;                         ///< When there is no root;
    std::optional<solver::Unavailable> missing;  ///< then perhaps what is not served.
    bool put_off = false;                        ///< Something more urgent waited: no root and no problem yet.
};
/// What the seeded initialiser makes was compared with a run's state 0.
struct InitialChecked {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::optional<Hash32> other;  ///< Own root, if it is another.
    std::string problem;
    bool put_off = false;         ///< Something more urgent waited: it is tried again later.
};
/// A segment that nobody drew this party for was replayed.
struct Watched {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    std::optional<Hash32> other;  ///< Own root of the end, if it is another.
    std::string problem;
    bool put_off = false;         ///< Something more urgent waited: it goes on later.
};
/// An offered state is in the store now; or why not.
struct Held {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    std::string problem;
    bool put_off = false;  ///< As of InitialChecked.
};
/// The tile of a kept state that was asked for on the ledger.
struct KeptAnswer {
    std::uint64_t report = 0;
    Bytes answer;  ///< Empty: could not be made.
    std::string problem;
    bool put_off = false;                 ///< As of InitialChecked.
    std::vector<KeptAnswer> others = {};  ///< About the same state, made in the same order.
};
using VerifierResult = std::variant<Replayed, Answer, InitialChecked, Watched, Held, KeptAnswer>;
using VerifierWork = solver::WorkOrder<VerifierResult>;

struct VerifierConfig {
    Hash32 secret;
    solver::PartyId address{};
    std::uint64_t resend_blocks = 10;
    std::uint64_t beacon_length = 1 << 16;  ///< Links of one hash chain.
    std::uint64_t beacon_chains = 256;      ///< Chains that may be registered, one after another.
    /// Share of all opened segments that it replays of its own accord, in basis points. Which ones, only its secret
    /// tells, so that a solver cannot know where nobody looks.
    std::uint64_t watch_bp = 0;
    bool keep_offers = true;                ///< Keeps states that solvers pay for.
    /// What has no deadline of an audit waits for peers no longer than this at a time: it goes on where it stopped, and
    /// an audit that is drawn meanwhile must not miss its own.
    std::uint64_t side_fetch_blocks = 15;
    /// Something urgent lets a step of a replay go on for so long; then it is left, and the segment begun
    /// again later.
    std::chrono::milliseconds step_timeout{10'000};
    /// Bytes that replays of disputes may take beside those that its tasks are counted with, and never more than
    /// the task cache has to spare.
    std::uint64_t dispute_memory = UINT64_MAX;
};

/// What node/agents drives; adversaries stand in front of an honest one.
class Verifier {
public:
    virtual ~Verifier() = default;
    struct Output {
        std::vector<VerifierMove> moves;
        std::optional<VerifierWork> work;  ///< None while an order is out.
    };
    virtual Output on_view(const VerifierView& view) = 0;
    virtual void on_done(const VerifierResult& result) = 0;
    virtual std::vector<std::string> take_problems() = 0;
};

class VerifierAgent final : public Verifier {
public:
    /// `task_cache` and `store` outlive the agent; only work orders use `task_cache`.
    VerifierAgent(VerifierConfig config, solver::TaskCache& task_cache, solver::CheckpointStore& store);

    Output on_view(const VerifierView& view) override;
    void on_done(const VerifierResult& result) override;
    std::vector<std::string> take_problems() override;

    /// Whether it replays a segment of its own accord, should it see it; not one that it replayed and found right.
    bool watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const;

    /// Head of chain number `chain` (0 first; the next when one is used up).
    Hash32 beacon_head(std::uint64_t chain) const;
    /// Head of the next chain once few links are left before `last`, the newest head on the ledger.
    std::optional<Hash32> next_head(const Hash32& last);
    /// What to register in order to join: that, or `last` itself; nullopt when all chains are used up. No chain is
    /// revealed twice.
    std::optional<Hash32> head_to_register(const std::optional<Hash32>& last);
    /// The value before `head` in one of this verifier's chains; nullopt if it is not in them or the last.
    std::optional<Hash32> before(const Hash32& head);

private:
    void audit(const AuditView& view, std::uint64_t height, Output& out);
    void reveal(const AuditView& view, const Hash32& root, std::uint64_t height, Output& out);
    void keep(const VerifierView& view, Output& out);
    void challenge(const VerifierView& view, Output& out);
    void answer_reports(const VerifierView& view, Output& out);
    void report_for_disputes(const VerifierView& view, Output& out);
    void reveal_beacon(const VerifierView& view, Output& out);
    /// Of a value in this verifier's chains, and how many are left before it.
    struct Place {
        std::uint64_t chain = 0, left = 0;
    };
    std::optional<Place> place_of(const Hash32& head);
    std::vector<Hash32> beacon_chain(std::uint64_t chain) const;
    bool waits_for_answer(const KeptReportView& report) const;
    bool waits_for_check(const InitialView& initial) const;
    /// Something that the ledger asks for and that waits for the worker, moves in disputes apart.
    struct Duty {
        std::uint64_t place = 0;
        std::variant<const KeptReportView*, const AuditView*, const InitialView*> what;
    };
    std::optional<Duty> first_duty(const VerifierView& view) const;
    VerifierWork order_for(const VerifierView& view, const Duty& duty);
    VerifierWork audit_work(const VerifierView& view, const AuditView& seat);
    VerifierWork answer_work(const VerifierView& view, const KeptReportView& report);
    VerifierWork initial_work(const InitialView& initial);
    bool waits_for_material(const AuditView& view) const;
    std::uint64_t fetch_by(const VerifierView& view, const AuditView& seat) const;
    void report_missing(const AuditView& view, bool first, std::uint64_t height, Output& out);
    std::optional<VerifierWork> watch_work(const VerifierView& view);
    void clean_up(const VerifierView& view);
    void on_replayed(const Replayed& replayed);
    void on_background_work(const VerifierResult& result);
    void on_kept_answer(const KeptAnswer& made);
    void put_aside(const std::string& name, const std::string& problem);
    /// What its secret makes of a segment: nobody else knows which are replayed, and which first.
    std::uint64_t draw_of(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const;
    std::optional<Hash32> own_root(const AuditView& view) const;
    bool due(const std::string& key, std::uint64_t height) { return outbox_.due(key, height); }

    /// A replay on its way.
    struct Begun {
        solver::CheckpointKey segment;
        kernels::State state;
    };
    /// With fewer links left the next chain is registered: time enough for that, one reveal an epoch.
    static constexpr std::uint64_t kLinksLow = 64;

    // Worker thread.
    Result<Begun, solver::Unavailable> begin(solver::TaskMaterial& material, const solver::CheckpointKey& segment,
                                             const Hash32& root);
    bool run_to(solver::TaskMaterial& material, Begun& begun, std::uint64_t last_step);
    Replayed replay(const AuditView& view);
    InitialChecked check_initial(const InitialView& view);
    Watched watch(const WatchView& view);
    Held hold(const OfferView& view);
    bool gives_way() { return slot_.preemption().requested(); }
    KeptAnswer answer_kept(const KeptReportView& view);
    Result<kernels::State, solver::Unavailable> start_state(solver::TaskMaterial& material, std::uint32_t run,
                                                            std::uint64_t index, const Hash32& root);

    VerifierConfig config_;
    solver::TaskCache& task_cache_;
    solver::CheckpointStore& store_;
    solver::Outbox outbox_;
    DisputeReplays dispute_replays_;
    solver::WorkerSlot slot_;
    DisputeAgent disputes_;
    std::uint64_t replaying_ = 0;  // Audit of the order that is out; 0: none.
    std::function<bool(const VerifierView&)> wanted_;  // Whether a view still asks for the order that is out.
    std::map<std::uint64_t, Begun> begun_;  // Task → what was put off. The worker's while an order is out.
    std::uint64_t height_ = 0;
    std::map<std::uint64_t, std::uint64_t> retry_height_;   // Audit → after a failed fetch.
    std::map<std::uint64_t, solver::Unavailable> missing_;  // Audit → what was not served.
    using RunKey = std::pair<std::uint64_t, std::uint32_t>;
    std::map<RunKey, std::optional<Hash32>> initials_;      // Run → own root of state 0 where it differs.
    std::map<solver::CheckpointKey, std::optional<Hash32>> watched_;  // Segment → own root where it differs.
    std::map<solver::CheckpointKey, std::uint64_t> right_;  // Watched segment that was right → height of the replay.
    std::map<std::uint64_t, Bytes> kept_answers_;           // By report.
    std::map<std::uint64_t, solver::Unavailable> dispute_missing_;    // Dispute → what was not served.
    std::map<std::string, std::uint64_t> pause_;            // Side work that failed → when it is tried again.
    std::vector<Hash32> beacon_;      // The values of chain number `chain_`; filled at first use.
    std::uint64_t chain_ = 0;
    std::optional<Hash32> foreign_;   // A head that is in none of the chains.
    std::vector<std::string> problems_;
};

}  // namespace retrace::verifier
