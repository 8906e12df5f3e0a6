// SPDX-License-Identifier: MIT
// Compares every method, event and error of the interfaces with vectors made by ethers and viem
// (tests/vectors/ethereum): selectors, topics and encodings, in both directions, and through the executor's own tables.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "contracts/abi/typed.hpp"
#include "contracts/calls/encode.hpp"
#include "contracts/records/methods.hpp"
#include "contracts/records/store.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

namespace json = boost::json;

json::value read_file(const std::string& path) {
    std::ifstream file(std::string(RETRACE_VECTORS) + "/" + path);
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str());
}
const json::array& vectors() {
    static const json::value all = read_file("ethereum/interfaces.json");
    return all.at("contracts").as_array();
}
std::string text(const json::value& value) { return std::string(value.as_string()); }
Bytes hex(const json::value& value) { return from_hex(text(value)).value(); }
std::string shown(std::uint32_t selector) {
    Bytes out(4);
    for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::uint8_t>(selector >> (24 - 8 * i));
    return to_0x(out);
}

const json::object& of_contract(Contract contract) {
    for (const auto& entry : vectors())
        if (text(entry.at("name")) == interface_name(contract)) return entry.as_object();
    throw std::out_of_range("no vectors of " + std::string(interface_name(contract)));
}
// --- between a vector's named values and our structs, without abi::Value ---

template <class T>
void fill(const json::value& value, T& out) {
    if constexpr (std::same_as<T, bool>)
        out = value.as_bool();
    else if constexpr (std::is_enum_v<T>)
        out = static_cast<T>(std::stoul(text(value)));
    else if constexpr (std::unsigned_integral<T>)
        out = static_cast<T>(std::stoull(text(value)));
    else if constexpr (std::same_as<T, U256>)
        out = U256::from_decimal(text(value)).value();
    else if constexpr (std::same_as<T, Hash32>)
        out = to_hash32(hex(value));
    else if constexpr (std::same_as<T, Address>)
        out = ledger::address_of_bytes(hex(value));
    else if constexpr (std::same_as<T, Bytes>)
        out = hex(value);
    else if constexpr (std::same_as<T, std::string>)
        out = text(value);
    else if constexpr (abi::kIsList<T>) {
        for (const auto& item : value.as_array()) fill(item, out.emplace_back());
    } else {
        const auto names = T::names();
        std::size_t i = 0;
        std::apply([&](auto&... field) { (fill(value.at(names[i++]), field), ...); }, T::tie(out));
    }
}
template <class T>
T made(const json::value& value) {
    T out;
    fill(value, out);
    return out;
}

template <class T>
json::value named(const T& value) {
    if constexpr (std::same_as<T, bool>)
        return value;
    else if constexpr (std::is_enum_v<T>)
        return json::string(std::to_string(static_cast<unsigned>(value)));
    else if constexpr (std::unsigned_integral<T>)
        return json::string(std::to_string(value));
    else if constexpr (std::same_as<T, U256>)
        return json::string(value.to_decimal());
    else if constexpr (std::same_as<T, Hash32> || std::same_as<T, Address>)
        return json::string(to_0x(view(value)));
    else if constexpr (std::same_as<T, Bytes>)
        return json::string(to_0x(value));
    else if constexpr (std::same_as<T, std::string>)
        return json::string(value);
    else if constexpr (abi::kIsList<T>) {
        json::array out;
        for (const auto& item : value) out.push_back(named(item));
        return out;
    } else {
        json::object out;
        const auto names = T::names();
        std::size_t i = 0;
        std::apply([&](const auto&... field) { (out.emplace(names[i++], named(field)), ...); }, T::tie(value));
        return out;
    }
}

/// Returns the named values of a decoded Expected or optional, or nullopt if decoding failed.
template <class Maybe>
std::optional<json::value> shown(const Maybe& decoded) {
    return decoded.has_value() ? std::optional(json::value(named(*decoded))) : std::nullopt;
}

