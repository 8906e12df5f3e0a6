// SPDX-License-Identifier: MIT
// Changes one field of a call to a nearby value or to an edge value.
#pragma once

#include <limits>

#include "market/record.hpp"
#include "tests/stateful/draws.hpp"

namespace retrace::stateful {

class Mutator {
public:
    explicit Mutator(Draws& draws) : draws_(draws) {}

    template <class T>
    void change(T& value) {
        if constexpr (std::same_as<T, bool>)
            value = !value;
        else if constexpr (std::unsigned_integral<T>)
            change_number(value);
        else if constexpr (std::same_as<T, ledger::U256>)
            change_amount(value);
        else if constexpr (std::same_as<T, Hash32>)
            value.bytes[draws_.below(32)] ^= static_cast<std::uint8_t>(draws_.next());
        else if constexpr (std::same_as<T, ledger::Address>)
            value.bytes[draws_.below(20)] ^= static_cast<std::uint8_t>(draws_.next());
        else if constexpr (std::same_as<T, std::string>)
            value.assign(draws_.pick(lengths_), 'x');
        else if constexpr (market::Record<T>)
            change_field(value);
        else
            change_list(value);
    }
    template <class T>
    void fill(T& value) {
        if constexpr (std::same_as<T, bool>)
            value = draws_.one_in(2);
        else if constexpr (std::unsigned_integral<T>)
            value = static_cast<T>(draws_.below(draws_.one_in(8) ? 1'000'000 : 6));
        else if constexpr (std::same_as<T, ledger::U256>)
            value = ledger::U256(draws_.next());
        else if constexpr (std::same_as<T, Hash32> || std::same_as<T, ledger::Address>)
            value.bytes[0] = static_cast<std::uint8_t>(draws_.below(3));
        else if constexpr (std::same_as<T, std::string>)
            value = "x";
        else if constexpr (market::Record<T>)
            std::apply([&](auto&... field) { (fill(field), ...); }, T::tie(value));
        else {
            value.resize(draws_.below(5));
            for (auto& item : value) fill(item);
        }
    }

private:
    template <class T>
    void change_number(T& value) {
        switch (draws_.below(6)) {
            case 0: ++value; break;
            case 1: --value; break;
            case 2: value = 0; break;
            case 3: value = std::numeric_limits<T>::max(); break;
            case 4: value = static_cast<T>(draws_.below(12)); break;
            default: value = static_cast<T>(draws_.next() >> draws_.below(64)); break;
        }
    }
    void change_amount(ledger::U256& value) {
        switch (draws_.below(4)) {
            case 0: value = value == ledger::U256::max() ? value : value + ledger::U256(1); break;
            case 1: value = value.is_zero() ? value : value - ledger::U256(1); break;
            case 2: value = ledger::U256(); break;
            default: value = ledger::U256::max(); break;
        }
    }
    template <class T>
    void change_field(T& record) {
        auto fields = T::tie(record);
        constexpr std::size_t kFields = std::tuple_size_v<decltype(fields)>;
        const std::size_t which = draws_.below(kFields);
        std::size_t at = 0;
        std::apply([&](auto&... field) { ((at++ == which ? change(field) : void()), ...); }, fields);
    }
    template <class T>
    void change_list(T& list) {
        if (list.empty() || draws_.one_in(3))
            list.resize(list.size() + 1 + draws_.below(3));
        else if (draws_.one_in(2))
            list.pop_back();
        else
            change(list[draws_.below(list.size())]);
    }

    Draws& draws_;
    std::vector<std::size_t> lengths_{0, 1, 64, 65, 256, 257, 5'000};
};

}  // namespace retrace::stateful
