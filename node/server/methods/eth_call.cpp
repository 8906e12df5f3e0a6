// SPDX-License-Identifier: MIT
// eth_call and eth_estimateGas.
#include "ledger/state/supply.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/revert.hpp"

namespace retrace::node::rpc {
namespace {

using ledger::SimulatedCall;

constexpr std::size_t kKeyEchoMax = 64;

template <class T>
Checked<T> member(std::size_t arg, const json::object& object, const char* name, Parsed<T> (*parse)(const json::value&),
                  T absent) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || value->is_null()) return absent;
    Parsed<T> parsed = parse(*value);
    if (!parsed) return invalid_argument(arg, std::string(name) + ": " + parsed.error());
    return std::move(parsed).value();
}

/// Parses [{address, storageKeys}], which adds to the gas of the call.
Parsed<std::vector<ledger::AccessEntry>> parse_access_list(const json::value& v) {
    const json::array* entries = v.if_array();
    if (entries == nullptr) return Unexpected<std::string>{"not an array"};
    std::vector<ledger::AccessEntry> out;
    for (const json::value& entry : *entries) {
        const json::object* object = entry.if_object();
        const json::value* keys = object != nullptr ? object->if_contains("storageKeys") : nullptr;
        if (keys == nullptr || !keys->is_array() || !object->contains("address"))
            return Unexpected<std::string>{"an entry is {address, storageKeys}"};
        ledger::AccessEntry& added = out.emplace_back();
        RETRACE_TRY(address, parse_address(object->at("address")));
        added.address = address;
        for (const json::value& key : keys->get_array()) {
            RETRACE_TRY(hash, parse_hash(key));
            added.keys.push_back(hash);
        }
    }
    return out;
}

/// Parses a call object. `data` and `input` are the old and the new name of the same member. Members that matter only
/// to a transaction (nonce, fees, type, chain id) are ignored.
Checked<SimulatedCall> parse_call(const Params& params) {
    RETRACE_TRY(object, params.object(0));
    SimulatedCall call;
    RETRACE_TRY(from, member(0, *object, "from", parse_address, ledger::Address{}));
    RETRACE_TRY(gas, member(0, *object, "gas", parse_u64, std::uint64_t{0}));
    RETRACE_TRY(value, member(0, *object, "value", parse_u256, ledger::U256{}));
    RETRACE_TRY(input, member(0, *object, "input", parse_data, Bytes{}));
    RETRACE_TRY(old_input, member(0, *object, "data", parse_data, Bytes{}));
    if (!input.empty() && !old_input.empty() && input != old_input) {
        return invalid_params("both \"data\" and \"input\" are set and not equal. Please use \"input\" only");
    }
    if (const json::value* to = object->if_contains("to"); to != nullptr && !to->is_null()) {
        RETRACE_TRY(address, member(0, *object, "to", parse_address, ledger::Address{}));
        call.to = address;
    }
    RETRACE_TRY(access_list, member(0, *object, "accessList", parse_access_list, {}));
    call.access_list = std::move(access_list);
    call.from = from;
    call.gas = gas;
    call.value = value;
    call.data = input.empty() ? std::move(old_input) : std::move(input);
    return call;
}

/// Whether the address has no key: it sends no transactions, and its balance is determined by records of the market.
bool is_native(const Backend& backend, const ledger::Address& address) {
    return backend.chain.executor().is_contract(address) || address == ledger::ledger_address();
}

/// Refuses calls from native contracts: no transaction could come from them, and the rules would run on accounts that
/// do not balance.
Status<RpcError> check_sender(const Backend& backend, const ledger::Address& from) {
    if (!is_native(backend, from)) return Unit{};
    return invalid_argument(0, "from: " + ledger::to_0x(from) + " is a native contract, which sends no calls");
}

/// The largest balance of one override: the minted total, or less, so that the sum of all balances fits 256 bits.
ledger::U256 most_of_one(const ledger::StateView& view, std::size_t overrides) {
    const ledger::U256 minted = ledger::minted(view);
    return std::min(minted, (ledger::U256::max() - minted) / ledger::U256(overrides));
}

/// Allows only members that can be overridden, which bounds an override's size; others, e.g. `code`, may be null.
Status<RpcError> check_members(std::size_t index, const json::object& override) {
    for (const auto& [name, value] : override) {
        if (name == "balance" || name == "nonce" || value.is_null()) continue;
        const bool of_code = name == "code" || name == "state" || name == "stateDiff";
        return invalid_argument(index, "override of " + std::string(name.substr(0, kKeyEchoMax)) +
                                           (of_code ? " is not supported: no EVM" : " is not supported"));
    }
    return Unit{};
}