/// Checks that `decode` accepts `data`, but no proper part of it and no longer data.
template <class Decode>
void expect_only_whole(const Bytes& data, const Decode& decode) {
    EXPECT_TRUE(decode(data));
    for (std::size_t size = 0; size < data.size(); ++size)
        EXPECT_FALSE(decode(View(data).first(size))) << size << " of " << data.size() << " bytes";
    for (const std::size_t more : {1, 32, 64}) {
        Bytes extended = data;
        extended.resize(data.size() + more);
        EXPECT_FALSE(decode(extended)) << more << " bytes more";
    }
}

/// Our encoding of one call, view or event; its vectors have the same name.
struct Ours {
    Contract contract;
    std::string name, signature;
    Bytes (*encode)(const json::value& args);  ///< Selector and arguments.
    std::optional<json::value> (*decode)(View arguments);
    Bytes (*encode_result)(const json::value& value) = nullptr;
    std::optional<json::value> (*decode_result)(View data) = nullptr;
    ledger::Log (*log)(const json::value& args) = nullptr;
    std::optional<json::value> (*decode_log)(const ledger::Log& log) = nullptr;

    std::string where() const { return std::string(interface_name(contract)) + " " + name; }
    /// If this throws, regenerate interfaces.json after a change of the interfaces (see interfaces.mjs).
    const json::object& vectors_in(std::string_view list) const {
        for (const auto& entry : of_contract(contract).at(list).as_array())
            if (text(entry.at("name")) == name) return entry.as_object();
        throw std::out_of_range("no vectors of " + where());
    }
};

template <class T>
Ours named_alike() {
    return {T::kContract, std::string(T::kName), signature_of<T>(), nullptr, nullptr};
}
template <class Call>
Ours ours_of_call() {
    Ours out = named_alike<Call>();
    out.encode = [](const json::value& args) { return calldata(made<Call>(args)); };
    out.decode = [](View arguments) { return shown(abi::decode_struct<Call>(arguments)); };
    return out;
}
template <class Read>
Ours ours_of_read() {
    using Answer = typename Read::Answer;
    Ours out = ours_of_call<Read>();
    out.encode_result = [](const json::value& value) {
        abi::Type returns;
        returns.kind = abi::Type::Kind::tuple;
        returns.parts.push_back(abi::type_of<Answer>());
        return abi::encode(returns, {abi::List{abi::to_value(made<Answer>(value))}});
    };
    out.decode_result = [](View data) { return shown(decode_answer<Read>(data)); };
    return out;
}
template <class Event>
Ours ours_of_event() {
    Ours out = named_alike<Event>();
    out.log = [](const json::value& args) { return to_log(made<Event>(args)); };
    out.decode_log = [](const ledger::Log& log) { return shown(decode_event<Event>(log)); };
    return out;
}
template <class... Call>
std::vector<Ours> ours_of(std::type_identity<std::variant<Call...>>) {
    if constexpr ((requires { typename Call::Answer; } && ...))
        return {ours_of_read<Call>()...};
    else if constexpr ((requires { Call::kIndexed; } && ...))
        return {ours_of_event<Call>()...};
    else
        return {ours_of_call<Call>()...};
}
const std::vector<Ours>& calls() {
    static const auto all = ours_of(std::type_identity<AnyCall>{});
    return all;
}
const std::vector<Ours>& reads() {
    static const auto all = ours_of(std::type_identity<AnyRead>{});
    return all;
}
const std::vector<Ours>& events() {
    static const auto all = ours_of(std::type_identity<AnyEvent>{});
    return all;
}

TEST(InterfaceVectors, ThereIsOneOfEverythingInTheInterfaces) {
    for (const Contract contract : kContracts) {
        const std::string name(interface_name(contract));
        std::multiset<std::string> published, tried;
        const json::value interface = read_file("../../contracts/abi/" + name + ".json");
        for (const auto& entry : interface.as_array())
            published.insert(text(entry.at("type")) + " " + text(entry.at("name")));
        for (const std::string kind : {"function", "event", "error"})
            for (const auto& entry : of_contract(contract).at(kind + "s").as_array())
                tried.insert(kind + " " + text(entry.at("name")));
        EXPECT_EQ(published, tried) << name;
    }
}

