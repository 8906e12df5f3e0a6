// SPDX-License-Identifier: MIT
#include "tests/simulation/trace.hpp"

#include "contracts/calls/encode.hpp"

namespace retrace::sim {
namespace {

/// Writes the fields of an event; the names come from its table.
struct Words {
    const Trace& trace;
    std::string out;

    void value(std::uint64_t number) { out += std::to_string(number); }
    void value(const ledger::U256& amount) { out += amount.to_decimal(); }
    void value(const Hash32& hash) { out += to_hex(view(hash)).substr(0, 12); }
    void value(const ledger::Address& address) { out += trace.name_of(address); }
    void value(const std::string& text) { out += text; }
    template <class Item>
    void value(const std::vector<Item>& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i != 0) out += ",";
            value(list[i]);
        }
    }
    template <class Event>
    void operator()(const Event& event) {
        out += Event::kName;
        const auto names = Event::names();
        std::size_t i = 0;
        std::apply([&](const auto&... fields) { ((out += " ", out += names[i++], out += "=", value(fields)), ...); },
                   Event::tie(event));
    }
};

}  // namespace

std::string Trace::name_of(const ledger::Address& address) const {
    const auto found = names_.find(address);
    if (found != names_.end()) return found->second;
    return address == ledger::Address{} ? "nobody" : ledger::to_0x(address);
}

void Trace::say(Millis now, std::string_view who, std::string_view what) {
    const std::string line = std::to_string(now) + " " + std::string(who) + ": " + std::string(what) + "\n";
    hash_ = merkle::sha256({view(hash_), view(std::string_view(line))});
    ++lines_;
    if (sink_) sink_(line);
    if (heard_) heard_(line);
}

void Trace::log(Millis now, std::uint64_t height, const ledger::Log& log) {
    Words words{*this, {}};
    if (const auto event = contracts::decode_any_event(log))
        std::visit(words, *event);
    else
        words.out = "an event that is none of ours";
    say(now, "block " + std::to_string(height), words.out);
}

}  // namespace retrace::sim
