// SPDX-License-Identifier: MIT
// The engine's application: the chain, the mempool, and listeners for new blocks and transactions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ledger/chain/chain.hpp"
#include "ledger/mempool/journal.hpp"
#include "ledger/mempool/mempool.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node {

/// Callbacks for parts of the node, called after the event. They run on the thread that caused it (the engine's for
/// blocks, the caller's or the engine's for transactions), so they must hand over the work and return.
struct Listener {
    std::function<void(const std::shared_ptr<const ledger::Block>&)> on_block;
    std::function<void(const ledger::TxPtr&)> on_pending;  ///< A transaction became executable in the mempool.
};

class LedgerApplication final : public engine::Application {
public:
    /// `chain` and `pool` outlive the application.
    LedgerApplication(ledger::Chain& chain, ledger::Mempool& pool);

    engine::AppInfo info() const override;
    /// Puts the transaction into the mempool; accepts one that is already there. A recheck accepts those only.
    engine::CheckResult check_tx(View tx, bool recheck) override;
    engine::QueryAnswer query(std::string_view path, View data, engine::Height height) const override;
    std::optional<std::string> obstacle() const override;
    std::vector<Bytes> propose(const engine::BlockView& raw, std::size_t max_bytes) override;
    bool process(const engine::BlockView& block) override;
    Bytes extend_vote(engine::Height height) override;
    bool verify_extension(engine::Height height, const engine::Address20& validator, View extension) override;
    Result<engine::BlockResult> finalize(const engine::BlockView& block) override;
    Status<> commit() override;

    /// Called before the engine starts: this node has these keys of a validator, registered or not yet.
    void validate_as(const Hash32& key, const ledger::VrfSecret& secret);

    /// Decodes, checks and queues a transaction, as eth_sendRawTransaction does. Thread-safe.
    Result<Hash32, ledger::TxRefusal> submit(View raw);

    using Token = std::uint64_t;
    Token listen(Listener listener);
    /// Waits for a running call of the listener to end. Must not be called from inside a listener.
    void unlisten(Token token);

    /// Called before the engine starts. Restores the journal's transactions of the last run that are still valid and
    /// returns their number. Accepted transactions are written to `journal` from then on; it outlives the application.
    std::size_t attach(ledger::MempoolJournal& journal);

    /// The transactions of the mempool that could be executed now, best first, at most that many bytes, for an engine
    /// that tells other nodes of them.
    std::vector<Bytes> pending(std::size_t max_bytes) const;

private:
    static void warn(const Status<>& written);
    void rewrite_journal();
    void notify_block(const std::shared_ptr<const ledger::Block>& block);
    void notify_pending(const std::vector<ledger::TxPtr>& txs);

    ledger::Chain& chain_;
    ledger::Mempool& pool_;
    std::optional<std::pair<Hash32, ledger::VrfSecret>> validator_;  // key of its votes, and its VRF
    ledger::MempoolJournal* journal_ = nullptr;
    std::mutex accepting_;  // held until a change of the pool is in the journal, so that both have the same order
    std::mutex rewriting_;  // held while the journal is rewritten; a second thread skips the rewrite
    std::optional<ledger::BlockOutcome> outcome_;  // result of the last finalize; consensus thread only
    std::mutex listeners_mutex_;
    Token next_token_ = 1;
    std::vector<std::pair<Token, Listener>> listeners_;
};

}  // namespace retrace::node
