// SPDX-License-Identifier: MIT
// retrace wallet send | balance | history
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>

#include "contracts/calls/encode.hpp"
#include "ledger/crypto/eip55.hpp"
#include "ledger/tx/transaction.hpp"
#include "node/agents/kept_blocks.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/fiat.hpp"
#include "node/cmd/options.hpp"
#include "node/cmd/wallet_command.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/units.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kWalletTip = 100'000'000;

struct SendOptions {
    SignerOptions signer;
    std::string to, value, data = "0x";
    std::optional<std::uint64_t> nonce;
    std::string max_fee, tip;  // per unit of gas; empty: derived from the node's base fee
    bool no_wait = false;
    std::uint64_t timeout_s = 60;
};

Unexpected<Error> failed(const RpcFailure& failure) { return error(failure.message); }

Result<ledger::U256> amount_of(const std::string& text, const char* what) {
    const auto amount = parse_coins(text);
    if (!amount) return error(std::string(what) + "not an amount (\"1.5\" coins, or \"100 wei\"): " + text);
    return *amount;
}

/// Derives the fees from the node's base fee where the user does not set them.
Result<Fees> fees_for(const SendOptions& options, RpcClient& client, std::uint64_t gas) {
    std::optional<ledger::U256> tip, cap;
    if (!options.tip.empty()) {
        RETRACE_TRY(amount, amount_of(options.tip, "--tip: "));
        tip = amount;
    }
    if (!options.max_fee.empty()) {
        RETRACE_TRY(amount, amount_of(options.max_fee, "--max-fee: "));
        cap = amount;
    }
    if (!cap) {
        const auto base_fee = client.base_fee();
        if (!base_fee) return failed(base_fee.error());
        return fees_of(*base_fee, tip.value_or(ledger::U256(kWalletTip)), gas);
    }
    return fees_under(*cap, tip.value_or(std::min(*cap, ledger::U256(kWalletTip))), gas);
}

Result<ledger::TxPtr> make_tx(const SendOptions& options, Session& session) {
    RpcClient& client = session.at->client;
    ledger::Transaction tx;
    RETRACE_TRY(to, typed_address(options.to));
    RETRACE_TRY(value, amount_of(options.value, ""));
    const auto data = from_hex(options.data);
    if (!data) return error("--data is not hex");
    RETRACE_TRY(state, session.at->chain.newest());
    const ledger::U256 balance = state.account(session.key.address()).balance;
    if (state.failure()) return error(state.failure()->message);
    if (balance < value)
        return error("insufficient funds: the account has " + describe_coins(balance) + " and the payment needs " +
                     describe_coins_needed(value) + " and its fee");
    const auto gas = client.estimate_gas(session.key.address(), to, value, *data);
    if (!gas) return failed(gas.error());
    const auto nonce = options.nonce ? Result<std::uint64_t, RpcFailure>(*options.nonce)
                                     : session.at->chain.next_nonce(session.key.address());
    if (!nonce) return failed(nonce.error());
    RETRACE_TRY(fees, fees_for(options, client, *gas));
    tx.chain_id = session.chain_id;
    tx.nonce = *nonce;
    tx.tip_cap = fees.tip_cap;
    tx.fee_cap = fees.fee_cap;
    tx.gas_limit = fees.gas;
    tx.to = to;
    tx.value = value;
    tx.data = *data;
    return ledger::sign_tx(std::move(tx), session.key);
}

