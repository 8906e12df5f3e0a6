// SPDX-License-Identifier: MIT
// The ledger as an engine drives it: chain, mempool, and everybody who wants to hear of new blocks.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ledger/chain/chain.hpp"
#include "ledger/mempool/journal.hpp"
#include "ledger/mempool/mempool.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node {

/// What the node tells its own parts, after the fact. Listeners run on the thread where it happened (the
/// engine's for blocks, the caller's for transactions): they hand over and return.
struct Listener {
    std::function<void(const std::shared_ptr<const ledger::Block>&)> on_block;
    std::function<void(const ledger::TxPtr&)> on_pending;  ///< Became executable in the mempool.
};

class LedgerApplication final : public engine::Application {
public:
    /// Both outlive the application.
    LedgerApplication(ledger::Chain& chain, ledger::Mempool& pool) : chain_(chain), pool_(pool) {}

    engine::AppInfo info() const override;
    /// Puts the transaction into the mempool; one that is there already is fine.
    engine::CheckResult check_tx(View tx, bool recheck) override;
    std::vector<Bytes> propose(const engine::BlockView& raw, std::size_t max_bytes) override;
    bool process(const engine::BlockView& block) override;
    Result<engine::BlockResult> finalize(const engine::BlockView& block) override;
    Status<> commit() override;

    /// What eth_sendRawTransaction does: decode, check, queue. Any thread.
    Result<Hash32, ledger::TxRefusal> submit(View raw);

    using Token = std::uint64_t;
    Token listen(Listener listener);
    /// Returns after a running call of the listener ended. Not from inside a listener.
    void unlisten(Token token);

    /// Before the engine starts. From now on what is accepted is written to `journal`, which outlives the
    /// application. What the journal remembers of the last run is taken back as far as it may still run; the
    /// number of those.
    std::size_t attach(ledger::MempoolJournal& journal);

private:
    static void warn(const Status<>& written);
    void rewrite_journal();
    void notify_block(const std::shared_ptr<const ledger::Block>& block);
    void notify_pending(const std::vector<ledger::TxPtr>& txs);

    ledger::Chain& chain_;
    ledger::Mempool& pool_;
    ledger::MempoolJournal* journal_ = nullptr;
    std::mutex accepting_;  // held from a change of the pool until the journal has it: both have one order
    std::mutex rewriting_;  // of the journal, by one thread; another one does without
    std::optional<ledger::BlockOutcome> outcome_;  // of the last finalize; consensus thread only
    std::mutex listeners_mutex_;
    Token next_token_ = 1;
    std::vector<std::pair<Token, Listener>> listeners_;
};

}  // namespace retrace::node
