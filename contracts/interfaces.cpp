// SPDX-License-Identifier: MIT
#include "contracts/interfaces.hpp"

#include <vector>

#include "contracts/abi/typed.hpp"
#include "contracts/calls/encode.hpp"
#include "contracts/records/methods.hpp"

namespace retrace::abi {
namespace {

using contracts::Contract;

/// A named type, with the struct's name if it is a struct.
struct Field {
    std::string name;
    Type type;
    std::string record;        ///< Solidity name of the (element's) struct; empty for plain types.
    std::vector<Field> parts;  ///< Fields of that struct.
};

template <class T>
std::string record_name() {
    using namespace retrace::market;
    if constexpr (std::same_as<T, market::TaskSpec>)
        return "TaskSpec";
    else if constexpr (std::same_as<T, Task>)
        return "Task";
    else if constexpr (std::same_as<T, Bid>)
        return "Bid";
    else if constexpr (std::same_as<T, Run>)
        return "Run";
    else if constexpr (std::same_as<T, Checkpoint>)
        return "Checkpoint";
    else if constexpr (std::same_as<T, Segment>)
        return "Segment";
    else if constexpr (std::same_as<T, Seat>)
        return "Seat";
    else if constexpr (std::same_as<T, Audit>)
        return "Audit";
    else if constexpr (std::same_as<T, Dispute>)
        return "Dispute";
    else if constexpr (std::same_as<T, Report>)
        return "Report";
    else if constexpr (std::same_as<T, Retention>)
        return "Retention";
    else if constexpr (std::same_as<T, Stake>)
        return "Stake";
    else if constexpr (std::same_as<T, SolverInfo>)
        return "SolverInfo";
    else if constexpr (std::same_as<T, Reputation>)
        return "Reputation";
    else if constexpr (std::same_as<T, Standing>)
        return "Standing";
    else if constexpr (std::same_as<T, VerifierInfo>)
        return "VerifierInfo";
    else if constexpr (std::same_as<T, Challenge>)
        return "Challenge";
    else if constexpr (std::same_as<T, Params>)
        return "Params";
    else if constexpr (std::same_as<T, contracts::views::Beacon>)
        return "Beacon";
    else if constexpr (std::same_as<T, contracts::TaskIds>)
        return "TaskIds";
    else if constexpr (std::same_as<T, contracts::Places>)
        return "Places";
    else if constexpr (std::same_as<T, market::Place>)
        return "Place";
    else if constexpr (std::same_as<T, market::NextAuction>)
        return "NextAuction";
    else if constexpr (std::same_as<T, market::Reservation>)
        return "Reservation";
    else if constexpr (std::same_as<T, ValidatorInfo>)
        return "ValidatorInfo";
    else if constexpr (std::same_as<T, ValidatorRules>)
        return "ValidatorRules";
    else if constexpr (std::same_as<T, contracts::SetMember>)
        return "SetMember";
    else if constexpr (std::same_as<T, contracts::Upgrade>)
        return "Upgrade";
    else if constexpr (std::same_as<T, contracts::UpgradeVote>)
        return "UpgradeVote";
    else if constexpr (std::same_as<T, contracts::ValidatorSet>)
        return "ValidatorSet";
    else if constexpr (std::same_as<T, market::GroupSpec>)
        return "GroupSpec";
    else if constexpr (std::same_as<T, market::PhaseRoot>)
        return "PhaseRoot";
    else if constexpr (std::same_as<T, market::Group>)
        return "Group";
    else if constexpr (std::same_as<T, market::Round>)
        return "Round";
    else if constexpr (std::same_as<T, market::Division>)
        return "Division";
    else if constexpr (std::same_as<T, market::MaskTerm>)
        return "MaskTerm";
    else if constexpr (std::same_as<T, market::RoundEntry>)
        return "RoundEntry";
    else if constexpr (std::same_as<T, market::RoundMessage>)
        return "RoundMessage";
    else if constexpr (std::same_as<T, market::Holding>)
        return "Holding";
    else if constexpr (std::same_as<T, market::RoundMasks>)
        return "RoundMasks";
    else if constexpr (std::same_as<T, market::MemberMasks>)
        return "MemberMasks";
    else if constexpr (std::same_as<T, market::MemberSegment>)
        return "MemberSegment";
    else if constexpr (std::same_as<T, market::Member>)
        return "Member";
    else if constexpr (std::same_as<T, market::Rollback>)
        return "Rollback";
    else if constexpr (std::same_as<T, market::Rollbacks>)
        return "Rollbacks";
    else if constexpr (std::same_as<T, market::MemberAttempt>)
        return "MemberAttempt";
    else if constexpr (std::same_as<T, market::MemberAttempts>)
        return "MemberAttempts";
    else if constexpr (std::same_as<T, market::Consent>)
        return "Consent";
    else if constexpr (std::same_as<T, market::FormerAuditor>)
        return "FormerAuditor";
    else if constexpr (std::same_as<T, contracts::AdmittedAccounts>)
        return "AdmittedAccounts";
    else {
        static_assert(!market::Record<T>, "Solidity has no struct without a name");
        return "";
    }
}

template <class T>
std::vector<Field> fields_of();

template <class T>
Field field_of(std::string name) {
    Field field{std::move(name), type_of<T>(), {}, {}};
    if constexpr (kIsList<T>) {
        const Field element = field_of<typename T::value_type>("");
        field.record = element.record;
        field.parts = element.parts;
    } else if constexpr (market::Record<T>) {
        field.record = record_name<T>();
        field.parts = fields_of<T>();
    }
    return field;
}

template <class T>
std::vector<Field> fields_of() {
    std::vector<Field> out;
    const auto names = T::names();
    T sample{};
    std::apply(
        [&](auto&... member) {
            ensure(names.size() == sizeof...(member), "every field has a name");
            (out.push_back(field_of<std::remove_cvref_t<decltype(member)>>(std::string(names[out.size()]))), ...);
        },
        T::tie(sample));
    return out;
}

struct Entry {
    enum class Kind { function, view, event, error } kind;
    std::string name;
    bool payable = false;
    std::size_t indexed = 0;
    std::vector<Field> inputs, outputs;
};

template <class... Call>
void add_calls(Contract contract, std::vector<Entry>& out, std::type_identity<std::variant<Call...>>) {
    (
        [&] {
            if (Call::kContract == contract)
                out.push_back(
                    {Entry::Kind::function, std::string(Call::kName), Call::kPayable, 0, fields_of<Call>(), {}});
        }(),
        ...);
}
template <class... Read>
void add_reads(Contract contract, std::vector<Entry>& out, std::type_identity<std::variant<Read...>>) {
    (
        [&] {
            if (Read::kContract == contract)
                out.push_back({Entry::Kind::view,
                               std::string(Read::kName),
                               false,
                               0,
                               fields_of<Read>(),
                               {field_of<typename Read::Answer>("")}});
        }(),
        ...);
}
template <class... Event>
void add_events(Contract contract, std::vector<Entry>& out, std::type_identity<std::variant<Event...>>) {
    (
        [&] {
            if (Event::kContract == contract)
                out.push_back(
                    {Entry::Kind::event, std::string(Event::kName), false, Event::kIndexed, fields_of<Event>(), {}});
        }(),
        ...);
}

std::vector<Entry> entries_of(Contract contract) {
    std::vector<Entry> out;
    add_calls(contract, out, std::type_identity<contracts::AnyCall>{});
    add_reads(contract, out, std::type_identity<contracts::AnyRead>{});
    add_events(contract, out, std::type_identity<contracts::AnyEvent>{});
    out.push_back(
        {Entry::Kind::error, std::string(contracts::Refused::kName), false, 0, fields_of<contracts::Refused>(), {}});
    return out;
}

// --- JSON ---

/// Returns "tuple", "tuple[]" or the plain type name.
std::string json_type(const Field& field) {
    if (field.parts.empty()) return field.type.name();
    return field.type.kind == Type::Kind::array ? "tuple[]" : "tuple";
}

std::string json_fields(const std::vector<Field>& fields, const Entry& entry, bool top) {
    std::string out = "[";
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Field& field = fields[i];
        out += i == 0 ? "" : ",";
        out += "{\"name\":\"" + field.name + "\",\"type\":\"" + json_type(field) + "\"";
        if (!field.parts.empty()) out += ",\"components\":" + json_fields(field.parts, entry, false);
        if (top && entry.kind == Entry::Kind::event)
            out += i < entry.indexed ? ",\"indexed\":true" : ",\"indexed\":false";
        out += "}";
    }
    return out + "]";
}

std::string json_entry(const Entry& entry) {
    const std::string inputs = "\"inputs\":" + json_fields(entry.inputs, entry, true);
    const std::string head = "\",\"name\":\"" + entry.name + "\"," + inputs;
    switch (entry.kind) {
        case Entry::Kind::event: return "{\"type\":\"event" + head + ",\"anonymous\":false}";
        case Entry::Kind::error: return "{\"type\":\"error" + head + "}";
        default: break;
    }
    const std::string_view mutability = entry.kind == Entry::Kind::view ? "view"
                                        : entry.payable                 ? "payable"
                                                                        : "nonpayable";
    return "{\"type\":\"function" + head + ",\"outputs\":" + json_fields(entry.outputs, entry, false) +
           ",\"stateMutability\":\"" + std::string(mutability) + "\"}";
}

// --- Solidity ---

std::string solidity_type(const Field& field) {
    if (field.record.empty()) return field.type.name();
    return field.type.kind == Type::Kind::array ? field.record + "[]" : field.record;
}

std::string parameters(const std::vector<Field>& fields, const Entry& entry, std::string_view location) {
    constexpr std::size_t kLine = 60;
    std::vector<std::string> words;
    std::size_t length = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Field& field = fields[i];
        const bool reference = field.type.is_dynamic() || !field.parts.empty();
        std::string word = solidity_type(field);
        if (entry.kind == Entry::Kind::event && i < entry.indexed) word += " indexed";
        if (reference && !location.empty()) word += " " + std::string(location);
        if (!field.name.empty()) word += " " + field.name;
        length += word.size() + 2;
        words.push_back(std::move(word));
    }
    const std::string before = length > kLine ? "\n        " : "";
    std::string out = "(" + before;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool last = i + 1 == words.size();
        out += words[i] + (last ? "" : before.empty() ? ", " : "," + before);
    }
    return out + (before.empty() ? ")" : "\n    )");
}

