// SPDX-License-Identifier: MIT
#include "tests/simulation/party.hpp"

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/simulation/disk.hpp"

namespace retrace::sim {
namespace {

constexpr std::uint64_t kTip = 1'000'000'000;
constexpr std::uint64_t kGas = 10'000'000;
constexpr std::uint64_t kRepeatBlocks = 2;  // Interval after which a pending transaction is sent again.
constexpr std::size_t kPendingMax = 400;    // Maximum number of pending transactions.

}  // namespace

ledger::SecretKey party_key(const std::string& name) {
    const Hash32 seed = merkle::sha256({view(std::string_view("simulated key")), view(std::string_view(name))});
    auto key = ledger::SecretKey::from_bytes(view(seed));
    ensure(key.has_value(), "a hash is a key");
    return std::move(*key);
}

ledger::Address party_address(const std::string& name) { return party_key(name).address(); }

Party::Party(World& world, NodeId id, std::string name, bool honest, std::uint64_t speed_bp)
    : world_(world),
      id_(id),
      name_(std::move(name)),
      honest_(honest),
      key_(party_key(name_)),
      address_(key_.address()),
      random_(world.random.fork(name_)),
      machine_(world.clock, world.costs, speed_bp) {
    world_.trace.name(address_, name_);
}

Hash32 Party::secret() const {
    return merkle::sha256({view(std::string_view("simulated secret")), view(std::string_view(name_))});
}

void Party::power_on() {
    up_ = true;
    boot();
}

void Party::power_off() {
    up_ = false;
    ++incarnation_;
    machine_.cut();
    jobs_.clear();
}

void Party::plan_crash(Millis from, Millis until) {
    world_.clock.at(from, [this] { crash(); });
    world_.clock.at(until, [this] {
        if (up_) return;
        power_on();
        say("is up again");
    });
}

void Party::crash() {
    if (!up_) return;
    up_ = false;
    ++incarnation_;
    if (machine_.busy()) {
        // The write in progress is torn, and its callback is not called.
        const DiskImage before = image_of(disk());
        machine_.cut();
        tear(disk(), before, random_);
    }
    jobs_.clear();
    pending_.clear();
    view_.reset();
    halt();
    say("crashes");
}

void Party::start_job() {
    if (machine_.busy() || jobs_.empty()) return;
    const auto job = std::make_shared<Job>(std::move(jobs_.front()));
    jobs_.pop_front();
    const auto tell = std::make_shared<std::function<void()>>();
    say("begins to " + job->what);
    machine_.start([job, tell] { *tell = job->run(); },
                   [this, job, tell] {
                       say("is done with " + job->what);
                       (*tell)();
                       start_job();
                   });
}

void Party::on_notice(std::uint64_t height) {
    if (!up_ || height <= height_) return;
    const ledger::Chain& chain = world_.host.chain();
    if (height == chain.height()) {
        view_ = chain.view();
    } else {
        auto view = chain.view_at(height);
        ensure(view.has_value(), "a recent state is kept");
        view_ = std::move(*view);
    }
    height_ = height;
    resend(*view_, height);
    act(*view_, height);
}

void Party::send(std::string_view what, const ledger::Address& to, Bytes data, const ledger::U256& value, bool force) {
    if (!view_ || pending_.size() >= kPendingMax) return;
    if (!force) {
        ledger::BlockContext block;
        block.height = height_ + 1;
        block.chain_id = kChainId;
        const auto tried = world_.executor.view_call(*view_, block, {address_, to, value, data, kGas});
        if (!tried.ok) return say(std::string(what) + " is not sent: " + tried.revert_reason);
    }
    ledger::Transaction tx;
    tx.chain_id = kChainId;
    tx.nonce = next_nonce_++;
    tx.tip_cap = kTip;
    tx.fee_cap = world_.host.chain().next_base_fee() * ledger::U256(4) + tx.tip_cap;
    tx.gas_limit = kGas;
    tx.to = to;
    tx.value = value;
    tx.data = std::move(data);
    const ledger::TxPtr signed_tx = ledger::sign_tx(std::move(tx), key_);
    pending_.push_back({signed_tx->tx.nonce, signed_tx, height_});
    say(what);
    transmit(signed_tx);
}

void Party::transmit(const ledger::TxPtr& tx) {
    const Millis now = world_.clock.now();
    const auto arrival = is_at_node() ? std::optional(now) : world_.network.send(id_, kHostNode, now);
    if (arrival) world_.clock.at(*arrival, [this, tx] { (void)world_.host.take(tx); });
}

void Party::resend(const ledger::StateView& view, std::uint64_t height) {
    const std::uint64_t nonce = view.account(address_).nonce;
    std::erase_if(pending_, [&](const Pending& tx) { return tx.nonce < nonce; });
    for (Pending& tx : pending_) {
        if (height < tx.sent_height + kRepeatBlocks) continue;
        tx.sent_height = height;
        transmit(tx.tx);
    }
    if (pending_.empty()) next_nonce_ = nonce;
}

}  // namespace retrace::sim
