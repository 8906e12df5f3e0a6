// SPDX-License-Identifier: MIT
#include "tests/simulation/host.hpp"

#include <algorithm>

#include "contracts/calls/encode.hpp"
#include "contracts/records/views.hpp"
#include "merkle/base/ensure.hpp"
#include "tests/simulation/party.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;
using Fault = ledger::FaultStore::Fault;

constexpr std::uint64_t kBlockNanos = 1'000'000'000;
constexpr std::size_t kBlockBytes = 4u << 20;
constexpr std::uint64_t kOwnGas = 10'000'000, kStakeCoins = 60;

/// The order of fees turned round, with each account's transactions in order of their nonces, adversaries first.
std::vector<Bytes> reordered(const std::vector<ledger::TxPtr>& ready, const std::set<ledger::Address>& victims) {
    std::vector<ledger::TxPtr> out;
    for (const auto& tx : ready) {
        const auto own = std::ranges::find(out, tx->sender, [](const ledger::TxPtr& one) { return one->sender; });
        if (own == out.end()) {
            out.insert(out.begin(), tx);
        } else {
            const auto end = std::find_if(own, out.end(), [&](const auto& one) { return one->sender != tx->sender; });
            out.insert(end, tx);
        }
    }
    std::ranges::stable_partition(out, [&](const ledger::TxPtr& tx) { return !victims.contains(tx->sender); });
    std::vector<Bytes> raw;
    for (const auto& tx : out) raw.push_back(tx->raw);
    return raw;
}

}  // namespace

Host::Host(const ledger::Genesis& genesis, const ledger::TxExecutor& executor, HostOptions options, Random random)
    : genesis_(genesis),
      executor_(executor),
      options_(std::move(options)),
      random_(random),
      committee_(options_.validators, options_.shares, Random(random).fork("committee")),
      front_runner_(party_key(kFrontRunner)) {
    genesis_.validators = committee_.founders();
    genesis_.validator_rules = market::encode(simulated_validator_rules());
    ensure(open_with_fault(), "a fresh chain opens");
}

bool Host::open_with_fault() {
    // The nth write from here fails; `nth` is out of reach if the node is not to crash.
    Fault fault = Fault::none;
    std::uint64_t nth = 0;
    if (options_.crash_permille != 0) {
        constexpr Fault kFaults[] = {Fault::fail, Fault::fail_written, Fault::tear};
        fault = random_.pick(kFaults);
        nth = 2 + random_.below(2 * 1000 / options_.crash_permille);
    }
    const bool fresh = chain_ == nullptr;
    if (fresh) {
        store_ = std::make_unique<ledger::FaultStore>(disk_, Fault::none, 0);
        auto chain = ledger::Chain::open(*store_, genesis_, executor_, {.threads = 1});
        if (!chain) return false;
    }
    chain_.reset();
    store_ = std::make_unique<ledger::FaultStore>(disk_, fault, nth, random_.below(40));
    auto chain = ledger::Chain::open(*store_, genesis_, executor_, {.threads = 1});
    if (!chain) return false;
    chain_ = std::move(*chain);
    pool_ = std::make_unique<ledger::Mempool>(executor_);  // Waiting transactions are lost; their senders send them
                                                           // again.
    return true;
}

std::string Host::take(const ledger::TxPtr& tx) {
    const auto added = pool_->add(tx, chain_->live(), chain_->next_base_fee(), genesis_.gas_limit);
    return added ? std::string() : added.error().message;
}