void add_structs(const std::vector<Field>& fields, std::vector<std::string>& names, std::string& out) {
    for (const Field& field : fields) {
        add_structs(field.parts, names, out);
        if (field.record.empty() || std::find(names.begin(), names.end(), field.record) != names.end()) continue;
        names.push_back(field.record);
        out += "    struct " + field.record + " {\n";
        for (const Field& part : field.parts) out += "        " + solidity_type(part) + " " + part.name + ";\n";
        out += "    }\n";
    }
}

std::string solidity_entry(const Entry& entry) {
    switch (entry.kind) {
        case Entry::Kind::event: return "event " + entry.name + parameters(entry.inputs, entry, "") + ";";
        case Entry::Kind::error: return "error " + entry.name + parameters(entry.inputs, entry, "") + ";";
        default: break;
    }
    std::string out = "function " + entry.name + parameters(entry.inputs, entry, "calldata") + " external";
    if (entry.payable) out += " payable";
    if (entry.kind == Entry::Kind::view) out += " view returns " + parameters(entry.outputs, entry, "memory");
    return out + ";";
}

}  // namespace

std::string abi_json(Contract contract) {
    std::string out = "[\n";
    const auto entries = entries_of(contract);
    for (std::size_t i = 0; i < entries.size(); ++i)
        out += "  " + json_entry(entries[i]) + (i + 1 < entries.size() ? ",\n" : "\n");
    return out + "]\n";
}

std::string solidity(Contract contract) {
    std::string out = "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.0;\n\n";
    out += "/// At " + ledger::to_0x(contracts::address_of(contract));
    out += ". What each method does: contracts/calls/calls.hpp.\n";
    out += "interface " + std::string(contracts::interface_name(contract)) + " {\n";
    const auto entries = entries_of(contract);
    std::vector<std::string> names;
    for (const Entry& entry : entries) {
        add_structs(entry.inputs, names, out);
        add_structs(entry.outputs, names, out);
    }
    for (const Entry& entry : entries) out += "    " + solidity_entry(entry) + "\n";
    return out + "}\n";
}

}  // namespace retrace::abi
