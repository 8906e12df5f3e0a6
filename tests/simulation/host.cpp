// SPDX-License-Identifier: MIT
#include "tests/simulation/host.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::sim {
namespace {

using Fault = ledger::FaultStore::Fault;

constexpr std::uint64_t kBlockNanos = 1'000'000'000;
constexpr std::size_t kBlockBytes = 4u << 20;
constexpr std::uint64_t kProposers = 3;

}  // namespace

std::string_view slug(ProposerFraud fraud) noexcept {
    switch (fraud) {
        case ProposerFraud::none: return "honest";
        case ProposerFraud::censor: return "censor";
        case ProposerFraud::delay: return "delay";
    }
    return "unknown";
}

Host::Host(const ledger::Genesis& genesis, const ledger::TxExecutor& executor, HostOptions options, Random random)
    : genesis_(genesis), executor_(executor), options_(std::move(options)), random_(random) {
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

std::vector<Bytes> Host::choose() {
    const bool malicious = (chain_->height() + 1) % kProposers == 0;
    if (malicious && options_.proposer == ProposerFraud::delay) return {};
    const auto view = chain_->view();
    std::vector<Bytes> out;
    for (const auto& tx : pool_->ready(*view, chain_->next_base_fee(), kBlockBytes, genesis_.gas_limit)) {
        const bool censored = malicious && options_.proposer == ProposerFraud::censor;
        if (!censored || options_.victims.count(tx->sender) == 0) out.push_back(tx->raw);
    }
    return out;
}

Host::Made Host::produce() {
    Made made;
    const std::vector<Bytes> raw = choose();  // Chosen once: a restarted node executes the same block again.
    const std::uint64_t height = chain_->height() + 1;
    ledger::BlockInput input;
    input.height = height;
    input.time_ns = chain_->tip()->header.time_ns + kBlockNanos;
    input.proposer.bytes[19] = static_cast<std::uint8_t>(0x80 + height % kProposers);
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
