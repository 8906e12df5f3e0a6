// SPDX-License-Identifier: MIT
#include "tests/stateful/trace.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "contracts/abi/typed.hpp"
#include "contracts/calls/encode.hpp"

namespace retrace::stateful {
namespace {

using contracts::Contract;

template <class... Call>
std::map<std::pair<Contract, std::uint32_t>, std::string> names_of(std::type_identity<std::variant<Call...>>) {
    return {{{Call::kContract, abi::selector(contracts::signature_of<Call>())}, std::string(Call::kName)}...};
}

bool is_contract(unsigned number) {
    const auto& all = contracts::kContracts;
    return std::any_of(all.begin(), all.end(),
                       [&](Contract contract) { return static_cast<unsigned>(contract) == number; });
}

std::optional<Event> read_call(std::istringstream& words) {
    SendCall call;
    unsigned contract = 0;
    std::string sender, value, data;
    words >> sender >> contract >> value >> data;
    const auto address = from_hex(sender), bytes = from_hex(data == "-" ? "" : data);
    const auto amount = U256::from_decimal(value);
    if (!words || !address || address->size() != 20 || !is_contract(contract) || !amount || !bytes) return std::nullopt;
    call.sender = ledger::address_of_bytes(*address);
    call.contract = static_cast<Contract>(contract);
    call.value = *amount;
    call.data = *bytes;
    return call;
}

}  // namespace

Address party(std::uint32_t index) {
    Address out;
    out.bytes[0] =
        static_cast<std::uint8_t>(0x10 + index % 7);  // Makes the order of addresses differ from the order of numbers.
    store_u32(out.bytes.data() + 16, index + 1);
    return out;
}

std::string method_name(Contract contract, View data) {
    static const auto names = names_of(std::type_identity<contracts::AnyCall>{});
    if (data.size() < 4) return "?";
    const std::uint32_t selector = std::uint32_t{data[0]} << 24 | std::uint32_t{data[1]} << 16 |
                                   std::uint32_t{data[2]} << 8 | std::uint32_t{data[3]};
    const auto found = names.find({contract, selector});
    return found == names.end() ? "?" : found->second;
}

std::string to_text(const Trace& trace) {
    std::ostringstream out;
    out << "params " << to_hex(market::encode(trace.params)) << "\naccounts " << trace.accounts << "\n";
    for (const Event& event : trace.events) {
        if (const auto* blocks = std::get_if<PassBlocks>(&event)) {
            out << "blocks " << blocks->count << "\n";
            continue;
        }
        if (const auto* end = std::get_if<Drain>(&event)) {
            out << "end " << end->blocks << "\n";
            continue;
        }
        const auto& call = std::get<SendCall>(event);
        out << "call " << to_hex({call.sender.bytes.data(), 20}) << " " << static_cast<unsigned>(call.contract) << " "
            << call.value.to_decimal() << " " << (call.data.empty() ? "-" : to_hex(call.data)) << " "
            << method_name(call.contract, call.data) << "\n";
    }
    return out.str();
}

Result<Trace> read_trace(std::string_view text) {
    Trace trace;
    std::istringstream lines{std::string(text)};
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const auto bad = [&] { return error("trace: line " + std::to_string(number) + " is no event"); };
        std::istringstream words(line);
        std::string kind;
        if (!(words >> kind) || kind.starts_with("#")) continue;
        if (kind == "params") {
            std::string hex;
            words >> hex;
            const auto bytes = from_hex(hex);
            if (!bytes) return bad();
            RETRACE_TRY(params, market::decode_params(*bytes));
            trace.params = params;
        } else if (kind == "accounts") {
            if (!(words >> trace.accounts)) return bad();
        } else if (kind == "blocks") {
            PassBlocks blocks;
            if (!(words >> blocks.count)) return bad();
            trace.events.emplace_back(blocks);
        } else if (kind == "end") {
            Drain end;
            if (!(words >> end.blocks)) return bad();
            trace.events.emplace_back(end);
        } else if (kind == "call") {
            auto call = read_call(words);
            if (!call) return bad();
            trace.events.push_back(std::move(*call));
        } else {
            return bad();
        }
    }
    return trace;
}

}  // namespace retrace::stateful
