// SPDX-License-Identifier: MIT
// retrace wallet history
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>

#include "contracts/calls/encode.hpp"
#include "node/agents/kept_blocks.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/block_progress.hpp"
#include "node/cmd/fiat.hpp"
#include "node/cmd/options.hpp"
#include "node/cmd/wallet_command.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kHistoryPage = 200;  // Blocks; each is a call of its own.

struct HistoryOptions {
    NodeOptions node;
    FiatOption fiat;
    AddressOptions address;
    std::uint64_t blocks = 1000;
    std::optional<std::uint64_t> from, to;  ///< The first block, instead of `blocks`, and the last one.
    bool csv = false;
};

std::string member(const json::object& object, const char* name) {
    const json::value* v = object.if_contains(name);
    return v != nullptr && v->is_string() ? printable(v->get_string().c_str()) : std::string();
}

/// A movement of coins to or from an account, or a transaction of it that was refused and cost its fee.
struct HistoryLine {
    std::uint64_t height = 0;
    std::string kind;  ///< "transaction", "segments", "audit", "returned" or "reservation"
    std::string hash, from, to;
    ledger::U256 value, fee;  ///< `fee`: if the account sent the transaction.
    bool ok = true;
    std::string reason;
    std::uint64_t task = 0;
};

bool concerns(const json::object& tx, const std::string& address) {
    return member(tx, "from") == address || member(tx, "to") == address;
}

RpcFailure malformed(const std::string& what) { return {0, "the node sent " + what, {}, false}; }
RpcFailure behind(std::uint64_t height) {
    return {kBehind, "the node that has answered does not have block " + std::to_string(height), {}, false};
}

/// A refused transaction is in a block but moved nothing, so each line has its outcome.
Result<HistoryLine, RpcFailure> history_line(RpcClient& client, const json::object& tx, const std::string& address,
                                             std::uint64_t height) {
    const json::value* coins = tx.if_contains("value");
    const auto value = rpc::parse_u256(coins != nullptr ? *coins : json::value());
    const auto hash = rpc::parse_hash(json::value(member(tx, "hash")));
    // Addresses and nothing else: a spreadsheet would take other text of a hostile node in --csv for a formula.
    const auto from = ledger::parse_address(member(tx, "from")), to = ledger::parse_address(member(tx, "to"));
    if (!value || !hash || !from || (!to && !member(tx, "to").empty()))
        return Unexpected{malformed("a malformed transaction")};
    RETRACE_TRY(outcome, when_allowed([&]() -> Result<TxOutcome, RpcFailure> {
                    RETRACE_TRY(there, client.outcome(*hash));
                    if (!there) return Unexpected{behind(height)};
                    return std::move(*there);
                }));
    if (outcome.height != height) return Unexpected{malformed("a receipt of another block")};
    HistoryLine out{height, "transaction",  rpc::data(*hash), rpc::data(*from), to ? rpc::data(*to) : std::string(),
                    *value, ledger::U256(), outcome.ok,       outcome.reason,   0};
    if (out.from == address) out.fee = outcome.gas_price * ledger::U256{outcome.gas_used};
    return out;
}

std::atomic<bool> g_history_interrupted{false};  // Signal handlers can access globals only.
extern "C" void on_history_interrupt(int) { g_history_interrupted = true; }

/// The block of a height, with its transactions.
Result<json::object, RpcFailure> read_block(RpcClient& client, std::uint64_t height) {
    RETRACE_TRY(block, client.call("eth_getBlockByNumber", {rpc::quantity(height), true}));
    if (block.is_null()) return Unexpected{behind(height)};
    const json::object* const object = block.if_object();
    const json::value* const number = object != nullptr ? object->if_contains("number") : nullptr;
    const auto told = rpc::parse_u64(number != nullptr ? *number : json::value());
    if (!told || *told != height) return Unexpected{malformed("another block than " + std::to_string(height))};
    return *object;
}

/// Reads the blocks one by one, because the node keeps no index by account.
Status<RpcFailure> read_transactions(RpcClient& client, const std::string& wanted, std::uint64_t from, std::uint64_t to,
                                     std::vector<HistoryLine>& out) {
    for (std::uint64_t height = from; height <= to; ++height) {
        RETRACE_TRY(block, when_allowed([&] { return read_block(client, height); }));
        const json::value* txs = block.if_contains("transactions");
        if (txs == nullptr || !txs->is_array()) return Unexpected{malformed("a malformed block")};
        for (const json::value& tx : txs->get_array()) {
            if (!tx.is_object() || !concerns(tx.get_object(), wanted)) continue;
            RETRACE_TRY(line, history_line(client, tx.get_object(), wanted, height));
            out.push_back(std::move(line));
        }
    }
    return Unit{};
}

/// What the contracts paid to the account, of which no transaction names it.
Status<RpcFailure> read_income(RpcClient& client, const ledger::Address& address, std::uint64_t from, std::uint64_t to,
                               std::vector<HistoryLine>& out) {
    for (const auto contract : {contracts::Contract::market, contracts::Contract::audits}) {
        const ledger::Address payer = contracts::address_of(contract);
        RETRACE_TRY(logs, when_allowed([&] { return client.logs(payer, from, to); }));
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
        for (const PlacedLog& placed : logs) {
            if (const auto e = contracts::decode_event<contracts::SegmentsPaid>(placed.log); e && e->solver == address)
                add(placed, "segments", e->amount, e->task);
            else if (const auto e = contracts::decode_event<contracts::AuditPaid>(placed.log);
                     e && e->auditor == address)
                add(placed, "audit", e->amount, 0);
            else if (const auto e = contracts::decode_event<contracts::EscrowReturned>(placed.log);
                     e && e->requester == address)
                add(placed, "returned", e->amount, e->task);
            else if (const auto e = contracts::decode_event<contracts::ReservationPaid>(placed.log);
                     e && e->solver == address)
                add(placed, "reservation", e->amount, 0);
        }
    }
    return Unit{};
}

