// SPDX-License-Identifier: MIT
// Base of every simulated party: an account, a machine that may lose power in the middle of its work, a persistent
// disk, and a connection to the chain through the network.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <string>

#include "contracts/calls/encode.hpp"
#include "solver/agent/work.hpp"
#include "tests/simulation/machine.hpp"
#include "tests/simulation/world.hpp"

namespace retrace::sim {

/// Blocks after which a party sends a move again that the chain does not show.
inline constexpr std::uint64_t kResendBlocks = 5;

/// The key and the account of a party are derived from its name.
ledger::SecretKey party_key(const std::string& name);
ledger::Address party_address(const std::string& name);

class Party {
public:
    Party(World& world, NodeId id, std::string name, bool honest, std::uint64_t speed_bp);
    virtual ~Party() = default;
    Party(const Party&) = delete;
    Party& operator=(const Party&) = delete;

    const std::string& name() const noexcept { return name_; }
    const ledger::Address& address() const noexcept { return address_; }
    NodeId id() const noexcept { return id_; }
    bool honest() const noexcept { return honest_; }
    bool up() const noexcept { return up_; }
    /// Artifacts that others may fetch from this party; null: none.
    virtual solver::ArtifactSource* provider() { return nullptr; }
    /// Whether it serves messages of members to this node.
    virtual bool serves_messages_to(NodeId) const { return true; }
    /// Whether the party runs the node itself, so that its messages take no time.
    virtual bool is_at_node() const { return false; }

    void power_on();
    /// Permanent: the party computes nothing any more.
    void power_off();
    /// At `from` all memory is lost and a write in progress is torn; at `until` the party starts again.
    void plan_crash(Millis from, Millis until);
    /// The news of block `height` arrives.
    void on_notice(std::uint64_t height);

protected:
    virtual void boot() = 0;  ///< Starts with empty memory and the disk as it was left.
    virtual void halt() = 0;  ///< Drops everything in memory.
    virtual void act(const ledger::StateView& view, std::uint64_t height) = 0;

    World& world() noexcept { return world_; }
    const World& world() const noexcept { return world_; }
    std::filesystem::path disk() const { return world_.folder / name_; }
    Hash32 secret() const;
    void say(std::string_view what) { world_.trace.say(world_.clock.now(), name_, what); }

    /// Signs and sends a call, unless the rules would refuse it in the current view (`force` sends it even then).
    template <class Call>
    void call(std::string_view what, const Call& content, const ledger::U256& value = {}, bool force = false) {
        send(what, contracts::address_of(Call::kContract), contracts::calldata(content), value, force);
    }
    /// Queues a long computation on the party's machine, which runs one at a time; urgent ones go first.
    template <class Result>
    void work(solver::WorkOrder<Result> order, std::function<void(const Result&)> done, bool urgent = false) {
        Job job{std::move(order.what), [run = std::move(order.run), done = std::move(done)] {
                    return [result = run(), done] { done(result); };
                }};
        urgent ? jobs_.push_front(std::move(job)) : jobs_.push_back(std::move(job));
        start_job();
    }
    /// Runs a computation in parallel, which takes no time of the machine's worker.
    template <class Result>
    void work_beside(solver::WorkOrder<Result> order, std::function<void(const Result&)> done) {
        const Millis end = world_.clock.now() + random_.between(kBesideMin, kBesideMax);
        world_.clock.at(end, [this, result = order.run(), done = std::move(done), incarnation = incarnation_] {
            if (incarnation == incarnation_) done(result);
        });
    }
    Millis worked() const noexcept { return machine_.worked(); }

private:
    static constexpr Millis kBesideMin = 50, kBesideMax = 1200;

    struct Job {
        std::string what;
        std::function<std::function<void()>()> run;  ///< Returns the callback to call when the job is done.
    };
    struct Pending {
        std::uint64_t nonce = 0;
        ledger::TxPtr tx;
        std::uint64_t sent_height = 0;
    };
    void send(std::string_view what, const ledger::Address& to, Bytes data, const ledger::U256& value, bool force);
    void transmit(const ledger::TxPtr& tx);
    void resend(const ledger::StateView& view, std::uint64_t height);
    void start_job();
    void crash();

    World& world_;
    NodeId id_;
    std::string name_;
    bool honest_;
    ledger::SecretKey key_;
    ledger::Address address_;
    Random random_;
    Machine machine_;
    bool up_ = false;
    std::uint64_t incarnation_ = 0;  ///< Results of work begun in an earlier incarnation are dropped.
    std::deque<Job> jobs_;
    std::deque<Pending> pending_;
    std::uint64_t next_nonce_ = 0, height_ = 0;
    std::shared_ptr<const ledger::StateView> view_;
};

}  // namespace retrace::sim