/// Parses overrides of the balance and nonce of accounts. Native contracts cannot be overridden: they have no code or
/// storage words, and their balance must match their records.
Checked<ledger::StateDiff> parse_overrides(const Backend& backend, const Params& params, std::size_t index,
                                           const ledger::StateView& view, Caller& caller) {
    ledger::StateDiff diff;
    if (!params.has(index)) return diff;
    RETRACE_TRY(object, params.object(index));
    if (object->size() > kOverridesMax) {
        return invalid_argument(index, "too many state overrides: " + std::to_string(object->size()) + ", at most " +
                                           std::to_string(kOverridesMax));
    }
    // For the write and the second read of each account; the view charges for the first read.
    RETRACE_CHECK(caller.spend(2 * object->size()));
    const ledger::U256 most = object->empty() ? ledger::U256{} : most_of_one(view, object->size());
    for (const auto& [name, entry] : *object) {
        RETRACE_TRY(address, argument(index, parse_address(json::value(name))));
        if (is_native(backend, address)) {
            return invalid_argument(
                index, "override of " + ledger::to_0x(address) + " is not supported: it is a native contract");
        }
        const json::object* fields = entry.if_object();
        if (fields == nullptr) return invalid_argument(index, "an override is not an object");
        RETRACE_CHECK(check_members(index, *fields));
        ledger::Account account = view.account(address);
        RETRACE_TRY(balance, member(index, *fields, "balance", parse_u256, account.balance));
        RETRACE_TRY(nonce, member(index, *fields, "nonce", parse_u64, account.nonce));
        diff.accounts[address] = ledger::Account{nonce, std::min(balance, most)};
    }
    return diff;
}

/// Refuses all block overrides: to ignore them would give the answer for another block.
Status<RpcError> refuse_block_overrides(const Params& params, std::size_t index) {
    if (!params.has(index)) return Unit{};
    RETRACE_TRY(object, params.object(index));
    for (const auto& [name, value] : *object) {
        if (value.is_null()) continue;
        return invalid_argument(index,
                                "block override of " + std::string(name.substr(0, kKeyEchoMax)) + " is not supported");
    }
    return Unit{};
}

struct Prepared {
    SimulatedCall call;
    std::shared_ptr<const ledger::StateView> base;  // keeps the state below `state` alive
    std::unique_ptr<ledger::State> state;
    ledger::BlockContext block;
};

/// Calls run in the block that they name. Estimates on the newest state run in the next block, including its deadlines
/// and draws: a transaction sent now cannot be mined earlier, and the rules may decide differently there.
enum class When : std::uint8_t { named_block, next_block };

Checked<Prepared> prepare(const Backend& backend, const Params& params, Caller& caller, When when) {
    RETRACE_TRY(call, parse_call(params));
    RETRACE_CHECK(check_sender(backend, call.from));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_CHECK(refuse_block_overrides(params, 3));
    RETRACE_TRY(at, state_at(backend, caller, ref));
    RETRACE_TRY(overrides, parse_overrides(backend, params, 2, *at.view, caller));
    auto context = backend.chain.context_at(at.height);
    if (!context) return server_error("header not found");
    Prepared out{std::move(call), at.view, std::make_unique<ledger::State>(*at.view), *context};
    const bool newest = ref.kind == BlockRef::Kind::latest || ref.kind == BlockRef::Kind::pending;
    if (when == When::next_block && newest) {
        ++out.block.height;
        backend.chain.executor().begin_block(*out.state, out.block);
    }
    out.state->apply(overrides);
    return out;
}

/// Reports a refused contract creation as a revert, because clients show the message of a revert but not of other
/// errors of an estimate.
Unexpected<RpcError> refused(const ledger::TxRefusal& refusal) {
    if (refusal.code == ledger::TxError::creation_not_supported) return Unexpected{reverted_with(refusal.message)};
    return server_error(refusal.message);
}

Answer eth_call(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(run, prepare(backend, params, caller, When::named_block));
    const auto out = ledger::simulate(run.call, *run.state, run.block, backend.gas_limit(), backend.chain.executor());
    if (out.refusal) return refused(*out.refusal);
    if (!out.result.ok) return Unexpected{reverted(out.result.output)};
    return json::value(data(View(out.result.output)));
}

Answer estimate_gas(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(run, prepare(backend, params, caller, When::next_block));
    const auto out =
        ledger::estimate_gas(run.call, *run.state, run.block, backend.gas_limit(), backend.chain.executor());
    if (out.run.refusal) return refused(*out.run.refusal);
    if (!out.ok()) return Unexpected{reverted(out.run.result.output)};
    return json::value(quantity(out.gas));
}

}  // namespace

void register_eth_call(Router& router, const Backend& backend) {
    const std::vector<ParamInfo> params{{"call", "Call"},
                                        {"block", "BlockTag", false},
                                        {"state_overrides", "Overrides", false},
                                        {"block_overrides", "Object", false}};
    router.add({"eth_call", "Runs a call and leaves nothing behind.", params, "Data",
                [&backend](const Params& p, Caller& caller) { return eth_call(backend, p, caller); }});
    router.add({"eth_estimateGas", "A gas limit with which the call succeeds.", params, "Quantity",
                [&backend](const Params& p, Caller& caller) { return estimate_gas(backend, p, caller); }});
}

}  // namespace retrace::node::rpc
