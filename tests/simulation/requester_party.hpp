// SPDX-License-Identifier: MIT
// A requester: posts tasks, uploads what they need, takes the model; or does not.
#pragma once

#include "tests/simulation/party.hpp"

namespace retrace::sim {

enum class RequesterFraud : std::uint8_t {
    none = 0,
    withdraw = 1,    ///< Cancels whenever the rules allow it.
    impossible = 2,  ///< Posts a program that is none.
    no_upload = 3,   ///< Posts, and uploads nothing.
    disappear = 4,   ///< Uploads, and is never seen again.
    burst = 5,       ///< Reports as many tiles of the model at once as it may, and accepts it later.
};
std::string_view slug(RequesterFraud fraud) noexcept;

/// A task to be posted.
struct Order {
    std::size_t kind = 0;  ///< In the catalogue.
    std::uint64_t steps = 8, interval = 2, seed = 1;
    std::uint16_t audit_bp = 2500;
    std::uint8_t auditors = 2, replicas = 1;
    bool allow_unaudited = false;  ///< What nobody audited is paid all the same.
    std::uint8_t raise_to = 0;  ///< Replicas wanted once the task is running; 0: as they are.
    std::uint64_t at_height = 25;
    std::uint64_t replay_blocks = 10, finish_blocks = 600;
    std::uint64_t checkpoint_blocks = 0;  ///< Longest time between checkpoints; at least the chain's.
    std::size_t requester = 0;  ///< Who posts it.
    RequesterFraud fraud = RequesterFraud::none;
};

class RequesterParty final : public Party {
public:
    /// Posts those of `orders` (of all requesters, which wait for each other's) that name it by `number`.
    RequesterParty(World& world, NodeId id, std::string name, bool honest, std::vector<Order> orders,
                   std::size_t number);

private:
    void boot() override {}
    void halt() override {}
    void act(const ledger::StateView& view, std::uint64_t height) override;
    market::TaskSpec spec_of(const Order& order);
    void post(const Order& order);
    void follow(const ledger::StateView& view, std::uint64_t height, std::uint64_t task, const Order& order);
    void raise(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec,
               std::uint8_t replicas);
    void report_burst(const market::Task& task, const market::TaskSpec& spec);
    bool has_model(const ledger::StateView& view, const market::Task& task, const market::TaskSpec& spec);

    std::vector<Order> orders_;
    std::size_t number_;
    std::set<std::size_t> posted_;  ///< Orders.
    std::set<std::uint64_t> raised_, reported_;  ///< Tasks.
    std::map<std::uint64_t, std::uint64_t> tried_height_;  ///< By task: when it last asked for the model.
};

}  // namespace retrace::sim