struct History {
    std::uint64_t from = 0, to = 0;  ///< Blocks, both included.
    std::vector<HistoryLine> lines;
    bool whole = true;    ///< The node keeps all the blocks that were asked for.
    std::string stopped;  ///< Why it ends before the block that was asked for; empty: it does not.
};

/// The lines of a page, in the order of their blocks.
Result<std::vector<HistoryLine>, RpcFailure> history_page(RpcClient& client, const ledger::Address& address,
                                                          std::uint64_t from, std::uint64_t to) {
    std::vector<HistoryLine> out;
    RETRACE_CHECK(read_income(client, address, from, to, out));
    RETRACE_CHECK(read_transactions(client, rpc::data(address), from, to, out));
    std::stable_sort(out.begin(), out.end(),
                     [](const HistoryLine& a, const HistoryLine& b) { return a.height < b.height; });
    return out;
}

/// Reads the blocks `from` to `to` page by page. An interrupt, which ends a running call too, or a node that ceases to
/// answer, ends it behind the last page.
Result<History> read_history(RpcClient& client, const ledger::Address& address, std::uint64_t from, std::uint64_t to) {
    BlockProgress progress;
    PageOptions pages = pages_with(progress);
    pages.blocks = kHistoryPage;
    g_history_interrupted = false;
    client.set_stop([] { return g_history_interrupted.load(); });
    std::signal(SIGINT, on_history_interrupt);
    History out{from, to, {}, true, {}};
    const auto read = [&](std::uint64_t first) -> Status<> {
        out.lines.clear();
        std::uint64_t next = first;
        const auto page = [&](std::uint64_t begin, std::uint64_t end) -> Result<bool, RpcFailure> {
            RETRACE_TRY(lines, history_page(client, address, begin, end));
            out.lines.insert(out.lines.end(), lines.begin(), lines.end());
            next = end + 1;
            return true;
        };
        const auto done = read_pages(first, to, pages, page);
        if (!done && next == first) return error(done.error().message);
        if (!done) out.stopped = done.error().message;
        out.to = next - 1;
        return Unit{};
    };
    RETRACE_TRY(kept, read_kept(client, from, read));
    std::signal(SIGINT, SIG_DFL);
    out.whole = kept == from;
    out.from = kept;
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
        if (line.kind == "reservation") std::cout << " from a reservation that was not used";
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
    if (g_history_interrupted) return;
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

int run_history(const Program& program, const HistoryOptions& options) {
    const auto fiat = options.fiat.rate();
    if (!fiat) throw CLI::ValidationError(fiat.error().message);
    const auto address = options.address.get();
    if (!address) return fail(program, address.error().message);
    auto client = options.node.connect();
    if (!client) return fail(program, client.error().message);
    const auto tip = client->height();
    if (!tip) return fail(program, tip.error().message);
    const std::uint64_t to = std::min(options.to.value_or(*tip), *tip);
    const std::uint64_t from = options.from.value_or(to >= options.blocks ? to - options.blocks + 1 : 0);
    if (from > to) return fail(program, "there is no block " + std::to_string(from) + " yet, or --to is below it");
    const auto history = read_history(*client, *address, from, to);
    if (!history) return fail(program, history.error().message);
    if (!history->whole)
        std::cerr << "note: the node keeps no block before " << history->from
                  << ", so what moved earlier is left out; ask a node that keeps all blocks\n";
    if (program.json) {
        json::array out;
        for (const HistoryLine& line : history->lines) out.push_back(json_of(line));
        std::cout << json::serialize(out) << '\n';
    } else {
        print_history(history->lines, options.csv);
        if (!options.csv) print_sums(*client, *history, *address, *fiat);
    }
    if (history->stopped.empty()) return kDone;
    std::cout.flush();
    std::cerr << "note: these are the blocks " << history->from << " to " << history->to << " of those up to " << to
              << " (" << printable(history->stopped) << "); go on with --from " << history->to + 1 << std::endl;
    return kFailed;
}

}  // namespace

void add_wallet_history(CLI::App& wallet, Program& program) {
    CLI::App* history = wallet.add_subcommand("history", "Transactions and income of an account in the last blocks");
    auto history_options = std::make_shared<HistoryOptions>();
    history_options->address.add_to(*history);
    CLI::Option* const blocks =
        history->add_option("--blocks", history_options->blocks, "How many blocks to look through (1000)")
            ->check(CLI::PositiveNumber);
    history->add_option("--from", history_options->from, "First block, instead of --blocks")->excludes(blocks);
    history->add_option("--to", history_options->to, "Last block (the newest)");
    history_options->node.add_to(*history);
    history_options->fiat.add_to(*history);
    history->add_flag("--csv", history_options->csv, "Comma-separated lines, amounts in wei");
    add_json(*history, program);
    history->callback([&program, history_options] {
        program.run = [&, history_options] { return run_history(program, *history_options); };
    });
}

}  // namespace retrace::node::cli