/// Waits for the outcome. A transaction that the node forgot (it was killed before the block) is sent again.
Result<TxOutcome> wait_for(ChainReader& chain, const Hash32& hash, View raw, std::uint64_t timeout_s) {
    RpcClient& client = chain.client();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
    while (std::chrono::steady_clock::now() < end) {
        auto outcome = client.outcome(hash);
        if (!outcome) return failed(outcome.error());
        if (outcome->has_value()) return chain.outcome(std::move(**outcome));
        const auto there = client.known(hash);
        if (there && !*there) {
            if (const auto again = client.send_raw(raw); !again) return failed(again.error());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return error("not in a block after " + std::to_string(timeout_s) + " s: " + rpc::data(hash));
}

int run_send(const Program& program, const SendOptions& options) {
    const auto session = Session::open(options.signer);
    if (!session) return fail(program, session.error().message);
    RpcClient& client = (*session)->at->client;
    const auto tx = make_tx(options, **session);
    if (!tx) return fail(program, tx.error().message);
    const auto sent = client.send_raw((*tx)->raw);
    if (!sent) return fail(program, sent.error().message);
    ledger::U256 fee;
    json::object out{{"hash", rpc::data(*sent)}, {"nonce", (*tx)->tx.nonce}};
    if (!options.no_wait) {
        const auto outcome = wait_for((*session)->at->chain, *sent, (*tx)->raw, options.timeout_s);
        if (!outcome) return fail(program, outcome.error().message);
        if (!outcome->ok) return fail(program, rpc::data(*sent) + " reverted: " + outcome->reason);
        out["height"] = outcome->height;
        out["gas_used"] = outcome->gas_used;
        fee = outcome->gas_price * ledger::U256{outcome->gas_used};
        out["fee"] = fee.to_decimal();
        (*session)->at->add_proven(out);
    }
    if (program.json) {
        std::cout << json::serialize(out) << '\n';
    } else {
        std::cout << "sent " << rpc::data(*sent);
        if (!options.no_wait) std::cout << ", in block " << out["height"] << ", fee " << describe_coins(fee);
        std::cout << '\n';
    }
    return kDone;
}

struct AccountOptions {
    ChainOptions chain;
    FiatOption fiat;
    AddressOptions address;
    std::uint64_t blocks = 1000;
    bool csv = false;
};

int run_balance(const Program& program, const AccountOptions& options) {
    const auto fiat = options.fiat.rate();
    if (!fiat) throw CLI::ValidationError(fiat.error().message);
    const auto address = options.address.get();
    if (!address) return fail(program, address.error().message);
    const auto at = options.chain.open();
    if (!at) return fail(program, at.error().message);
    const auto state = (*at)->chain.newest();
    if (!state) return fail(program, state.error().message);
    const ledger::Account account = state->account(*address);
    if (state->failure()) return fail(program, state->failure()->message);
    if (program.json) {
        json::object out{{"address", ledger::to_checksum(*address)},
                         {"balance", account.balance.to_decimal()},
                         {"nonce", account.nonce}};
        (*at)->add_proven(out);
        std::cout << json::serialize(out) << '\n';
    } else {
        std::cout << with_fiat(account.balance, *fiat) << '\n' << (*at)->proven_line();
    }
    return kDone;
}

std::string member(const json::object& object, const char* name) {
    const json::value* v = object.if_contains(name);
    return v != nullptr && v->is_string() ? printable(v->get_string().c_str()) : std::string();
}

/// A movement of coins to or from an account, or a transaction of it that was refused and cost its fee.
struct HistoryLine {
    std::uint64_t height = 0;
    std::string kind;  ///< "transaction", "segments", "audit" or "returned"
    std::string hash, from, to;
    ledger::U256 value, fee;  ///< `fee`: if the account sent the transaction.
    bool ok = true;
    std::string reason;
    std::uint64_t task = 0;
};

bool concerns(const json::object& tx, const std::string& address) {
    return member(tx, "from") == address || member(tx, "to") == address;
}

/// A refused transaction is in a block but moved nothing, so each line has its outcome.
Result<HistoryLine> history_line(RpcClient& client, const json::object& tx, const std::string& address) {
    const json::value* coins = tx.if_contains("value");
    const auto value = rpc::parse_u256(coins != nullptr ? *coins : json::value());
    const auto hash = rpc::parse_hash(json::value(member(tx, "hash")));
    // Addresses and nothing else: a spreadsheet would take other text of a hostile node in --csv for a formula.
    const auto from = ledger::parse_address(member(tx, "from")), to = ledger::parse_address(member(tx, "to"));
    if (!value || !hash || !from || (!to && !member(tx, "to").empty()))
        return error("the node sent a malformed transaction");
    const auto outcome = client.outcome(*hash);
    if (!outcome) return failed(outcome.error());
    if (!*outcome) return error("the node has no receipt of " + member(tx, "hash"));
    HistoryLine out{(*outcome)->height,
                    "transaction",
                    rpc::data(*hash),
                    rpc::data(*from),
                    to ? rpc::data(*to) : std::string(),
                    *value,
                    ledger::U256(),
                    (*outcome)->ok,
                    (*outcome)->reason,
                    0};
    if (out.from == address) out.fee = (*outcome)->gas_price * ledger::U256{(*outcome)->gas_used};
    return out;
}

/// Reads the blocks one by one, because the node keeps no index by account.
Status<> read_transactions(RpcClient& client, const std::string& wanted, std::uint64_t from, std::uint64_t to,
                           std::vector<HistoryLine>& out) {
    for (std::uint64_t height = from; height <= to; ++height) {
        const auto block = client.call("eth_getBlockByNumber", {rpc::quantity(height), true});
        if (!block) return failed(block.error());
        const json::object* object = block->if_object();
        const json::value* txs = object != nullptr ? object->if_contains("transactions") : nullptr;
        if (txs == nullptr || !txs->is_array()) return error("the node sent a malformed block");
        for (const json::value& tx : txs->get_array()) {
            if (!tx.is_object() || !concerns(tx.get_object(), wanted)) continue;
            RETRACE_TRY(line, history_line(client, tx.get_object(), wanted));
            out.push_back(std::move(line));
        }
    }
    return Unit{};
}

/// What the contracts paid to the account, of which no transaction names it.
Status<> read_income(RpcClient& client, const ledger::Address& address, std::uint64_t from, std::uint64_t to,
                     std::vector<HistoryLine>& out) {
    for (const auto contract : {contracts::Contract::market, contracts::Contract::audits}) {
        const ledger::Address payer = contracts::address_of(contract);
        const auto logs = client.logs(payer, from, to);
        if (!logs) return failed(logs.error());
        const auto add = [&](const PlacedLog& placed, const char* kind, const ledger::U256& amount,
                             std::uint64_t task) {
            out.push_back({placed.height,
                           kind,
                           rpc::data(placed.tx),
                           rpc::data(payer),
                           rpc::data(address),
                           amount,
                           ledger::U256(),
                           true,
                           {},
                           task});
        };
        for (const PlacedLog& placed : *logs) {
            if (const auto e = contracts::decode_event<contracts::SegmentsPaid>(placed.log); e && e->solver == address)
                add(placed, "segments", e->amount, e->task);
            else if (const auto e = contracts::decode_event<contracts::AuditPaid>(placed.log);
                     e && e->auditor == address)
                add(placed, "audit", e->amount, 0);
            else if (const auto e = contracts::decode_event<contracts::EscrowReturned>(placed.log);
                     e && e->requester == address)
                add(placed, "returned", e->amount, e->task);
        }
    }
    return Unit{};
}

struct History {
    std::uint64_t from = 0, to = 0;  ///< Blocks, both included.
    std::vector<HistoryLine> lines;
    bool whole = true;  ///< The node keeps all the blocks that were asked for.
};

Result<History> read_history(RpcClient& client, const ledger::Address& address, std::uint64_t blocks) {
    const auto tip = client.height();
    if (!tip) return failed(tip.error());
    History out{*tip >= blocks ? *tip - blocks + 1 : 0, *tip, {}, true};
    RETRACE_TRY(from, read_kept(client, out.from, [&](std::uint64_t first) -> Status<> {
                    out.lines.clear();
                    RETRACE_CHECK(read_income(client, address, first, out.to, out.lines));
                    return read_transactions(client, rpc::data(address), first, out.to, out.lines);
                }));
    out.whole = from == out.from;
    out.from = from;
    std::stable_sort(out.lines.begin(), out.lines.end(),
                     [](const HistoryLine& a, const HistoryLine& b) { return a.height < b.height; });
    return out;
}

json::object json_of(const HistoryLine& line) {
    json::object out{{"height", line.height},
                     {"kind", line.kind},
                     {"hash", line.hash},
                     {"from", line.from},
                     {"to", line.to},
                     {"value", line.value.to_decimal()},
                     {"fee", line.fee.to_decimal()},
                     {"ok", line.ok}};
    if (!line.ok) out["reason"] = line.reason;
    if (line.task != 0) out["task"] = line.task;
    return out;
}

void print_history(const std::vector<HistoryLine>& lines, bool csv) {
    if (csv) std::cout << "height,kind,hash,from,to,value_wei,fee_wei,ok,task\n";
    for (const HistoryLine& line : lines) {
        if (csv) {
            std::cout << line.height << ',' << line.kind << ',' << line.hash << ',' << line.from << ',' << line.to
                      << ',' << line.value.to_decimal() << ',' << line.fee.to_decimal() << ','
                      << (line.ok ? "true" : "false") << ',' << line.task << '\n';
            continue;
        }
        std::cout << line.height << "  " << line.hash << "  " << line.from << " -> " << line.to << "  "
                  << describe_coins(line.value);
        if (line.kind == "segments") std::cout << " earned by training task " << line.task;
        if (line.kind == "audit") std::cout << " earned by an audit";
        if (line.kind == "returned") std::cout << " returned from the escrow of task " << line.task;
        if (!line.ok) std::cout << "  reverted: " << printable(line.reason);
        std::cout << '\n';
    }
}

/// The balance after a block; nullopt if the node does not keep that state.
std::optional<ledger::U256> balance_at(RpcClient& client, const ledger::Address& account, std::uint64_t height) {
    const RemoteState state(client, height);
    const ledger::U256 balance = state.account(account).balance;
    return state.failure() ? std::nullopt : std::optional(balance);
}

/// Sums for people: what came in, what went out, and the fees, of transactions that were not refused; and the rest of
/// what changed the balance, so that the sums are those of the account.
void print_sums(RpcClient& client, const History& history, const ledger::Address& account,
                const std::optional<FiatRate>& fiat) {
    const std::string address = rpc::data(account);
    ledger::U256 earned, received, sent, fees;
    for (const HistoryLine& line : history.lines) {
        fees += line.fee;
        if (!line.ok) continue;
        if (line.kind != "transaction") {
            earned += line.value;
            continue;
        }
        if (line.to == address) received += line.value;
        if (line.from == address) sent += line.value;
    }
    std::cout << "blocks " << history.from << " to " << history.to << " (--blocks): earned or returned "
              << with_fiat(earned, fiat) << ", received " << with_fiat(received, fiat) << ", sent "
              << with_fiat(sent, fiat) << ", fees " << with_fiat(fees, fiat) << '\n';
    const auto before = balance_at(client, account, history.from == 0 ? 0 : history.from - 1);
    const auto after = balance_at(client, account, history.to);
    if (!before || !after) {
        std::cout << "the node does not keep the balances at both ends, so that other movements are not known\n";
        return;
    }
    const ledger::U256 in = *before + earned + received, out = *after + sent + fees;
    std::cout << "other movements, such as deposits and stake that came back: " << (out < in ? "-" : "")
              << with_fiat(out < in ? in - out : out - in, fiat) << "; balance " << with_fiat(*after, fiat) << '\n';
}

int run_history(const Program& program, const AccountOptions& options) {
    const auto fiat = options.fiat.rate();
    if (!fiat) throw CLI::ValidationError(fiat.error().message);
    const auto address = options.address.get();
    if (!address) return fail(program, address.error().message);
    auto client = options.chain.node.connect();
    if (!client) return fail(program, client.error().message);
    const auto history = read_history(*client, *address, options.blocks);
    if (!history) return fail(program, history.error().message);
    if (!history->whole)
        std::cerr << "note: the node keeps no block before " << history->from
                  << ", so what moved earlier is left out; ask a node that keeps all blocks\n";
    if (program.json) {
        json::array out;
        for (const HistoryLine& line : history->lines) out.push_back(json_of(line));
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    print_history(history->lines, options.csv);
    if (!options.csv) print_sums(*client, *history, *address, *fiat);
    return kDone;
}

}  // namespace

void add_wallet_chain(CLI::App& wallet, Program& program) {
    CLI::App* send = wallet.add_subcommand("send", "Send coins, or call a contract");
    auto send_options = std::make_shared<SendOptions>();
    send_options->signer.add_to(*send);
    send->add_option("--to", send_options->to, "Receiver")->required();
    send->add_option("--value", send_options->value, "Coins, e.g. 1.5; or \"100 wei\"")->required();
    send->add_option("--data", send_options->data, "Call data in hex");
    send->add_option("--nonce", send_options->nonce,
                     "Nonce; the nonce of a pending transaction replaces it if fee and tip are a tenth higher");
    send->add_option("--max-fee", send_options->max_fee, "Highest total fee per unit of gas, e.g. \"3000000000 wei\"");
    send->add_option("--tip", send_options->tip,
                     "Highest priority fee per unit of gas, part of --max-fee; the proposer gets it");
    send->add_flag("--no-wait", send_options->no_wait, "Return before it is in a block");
    send->add_option("--confirm-timeout", send_options->timeout_s, "Seconds to wait for a block (60)");
    add_json(*send, program);
    send->callback(
        [&program, send_options] { program.run = [&, send_options] { return run_send(program, *send_options); }; });

    CLI::App* balance = wallet.add_subcommand("balance", "Balance of an account");
    auto balance_options = std::make_shared<AccountOptions>();
    balance_options->address.add_to(*balance);
    balance_options->chain.add_to(*balance);
    balance_options->fiat.add_to(*balance);
    add_json(*balance, program);
    balance->callback([&program, balance_options] {
        program.run = [&, balance_options] { return run_balance(program, *balance_options); };
    });

    CLI::App* history = wallet.add_subcommand("history", "Transactions and income of an account in the last blocks");
    auto history_options = std::make_shared<AccountOptions>();
    history_options->address.add_to(*history);
    history->add_option("--blocks", history_options->blocks, "How many blocks to look through (1000)");
    history_options->chain.node.add_to(*history);
    history_options->fiat.add_to(*history);
    history->add_flag("--csv", history_options->csv, "Comma-separated lines, amounts in wei");
    add_json(*history, program);
    history->callback([&program, history_options] {
        program.run = [&, history_options] { return run_history(program, *history_options); };
    });
}

}  // namespace retrace::node::cli