void expect_calls(const Ours& ours) {
    const json::object& entry = ours.vectors_in("functions");
    EXPECT_EQ(ours.signature, text(entry.at("signature")));
    EXPECT_EQ(shown(abi::selector(ours.signature)), text(entry.at("selector")));
    ASSERT_FALSE(entry.at("calls").as_array().empty());
    for (const auto& vector : entry.at("calls").as_array()) {
        const Bytes data = hex(vector.at("data")), arguments(data.begin() + 4, data.end());
        EXPECT_EQ(to_hex(ours.encode(vector.at("args"))), to_hex(data));
        EXPECT_EQ(ours.decode(arguments), vector.at("args"));
        expect_only_whole(arguments, [&](View bytes) { return ours.decode(bytes).has_value(); });
    }
}

TEST(InterfaceVectors, CallsAreEncodedAndDecoded) {
    for (const Ours& call : calls()) {
        SCOPED_TRACE(call.where());
        expect_calls(call);
        EXPECT_TRUE(call.vectors_in("functions").at("results").as_array().empty()) << "a call returns nothing";
    }
}

TEST(InterfaceVectors, ViewsAreCalledAndTheirResultsDecoded) {
    for (const Ours& read : reads()) {
        SCOPED_TRACE(read.where());
        expect_calls(read);
        const auto& results = read.vectors_in("functions").at("results").as_array();
        ASSERT_FALSE(results.empty());
        for (const auto& vector : results) {
            const Bytes data = hex(vector.at("data"));
            EXPECT_EQ(to_hex(read.encode_result(vector.at("value"))), to_hex(data));
            EXPECT_EQ(read.decode_result(data), vector.at("value"));
            expect_only_whole(data, [&](View bytes) { return read.decode_result(bytes).has_value(); });
        }
    }
}

TEST(InterfaceVectors, EventsHaveTheseTopicsAndData) {
    for (std::size_t i = 0; i < events().size(); ++i) {
        const Ours& event = events()[i];
        SCOPED_TRACE(event.where());
        const json::object& entry = event.vectors_in("events");
        EXPECT_EQ(event.signature, text(entry.at("signature")));
        EXPECT_EQ(to_0x(view(abi::topic(event.signature))), text(entry.at("topic0")));
        ASSERT_FALSE(entry.at("logs").as_array().empty());
        for (const auto& vector : entry.at("logs").as_array()) {
            ledger::Log log{address_of(event.contract), {}, hex(vector.at("data"))};
            for (const auto& topic : vector.at("topics").as_array()) log.topics.push_back(to_hash32(hex(topic)));
            EXPECT_TRUE(event.log(vector.at("args")) == log);
            EXPECT_EQ(event.decode_log(log), vector.at("args"));
            const auto any = decode_any_event(log);
            EXPECT_TRUE(any.has_value() && any->index() == i);
            expect_only_whole(log.data, [&](View bytes) {
                return decode_any_event({log.address, log.topics, to_bytes(bytes)}).has_value();
            });
            ledger::Log other = log;
            other.topics.emplace_back();
            EXPECT_FALSE(decode_any_event(other).has_value()) << "a topic too many";
            other.topics.resize(log.topics.size() - 1);
            EXPECT_FALSE(decode_any_event(other).has_value()) << "a topic too few";
        }
    }
}

TEST(InterfaceVectors, TheErrorCarriesCodeAndSlug) {
    for (const Contract contract : kContracts) {
        for (const auto& entry : of_contract(contract).at("errors").as_array()) {
            ASSERT_EQ(text(entry.at("name")), Refused::kName) << "the only error";
            EXPECT_EQ(signature_of<Refused>(), text(entry.at("signature")));
            EXPECT_EQ(shown(abi::selector(signature_of<Refused>())), text(entry.at("selector")));
            for (const auto& vector : entry.at("reverts").as_array()) {
                const Bytes data = hex(vector.at("data"));
                EXPECT_EQ(to_hex(calldata(made<Refused>(vector.at("args")))), to_hex(data));
                EXPECT_EQ(shown(decode_refusal(data)), vector.at("args"));
                expect_only_whole(data, [](View bytes) { return decode_refusal(bytes).has_value(); });
            }
        }
    }
}