/// The front-runner has stake, is a solver, and is a verifier with the beacon chain of a victim, so that a copy of the
/// victim's reveal fits it too. Returns the next call that it needs for that.
std::optional<ledger::Transaction> Host::enrolment(const ledger::StateView& view) const {
    ledger::Transaction tx;
    tx.chain_id = genesis_.chain_id;
    tx.gas_limit = kOwnGas;
    tx.fee_cap = chain_->next_base_fee();
    const auto fill = [&](const auto& call) {
        tx.to = contracts::address_of(call.kContract);
        tx.data = contracts::calldata(call);
        return tx;
    };
    const ledger::Address own = front_runner_.address();
    if (views::stake(view, own).bonded.is_zero()) {
        tx.value = ledger::U256(kStakeCoins) * ledger::U256(1000 * market::kMilli);
        return fill(contracts::Deposit{});
    }
    if (!views::solver(view, own)) return fill(contracts::RegisterSolver{"sim://front-runner", 0});
    const auto info = views::verifier(view, own);
    if (info && info->member) return std::nullopt;
    for (const ledger::Address& victim : options_.copied)
        if (const auto other = views::verifier(view, victim); other && other->member)
            return fill(contracts::RegisterVerifier{"sim://front-runner", other->head});
    return std::nullopt;
}

std::vector<Bytes> Host::with_copies(const std::vector<ledger::TxPtr>& ready) const {
    const auto view = chain_->view();
    std::uint64_t nonce = view->account(front_runner_.address()).nonce;
    std::vector<Bytes> out;
    const auto add = [&](ledger::Transaction tx) {
        const ledger::Call call{front_runner_.address(), *tx.to, tx.value, tx.data, tx.gas_limit};
        if (!executor_.view_call(*view, chain_->next_context(), call).ok) return;
        tx.nonce = nonce++;
        out.push_back(ledger::sign_tx(std::move(tx), front_runner_)->raw);
    };
    if (auto tx = enrolment(*view)) add(std::move(*tx));
    for (const auto& original : ready) {
        if (options_.copied.contains(original->sender) && original->tx.to) add(original->tx);
        out.push_back(original->raw);
    }
    return out;
}

std::vector<Bytes> Host::choose(ProposerFraud fraud) const {
    if (fraud == ProposerFraud::delay) return {};
    const auto ready = pool_->ready(*chain_->view(), chain_->next_base_fee(), kBlockBytes, genesis_.gas_limit);
    if (fraud == ProposerFraud::reorder) return reordered(ready, options_.victims);
    if (fraud == ProposerFraud::front_run) return with_copies(ready);
    std::vector<Bytes> out;
    for (const auto& tx : ready)
        if (fraud != ProposerFraud::censor || !options_.victims.contains(tx->sender)) out.push_back(tx->raw);
    return out;
}

Host::Made Host::produce() {
    Made made;
    const std::uint64_t height = chain_->height() + 1;
    const Committee::Turn turn = committee_.begin(height, *chain_->view(), executor_);
    // Chosen once: a restarted node executes the same block again.
    const std::vector<Bytes> raw = choose(turn.proposer->fraud);
    ledger::BlockInput input;
    input.height = height;
    input.time_ns = chain_->tip()->header.time_ns + kBlockNanos;
    input.proposer = turn.account;
    input.report = turn.report;
    const std::vector<View> views(raw.begin(), raw.end());
    input.txs = views;
    Hash32 first_hash;
    for (;;) {
        input.known = [this](const Hash32& hash) { return pool_->find(hash); };
        const auto outcome = chain_->execute_block(input);
        ensure(outcome.has_value(), "a block that follows the tip is executed");
        if (made.crashes != 0 && outcome->block->hash != first_hash)
            made.violation = "a block that was executed again is another";
        first_hash = outcome->block->hash;
        made.block = outcome->block;
        if (chain_->commit(*outcome)) break;
        ++made.crashes;
        if (!open_with_fault()) {
            made.violation = "the chain does not open after a crash";
            return made;
        }
        if (chain_->height() == height) {
            if (chain_->tip()->hash != first_hash) made.violation = "the block on disk is another";
            break;
        }
    }
    (void)pool_->on_block(*made.block, *chain_->view(), chain_->next_base_fee());
    return made;
}

}  // namespace retrace::sim
