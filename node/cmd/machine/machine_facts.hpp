// SPDX-License-Identifier: MIT
// What the ledger says of an agent's account, read for its page in a thread of its own.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "market/accounts.hpp"
#include "node/agents/income_book.hpp"

namespace retrace::node::machine {

/// As the node tells it; nothing of it is proved, also if the agent itself proves what it reads.
struct LedgerFacts {
    std::uint64_t chain_id = 0, height = 0;
    std::uint64_t block_time = 0;  ///< Of the newest block, seconds since 1970.
    double pace_s = 0;             ///< Seconds between two blocks, over the last hundred; 0: not known.
    ledger::U256 balance;
    market::Stake stake;
    IncomeBook income{ledger::Address{}};
    std::string trouble;  ///< Why the last reading failed; empty: it did not.
};

class FactsReader {
public:
    /// Reads every two seconds, from its own connection, so that neither a slow node nor a long history delays the
    /// agent.
    FactsReader(std::string node_url, const ledger::Address& party);
    /// Waits for the calls that are under way, each of which has a deadline of some seconds.
    ~FactsReader();
    FactsReader(const FactsReader&) = delete;

    LedgerFacts get() const;

private:
    void run();
    Status<> read(RpcClient& client, LedgerFacts& facts);

    const std::string node_url_;
    const ledger::Address party_;
    mutable std::mutex mutex_;  // guards facts_ and stopping_
    std::condition_variable wake_;
    LedgerFacts facts_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace retrace::node::machine