/// The executor on a state with the data of the vectors, called as other people's wallets do.
class Executed : public testing::Test {
protected:
    Executed() { executor.genesis(state, market::encode(small_params())); }
    ledger::CallResult call(Contract contract, Bytes data) const {
        return executor.view_call(state, block, {party("bob"), address_of(contract), 0, data, kGas});
    }
    /// Returns "" if the call succeeded, else the slug of its refusal.
    std::string refusal(Contract contract, Bytes data) const {
        const auto result = call(contract, std::move(data));
        return result.ok ? "" : decode_refusal(result.output).value().slug;
    }
    /// Reading the record that the vector stores under `key` gives the vector's result.
    template <class Read, class KeyOf>
    void expect_answer(const KeyOf& key_of) {
        const json::object& entry = named_alike<Read>().vectors_in("functions");
        const json::value& asked = entry.at("calls").as_array()[0];
        for (const auto& result : entry.at("results").as_array()) {
            store(state, key_of(made<Read>(asked.at("args"))), made<typename Read::Answer>(result.at("value")));
            const auto answer = call(Read::kContract, hex(asked.at("data")));
            EXPECT_TRUE(answer.ok) << Read::kName;
            EXPECT_EQ(to_0x(answer.output), text(result.at("data"))) << Read::kName;
        }
    }
    static constexpr std::uint64_t kGas = 1'000'000'000'000;
    EmptyView empty;
    ledger::State state{empty};
    Executor executor;
    ledger::BlockContext block;
};

TEST_F(Executed, EverySelectorIsItsOwnContractsAlone) {
    for (const auto* all : {&calls(), &reads()}) {
        for (const Ours& ours : *all) {
            SCOPED_TRACE(ours.where());
            for (const auto& vector : ours.vectors_in("functions").at("calls").as_array()) {
                const Bytes data = hex(vector.at("data"));
                for (const Contract contract : kContracts) {
                    const std::string slug = refusal(contract, data);
                    EXPECT_EQ(slug == "unknown_method", contract != ours.contract) << interface_name(contract);
                    EXPECT_NE(slug, "bad_arguments");
                }
                Bytes longer = data;
                longer.push_back(0);
                EXPECT_EQ(refusal(ours.contract, longer), "bad_arguments");
                for (std::size_t size = 4; size < data.size(); ++size)
                    EXPECT_EQ(refusal(ours.contract, to_bytes(View(data).first(size))), "bad_arguments");
            }
        }
    }
}

TEST_F(Executed, ARefusedCallRevertsWithTheseBytes) {
    for (const Contract contract : kContracts) {
        const json::value& vector = of_contract(contract).at("errors").at(0).at("reverts").at(0);
        ASSERT_EQ(text(vector.at("args").at("slug")), "unknown_method");
        EXPECT_EQ(to_0x(call(contract, Bytes{1, 2, 3, 4}).output), text(vector.at("data")));
    }
}

TEST_F(Executed, RecordsAreAnsweredWithTheseBytes) {
    expect_answer<ReadStake>([](const auto& call) { return keys::stake(call.party); });
    expect_answer<ReadVerifier>([](const auto& call) { return keys::verifier(call.party); });
    expect_answer<ReadSolver>([](const auto& call) { return keys::solver(call.party); });
    expect_answer<ReadBeacon>([](const auto&) { return keys::beacon(); });
    expect_answer<ReadParams>([](const auto&) { return keys::params(); });
    expect_answer<ReadSpec>([](const auto& call) { return keys::spec(call.task); });
    expect_answer<ReadBid>([](const auto& call) { return keys::bid(call.task, call.bidder); });
    expect_answer<ReadCheckpoint>([](const auto& call) { return keys::checkpoint(call.task, call.run, call.index); });
}

}  // namespace
}  // namespace retrace::contracts
