// SPDX-License-Identifier: MIT
#include "node/server/config/genesis_file.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>

#include "contracts/calls/addresses.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/platform/data_dir.hpp"
#include "node/server/config/validators_json.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;

Result<std::uint64_t> parse_integer(const std::string& name, const json::value& v) {
    if (v.is_int64() && v.get_int64() >= 0) return static_cast<std::uint64_t>(v.get_int64());
    if (v.is_uint64()) return v.get_uint64();
    return error("genesis: " + name + " must be a whole number");
}

Result<ledger::U256> parse_amount(const std::string& name, const json::value& v) {
    const json::string* text = v.if_string();
    const auto amount = text != nullptr ? ledger::U256::from_decimal({text->data(), text->size()}) : std::nullopt;
    if (!amount) return error("genesis: " + name + " must be a decimal number in quotes");
    return *amount;
}

Status<> parse_alloc(const json::value& v, ledger::Genesis& genesis) {
    const json::object* alloc = v.if_object();
    if (alloc == nullptr) return error("genesis: alloc must be an object of addresses");
    for (const auto& [name, entry] : *alloc) {
        const std::string text(name.data(), name.size());
        const auto address = ledger::parse_address(text);
        if (!address) return error("genesis: alloc has a key that is no address: " + text);
        for (const contracts::Contract contract : contracts::kContracts) {
            if (*address != contracts::address_of(contract)) continue;
            return error("genesis: alloc." + text + " is the address of the native contract " +
                         std::string(contracts::interface_name(contract)) + ", which holds only what is paid into it");
        }
        const json::object* fields = entry.if_object();
        const json::value* balance = fields != nullptr ? fields->if_contains("balance") : nullptr;
        if (balance == nullptr || fields->size() != 1) {
            return error("genesis: alloc." + text + " must be {\"balance\": \"…\"}");
        }
        RETRACE_TRY(amount, parse_amount("alloc." + text + ".balance", *balance));
        if (!genesis.alloc.emplace(*address, amount).second) return error("genesis: alloc names " + text + " twice");
    }
    return Unit{};
}

Status<> parse_member(const std::string& name, const json::value& v, ledger::Genesis& genesis,
                      const EncodeContracts& encode_contracts) {
    if (name == "alloc") return parse_alloc(v, genesis);
    if (name == "validators") return parse_validators(v, genesis);
    if (name == "validatorRules") return Unit{};  // Read with the validators.
    if (name == "baseFeePerGas") {
        RETRACE_TRY(amount, parse_amount(name, v));
        genesis.base_fee = amount;
        return Unit{};
    }
    if (name == "contracts") {
        RETRACE_TRY(bytes, encode_contracts(json::serialize(v)));
        genesis.contracts = std::move(bytes);
        return Unit{};
    }
    if (name != "chainId" && name != "timestamp" && name != "gasLimit") {
        return error(
            "genesis: " + name +
            " is not known; known are chainId, timestamp, gasLimit, baseFeePerGas, alloc, contracts, validators, "
            "validatorRules");
    }
    RETRACE_TRY(number, parse_integer(name, v));
    if (name == "chainId") genesis.chain_id = number;
    if (name == "gasLimit") genesis.gas_limit = number;
    if (name != "timestamp") return Unit{};
    if (number > 10'000'000'000) return error("genesis: timestamp must be in seconds");
    genesis.time_ns = number * 1'000'000'000;
    return Unit{};
}

}  // namespace

namespace {

/// ", line N" of a byte of the text.
std::string line_at(std::string_view text, std::size_t offset) {
    const auto lines =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size())), '\n');
    return ", line " + std::to_string(lines + 1);
}

/// The line of the member that an error ("genesis: alloc.0xab.balance must …") is about; empty if the text has none of
/// this name.
std::string line_of_error(std::string_view text, const std::string& message) {
    constexpr std::string_view kPrefix = "genesis: ";
    if (!message.starts_with(kPrefix)) return {};
    const std::string path = message.substr(kPrefix.size(), message.find(' ', kPrefix.size()) - kPrefix.size());
    std::size_t at = 0;
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find('.', begin), path.size());
        at = text.find('"' + path.substr(begin, end - begin) + '"', at);
        if (at == std::string_view::npos) return {};
        begin = end + 1;
    }
    return line_at(text, at);
}

Result<ledger::Genesis> genesis_of(const json::object& members, const EncodeContracts& encode_contracts);

}  // namespace

Result<ledger::Genesis> parse_genesis(std::string_view text, const EncodeContracts& encode_contracts) {
    json::error_code failed;
    json::stream_parser parser;
    const std::size_t read = parser.write_some(text.data(), text.size(), failed);
    if (!failed) parser.finish(failed);
    const auto rest = text.find_first_not_of(" \t\r\n", read);
    if (failed) return error("genesis: not JSON: " + failed.message() + line_at(text, read));
    if (rest != std::string_view::npos) return error("genesis: text after the end of the JSON" + line_at(text, rest));
    const json::value document = parser.release();
    const json::object* object = document.if_object();
    if (object == nullptr) return error("genesis: not a JSON object");
    auto genesis = genesis_of(*object, encode_contracts);
    if (!genesis) return error(genesis.error().message + line_of_error(text, genesis.error().message));
    return genesis;
}

namespace {

Result<ledger::Genesis> genesis_of(const json::object& members, const EncodeContracts& encode_contracts) {
    const json::object* const object = &members;
    for (const char* required : {"chainId", "alloc"}) {
        if (!object->contains(required)) return error(std::string("genesis: ") + required + " is missing");
    }
    ledger::Genesis genesis;
    if (!object->contains("contracts")) {
        RETRACE_TRY(bytes, encode_contracts({}));
        genesis.contracts = std::move(bytes);
    }
    for (const auto& [name, value] : *object) {
        RETRACE_CHECK(parse_member(std::string(name.data(), name.size()), value, genesis, encode_contracts));
    }
    const json::value* rules = object->if_contains("validatorRules");
    if (!genesis.validators.empty()) {
        RETRACE_TRY(bytes, parse_validator_rules(rules));
        genesis.validator_rules = std::move(bytes);
        RETRACE_CHECK(check_founders(genesis));
    } else if (rules != nullptr) {
        return error("genesis: validatorRules without validators");
    }
    RETRACE_CHECK(ledger::check(genesis));
    return genesis;
}

}  // namespace

Result<ledger::Genesis> load_genesis(const std::string& path, const EncodeContracts& encode_contracts) {
    const auto bytes = read_file(path, std::size_t{64} << 20);
    if (!bytes) return error("cannot read the genesis file: " + bytes.error().message);
    auto genesis = parse_genesis({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, encode_contracts);
    if (!genesis) return error(path + ": " + genesis.error().message);
    return genesis;
}

}  // namespace retrace::node
