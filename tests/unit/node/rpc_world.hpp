// SPDX-License-Identifier: MIT
// A chain in memory with a toy contract, its application, engine and JSON-RPC table, for tests.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "ledger/storage/store.hpp"
#include "node/server/engine/application.hpp"
#include "node/server/engine/solo.hpp"
#include "node/server/jsonrpc/dispatch.hpp"
#include "node/server/methods/auction_index.hpp"
#include "node/server/methods/filters.hpp"
#include "node/server/methods/methods.hpp"

namespace retrace::node::test {

namespace json = boost::json;

/// A temporary folder, removed on destruction.
class TempFolder {
public:
    TempFolder();
    ~TempFolder();
    std::string file(const std::string& name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

/// An executor with one contract at 0x…1001. The first byte of the call data selects the operation.
class ToyExecutor final : public ledger::TxExecutor {
public:
    static ledger::Address contract();
    enum Op : std::uint8_t {
        echo = 1,
        fail_text = 2,
        fail_custom = 3,
        store = 4,
        emit = 5,
        fail_empty = 6,
        emit_many = 7,
        read_much = 8,
        break_rule = 9  ///< A failed `ensure`.
    };
    static constexpr std::size_t kMany = 4096;  ///< Number of logs of emit_many.
    static constexpr std::size_t kMuch = std::size_t{1}
                                         << 26;  ///< Number of reads of read_much for each byte after the first.

    bool is_contract(const ledger::Address& address) const override { return address == contract(); }
    std::uint64_t gas_of(const ledger::Address&, View) const override { return 1000; }
    ledger::CallResult call(ledger::State& state, const ledger::BlockContext& block,
                            const ledger::Call& call) const override;
    ledger::CallResult view_call(const ledger::StateView& view, const ledger::BlockContext& block,
                                 const ledger::Call& call) const override;
    std::vector<ledger::Log> begin_block(ledger::State&, const ledger::BlockContext&) const override { return {}; }
    void genesis(ledger::State&, View) const override {}
};

/// A store in memory that can run a callback after a read, as if another thread had interfered.
class OvertakenStore final : public ledger::Store {
public:
    std::optional<Bytes> get(View key) const override;
    Status<> write(const ledger::Batch& batch, bool sync) override { return store_.write(batch, sync); }
    void scan(View prefix, View from, std::size_t limit, const Visit& visit) const override {
        store_.scan(prefix, from, limit, visit);
    }
    /// Calls `then` once, after the next read of a key that begins with `letter` and before the reader gets the value.
    void after_read_of(char letter, std::function<void()> then);

private:
    ledger::MemoryStore store_;
    char letter_ = 0;
    mutable std::function<void()> then_;
};

/// Account `index` of the developers' mnemonic.
const ledger::SecretKey& dev_key(std::uint32_t index);

class RpcWorld {
public:
    /// Uses the toy contract, or `rules` (which must outlive the world) with their genesis section.
    explicit RpcWorld(const ledger::TxExecutor* rules = nullptr, Bytes genesis = {}, ledger::ChainOptions kept = {});

    /// Sends one request and returns the whole answer.
    json::value request(const std::string& method, json::array params = {});
    /// Returns the result; fails the test if there is an error instead.
    json::value result(const std::string& method, json::array params = {});
    /// Returns the error object; fails the test if there is none.
    json::object error(const std::string& method, json::array params = {});
    std::string raw(const std::string& body);

    /// Returns a signed transaction of type 2, ready for eth_sendRawTransaction.
    ledger::TxPtr make_tx(std::uint32_t from, const ledger::Address& to, ledger::U256 value, Bytes data = {},
                          std::optional<std::uint64_t> nonce = {}, std::uint64_t gas = 200'000);
    std::string send(const ledger::TxPtr& tx);
    void mine();

    TempFolder folder;
    ToyExecutor executor;
    OvertakenStore store;
    std::unique_ptr<ledger::Chain> chain;
    ledger::Mempool pool;
    std::unique_ptr<LedgerApplication> application;
    std::unique_ptr<engine::SoloEngine> engine;
    std::chrono::steady_clock::time_point now{};  ///< Clock of the filters.
    rpc::FilterStore filters{[this] { return now; }};
    ledger::MemoryStore auction_store;
    std::unique_ptr<rpc::AuctionIndex> auctions;  ///< Catches up only when a test says so.
    std::unique_ptr<rpc::Backend> backend;
    rpc::Router router;
    std::unique_ptr<rpc::Dispatcher> dispatcher;

private:
    engine::TimeNs clock_ns_;
};

/// Returns the string of a JSON value.
std::string text(const json::value& v);

}  // namespace retrace::node::test
