// SPDX-License-Identifier: MIT
// A requester: posts tasks, uploads their programs and data, and takes the model, unless it is an adversary.
#pragma once

#include "tests/simulation/party.hpp"

namespace retrace::sim {

enum class RequesterFraud : std::uint8_t {
    none = 0,
    withdraw = 1,    ///< Cancels whenever the rules allow it.
    impossible = 2,  ///< Posts an invalid program.
    no_upload = 3,   ///< Posts a task, but uploads nothing.
    disappear = 4,   ///< Uploads, and is silent from then on.
    burst = 5,       ///< Reports as many tiles of the model at once as it may, and accepts the model later.
};
std::string_view slug(RequesterFraud fraud) noexcept;

/// The time of a solver that a requester reserves for a task.
struct PlannedReservation {
    std::size_t solver = 0;  ///< Index of the solver.
    ledger::U256 deposit;
    std::uint64_t from = 90, until = 130;
    std::uint64_t withdraw_at = 0;  ///< Block for which it takes the offer back, if it is not accepted; 0: `from`.
    bool is_used = true;  ///< Otherwise the requester does not begin; afterwards it posts the task for all solvers.
    std::uint64_t taken_back_at() const { return withdraw_at == 0 ? from : withdraw_at; }
};

/// A task that a requester will post.
struct PlannedTask {
    std::size_t kind = 0;  ///< Index in the catalogue.
    std::uint64_t steps = 8, interval = 2, seed = 1;
    std::uint16_t audit_bp = 2500;
    std::uint8_t auditors = 2, replicas = 1;
    bool allow_unaudited = false;  ///< Unaudited segments are paid all the same.
    std::uint8_t raise_to = 0;     ///< Replicas wanted once the task is running; 0 leaves their number unchanged.
    bool spot = false;
    bool tops_up = false;       ///< Doubles its ceiling in the first auction, and asks for two more auctions.
    std::uint8_t auctions = 1;  ///< Of its terms. If there are several, the ceiling doubles from the first to the last.
    std::uint64_t at_height = 25;
    std::uint64_t replay_blocks = 10, finish_blocks = 600;
    std::uint64_t checkpoint_blocks = 0;  ///< Longest time between checkpoints; at least the chain's parameter.
    std::size_t requester = 0;            ///< Index of the requester that posts it.
    RequesterFraud fraud = RequesterFraud::none;
    /// Set for the task of a group; then it trains `group_kind`, and kind, steps, interval and replicas do not count.
    std::optional<PlannedGroup> group{};
    std::optional<PlannedReservation> reserved{};  ///< Offered at `at_height`.
};

class RequesterParty final : public Party {
public:
    /// Posts those of `planned_tasks` that name it by `number`. The list is that of all requesters, who post in its
    /// order.
    RequesterParty(World& world, NodeId id, std::string name, bool honest, std::vector<PlannedTask> planned_tasks,
                   std::size_t number);

private:
    void boot() override {}
    void halt() override {}
    void act(const ledger::StateView& view, std::uint64_t height) override;
    market::TaskSpec spec_of(const PlannedTask& planned);
    void post(const PlannedTask& planned);
    void upload(const PlannedTask& planned, const market::TaskSpec& spec);
    /// Offers and uses the reservation of a planned task. Returns whether the task may be posted for all solvers.
    bool reserve(const ledger::StateView& view, std::uint64_t height, std::size_t index);
    void post_group(const PlannedTask& planned);
    /// Admits the members of a private group.
    void admit(const ledger::StateView& view, std::uint64_t height, std::uint64_t id, const PlannedGroup& group);
    void follow(const ledger::StateView& view, std::uint64_t height, std::uint64_t task, const PlannedTask& planned);
    void raise(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec,
               std::uint8_t replicas);
    void top_up(const market::Task& task, const market::TaskSpec& spec);
    void report_burst(const market::Task& task, const market::TaskSpec& spec);
    bool has_model(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec);
    bool has_model_of_group(const ledger::StateView& view, const market::Task& task);

    std::vector<PlannedTask> planned_tasks_;
    std::size_t number_;
    std::set<std::size_t> posted_;                           ///< Indices of planned tasks.
    std::set<std::uint64_t> raised_, reported_, topped_up_;  ///< Task ids.
    std::map<std::size_t, std::uint64_t> reserved_;          ///< By planned task: height of its newest call.
    std::map<std::size_t, std::uint64_t> withdrawn_;         ///< By planned task: when it last took its offer back.
    std::map<std::uint64_t, std::uint64_t> admitted_;      ///< By task: height of the newest call that admits members.
    std::map<std::uint64_t, std::uint64_t> tried_height_;  ///< By task: height of the last request for the model.
};

}  // namespace retrace::sim
