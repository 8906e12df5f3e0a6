// SPDX-License-Identifier: MIT
// JSON-RPC client of a node, for the command line and the agents.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ledger/exec/executor.hpp"
#include "node/net/http_client.hpp"

namespace retrace::node {

/// Why a call failed.
struct RpcFailure {
    int code = 0;            ///< JSON-RPC error code, or kBehind; 0: the node was not reached or its answer is invalid.
    std::string message;     ///< A sentence for users.
    std::string data;        ///< error.data when it is a string: revert data as "0x…".
    bool no_answer = false;  ///< No answer (unreachable or timeout); a retry may succeed.
};

/// The node that has answered lacks blocks that were asked for: of several behind one address another may have them.
inline constexpr int kBehind = 1;

/// The outcome of a mined transaction.
struct TxOutcome {
    Hash32 hash;
    std::uint64_t height = 0;
    bool ok = false;
    std::string reason;  ///< Why it reverted: "slug: sentence"; empty when ok.
    std::uint64_t gas_used = 0;
    ledger::U256 gas_price;
    std::vector<ledger::Log> logs;
};

/// A receipt in its block.
struct BlockReceipt {
    TxOutcome outcome;
    std::uint64_t cumulative_gas = 0;
};

/// A log and its position.
struct PlacedLog {
    std::uint64_t height = 0;
    Hash32 tx;  ///< The block's hash for a log of no transaction.
    ledger::Log log;
};

/// Fee limits of a transaction to be signed. They are checked against kFeeMost, because a client that trusted any gas
/// or fee estimate of a node would sign any cost.
struct Fees {
    std::uint64_t gas = 0;
    ledger::U256 tip_cap;
    ledger::U256 fee_cap;  ///< Per gas; covers the rise of the base fee over several full blocks.
};
/// Ten coins. At the default least base fee, all the gas of a block costs 0.4 coins.
inline const ledger::U256 kFeeMost = ledger::U256(10'000'000'000'000'000'000u);
/// Fees for twice the base fee plus the tip; an Error if `gas` could then cost more than kFeeMost.
Result<Fees> fees_of(const ledger::U256& base_fee, const ledger::U256& tip, std::uint64_t gas);
/// Same for fees that the user gave; also an Error if the tip is over the fee, of which it is a part.
Result<Fees> fees_under(const ledger::U256& fee_cap, const ledger::U256& tip_cap, std::uint64_t gas);

/// A client with one kept-alive connection. Blocking; not thread-safe.
class RpcClient {
public:
    struct Options {
        std::chrono::milliseconds deadline{20'000};  ///< For each attempt of a call.
        std::size_t reply_limit = std::size_t{32} << 20;
        /// How long a call is retried while the node is unreachable, because nodes are started late and restarted.
        std::chrono::seconds timeout{0};
        /// Called with the reason before the first retry, and with an empty text when a retry has succeeded.
        std::function<void(const std::string& why)> on_no_answer;
        kernels::StopToken stop = {};  ///< Ends a running call, and fails later ones.
    };

    /// `url` as for parse_url: "http://host:port" or "https://host:port#sha256=…"; an Error if malformed. Connects on
    /// the first call.
    static Result<RpcClient> connect(const std::string& url, const Options& options);
    static Result<RpcClient> connect(const std::string& url) { return connect(url, Options{}); }

    const std::string& url() const noexcept { return url_; }
    void set_timeout(std::chrono::seconds timeout) { options_.timeout = timeout; }
    void set_stop(kernels::StopToken stop) { options_.stop = std::move(stop); }

    Result<boost::json::value, RpcFailure> call(std::string_view method, boost::json::array params);

    // Typed calls. Heights are block heights.
    Result<std::uint64_t, RpcFailure> chain_id();
    Result<std::uint64_t, RpcFailure> height();
    /// Seconds since 1970 at which a block was made, as its header says.
    Result<std::uint64_t, RpcFailure> block_time(std::uint64_t height);
    Result<ledger::Account, RpcFailure> account(const ledger::Address& address);
    /// Counts the transactions in the mempool too.
    Result<std::uint64_t, RpcFailure> next_nonce(const ledger::Address& address);
    Result<ledger::U256, RpcFailure> base_fee();
    Result<std::uint64_t, RpcFailure> estimate_gas(const ledger::Address& from, const ledger::Address& to,
                                                   const ledger::U256& value, View data);
    /// Succeeds also if the node already has the transaction, so a retry does not fail. The hash is computed locally.
    Result<Hash32, RpcFailure> send_raw(View tx);
    /// nullopt while the transaction is pending or unknown.
    Result<std::optional<TxOutcome>, RpcFailure> outcome(const Hash32& tx);
    /// Receipts of a block in order; the last may be that of the block's beginning, under the block's hash.
    Result<std::vector<BlockReceipt>, RpcFailure> block_receipts(std::uint64_t height);
    /// Logs of `address` in blocks from … to, in order; kBehind unless the node that answers has block `to`.
    Result<std::vector<PlacedLog>, RpcFailure> logs(const ledger::Address& address, std::uint64_t from,
                                                    std::uint64_t to);
    /// The same for logs of any address with these topics, nullopt for any.
    Result<std::vector<PlacedLog>, RpcFailure> logs_with(const std::vector<std::optional<Hash32>>& topics,
                                                         std::uint64_t from, std::uint64_t to);
    /// Whether the node knows the transaction, mined or not.
    Result<bool, RpcFailure> known(const Hash32& tx);

private:
    RpcClient(std::string url, HttpConnection connection, const Options& options)
        : url_(std::move(url)), connection_(std::move(connection)), options_(options) {}

    Result<std::vector<PlacedLog>, RpcFailure> find_logs(boost::json::object filter, std::uint64_t from,
                                                         std::uint64_t to);
    Result<HttpReply, Failure> exchange(const HttpRequest& request);
    /// Sends one or several calls, and returns what the node answers.
    Result<boost::json::value, RpcFailure> post(const boost::json::value& calls);
    Result<std::uint64_t, RpcFailure> quantity(std::string_view method, boost::json::array params);

    std::string url_;
    HttpConnection connection_;
    Options options_;
    std::uint64_t id_ = 0;
};

}  // namespace retrace::node
