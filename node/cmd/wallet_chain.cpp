// SPDX-License-Identifier: MIT
// retrace wallet send | balance
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
}

}  // namespace retrace::node::cli
