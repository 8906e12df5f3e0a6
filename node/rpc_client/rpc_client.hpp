// SPDX-License-Identifier: MIT
// A client of a node's JSON-RPC, for the command line and the agents.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/exec/executor.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node {

/// Why a call brought no result.
struct RpcFailure {
    int code = 0;         ///< JSON-RPC error code; 0: the node was not reached or its answer is no JSON-RPC.
    std::string message;  ///< A sentence for people.
    std::string data;     ///< error.data when it is a string: revert data as "0x…".
    bool silence = false;  ///< Nobody answered, which may pass.
};

/// What became of a transaction.
struct TxOutcome {
    Hash32 hash;
    std::uint64_t height = 0;
    bool ok = false;
    std::string reason;  ///< Why it reverted: "slug: sentence"; empty when ok.
    std::uint64_t gas_used = 0;
    ledger::U256 gas_price;
    std::vector<ledger::Log> logs;
};

/// A log and where it stands.
struct PlacedLog {
    std::uint64_t height = 0;
    Hash32 tx;  ///< Zero for what blocks do by themselves.
    ledger::Log log;
};

/// What a call that is to be signed may cost. A node only tells what gas and block space cost, and whoever believed
/// anything would sign anything.
struct Fees {
    std::uint64_t gas = 0;
    ledger::U256 tip_cap;
    ledger::U256 fee_cap;  ///< Of one gas: holds while the base fee rises for several full blocks.
};
/// Ten coins. At the least base fee of the defaults all the gas of a block costs 0.4.
inline const ledger::U256 kFeeMost = ledger::U256(10'000'000'000'000'000'000u);
/// An error where `gas` at that base fee could cost more than kFeeMost.
Result<Fees> fees_of(const ledger::U256& base_fee, const ledger::U256& tip, std::uint64_t gas);
/// The same of fees that the user named; also where the tip is over the fee, of which it is a part.
Result<Fees> fees_under(const ledger::U256& fee_cap, const ledger::U256& tip_cap, std::uint64_t gas);

/// One kept-alive connection. Blocks; not thread-safe.
class RpcClient {
public:
    struct Options {
        std::chrono::milliseconds deadline{20'000};  ///< Of one call.
        std::size_t reply_limit = std::size_t{32} << 20;
        /// A call that nobody answers is repeated for so long, because nodes are started late and restarted.
        std::chrono::seconds timeout{0};
        /// Hears why, when that begins, and that it ended well (an empty text).
        std::function<void(const std::string& why)> on_silence;
    };

    /// As parse_url takes it: "http://host:port", or "https://host:port#sha256=…". Malformed ones are refused here.
    static Result<RpcClient> connect(const std::string& url, const Options& options);
    static Result<RpcClient> connect(const std::string& url) { return connect(url, Options{}); }

    const std::string& url() const noexcept { return url_; }
    void set_timeout(std::chrono::seconds timeout) { options_.timeout = timeout; }

    Result<boost::json::value, RpcFailure> call(std::string_view method, boost::json::array params);

    // Typed calls. Heights are of blocks.
    Result<std::uint64_t, RpcFailure> chain_id();
    Result<std::uint64_t, RpcFailure> height();
    Result<ledger::Account, RpcFailure> account(const ledger::Address& address);
    /// Counts what the mempool holds.
    Result<std::uint64_t, RpcFailure> next_nonce(const ledger::Address& address);
    Result<ledger::U256, RpcFailure> base_fee();
    Result<std::uint64_t, RpcFailure> estimate_gas(const ledger::Address& from, const ledger::Address& to,
                                                   const ledger::U256& value, View data);
    /// A transaction that the node has already is sent: a call that was repeated does not fail. The hash is ours.
    Result<Hash32, RpcFailure> send_raw(View tx);
    /// nullopt while it is pending or unknown.
    Result<std::optional<TxOutcome>, RpcFailure> outcome(const Hash32& tx);
    /// Logs of `address` in blocks from … to, in order.
    Result<std::vector<PlacedLog>, RpcFailure> logs(const ledger::Address& address, std::uint64_t from,
                                                    std::uint64_t to);
    /// The node knows the transaction, mined or not.
    Result<bool, RpcFailure> known(const Hash32& tx);

private:
    RpcClient(std::string url, HttpConnection connection, const Options& options)
        : url_(std::move(url)), connection_(std::move(connection)), options_(options) {}

    Result<HttpReply, Failure> exchange(const HttpRequest& request);
    Result<std::uint64_t, RpcFailure> quantity(std::string_view method, boost::json::array params);

    std::string url_;
    HttpConnection connection_;
    Options options_;
    std::uint64_t id_ = 0;
};

}  // namespace retrace::node
