// SPDX-License-Identifier: MIT
#include "contracts/calls/encode.hpp"

#include <algorithm>

#include "contracts/calls/encode_templates.hpp"

namespace retrace::contracts {
namespace {

/// Returns the types of the indexed and of the other fields of an event.
template <class Event>
std::pair<abi::Type, abi::Type> split_types() {
    abi::Type all = abi::type_of<Event>(), rest = all;
    all.parts.resize(Event::kIndexed);
    rest.parts.erase(rest.parts.begin(), rest.parts.begin() + Event::kIndexed);
    return {all, rest};
}

template <class Event>
const Hash32& topic_of() {
    static const Hash32 topic = abi::topic(signature_of<Event>());
    return topic;
}

template <std::size_t... I>
std::optional<AnyEvent> decode_each(const ledger::Log& log, std::index_sequence<I...>) {
    std::optional<AnyEvent> out;
    const auto attempt = [&]<class Event>(std::type_identity<Event>) {
        if (auto event = decode_event<Event>(log)) out = std::move(*event);
        return out.has_value();
    };
    (void)(attempt(std::type_identity<std::variant_alternative_t<I, AnyEvent>>{}) || ...);
    return out;
}

}  // namespace

template <class Event>
ledger::Log to_log(const Event& event) {
    ledger::Log log{address_of(Event::kContract), {topic_of<Event>()}, {}};
    abi::Value value = abi::to_value(event);
    auto& fields = std::get<abi::List>(value.data);
    for (std::size_t i = 0; i < Event::kIndexed; ++i) log.topics.push_back(abi::indexed_topic(fields[i]));
    fields.erase(fields.begin(), fields.begin() + Event::kIndexed);
    log.data = abi::encode(split_types<Event>().second, value);
    return log;
}

template <class Event>
std::optional<Event> decode_event(const ledger::Log& log) {
    if (log.address != address_of(Event::kContract) || log.topics.size() != 1 + Event::kIndexed ||
        log.topics[0] != topic_of<Event>())
        return std::nullopt;
    static const auto types = split_types<Event>();
    // Indexed fields are all static, so their topics are their encoding.
    Bytes head;
    for (std::size_t i = 1; i < log.topics.size(); ++i)
        head.insert(head.end(), log.topics[i].bytes.begin(), log.topics[i].bytes.end());
    auto indexed = abi::decode(types.first, head);
    auto rest = abi::decode(types.second, log.data);
    if (!indexed || !rest) return std::nullopt;
    auto& fields = std::get<abi::List>(indexed->data);
    for (abi::Value& value : std::get<abi::List>(rest->data)) fields.push_back(std::move(value));
    Event event;
    abi::from_value(*indexed, event);
    return event;
}

std::optional<AnyEvent> decode_any_event(const ledger::Log& log) {
    return decode_each(log, std::make_index_sequence<std::variant_size_v<AnyEvent>>{});
}

std::optional<Refused> decode_refusal(View revert_data) {
    static const Bytes prefix = selector_bytes(abi::selector(signature_of<Refused>()));
    if (revert_data.size() < prefix.size() || !equal(revert_data.first(prefix.size()), prefix)) return std::nullopt;
    auto refused = abi::decode_struct<Refused>(revert_data.subspan(prefix.size()));
    if (!refused) return std::nullopt;
    return std::move(*refused);
}

template Bytes calldata(const Refused&);
template std::string signature_of<Refused>();

// Taking the addresses instantiates the templates; a new payload or event is covered through the variants.
namespace {

template <class... Call>
auto instantiate_calls(std::type_identity<std::variant<Call...>>) {
    return std::tuple{std::pair{&calldata<Call>, &signature_of<Call>}...};
}
template <class... Event>
auto instantiate_events(std::type_identity<std::variant<Event...>>) {
    return std::tuple{std::tuple{&to_log<Event>, &decode_event<Event>, &signature_of<Event>}...};
}
[[gnu::used]] const auto kCallFunctions = instantiate_calls(std::type_identity<AnyCall>{});
[[gnu::used]] const auto kEventFunctions = instantiate_events(std::type_identity<AnyEvent>{});

}  // namespace

}  // namespace retrace::contracts
