// SPDX-License-Identifier: MIT
// The state while a block executes: an overlay over a StateView with a journal, so that a refused call leaves no
// changes. Its only output is a StateDiff.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ledger/state/view.hpp"

namespace retrace::ledger {

struct SlotKey {
    Address contract;
    Bytes key;
    auto operator<=>(const SlotKey&) const = default;
};

/// A key to look up without copying it.
struct SlotRef {
    Address contract;
    View key;
};
struct SlotLess {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
        if (a.contract != b.contract) return a.contract < b.contract;
        return std::lexicographical_compare(a.key.begin(), a.key.end(), b.key.begin(), b.key.end());
    }
};
using SlotMap = std::map<SlotKey, Bytes, SlotLess>;

/// Final values of everything that changed, ordered because consensus code iterates it.
struct StateDiff {
    std::map<Address, Account> accounts;
    SlotMap slots;  ///< Empty bytes: the slot is removed.
    bool empty() const noexcept { return accounts.empty() && slots.empty(); }
};

class State final : public StateView {
public:
    /// `base` outlives the State.
    explicit State(const StateView& base) : base_(base) {}
    /// Not copyable: `State(other)` would look like an overlay on `other` but be a copy. See `over`.
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    /// An overlay on any view, including a State.
    static State over(const StateView& base) { return State(base); }

    Account account(const Address& address) const override;
    Bytes slot(const Address& contract, View key) const override;

    void set_account(const Address& address, const Account& account);
    void set_slot(const Address& contract, View key, Bytes value);  ///< Empty value removes the slot.

    /// Moves `amount`; false, without a change, when the balance is too low.
    [[nodiscard]] bool transfer(const Address& from, const Address& to, const U256& amount);
    /// Destroys `amount`; false when the balance is too low. The caller accounts for the burn.
    [[nodiscard]] bool debit(const Address& from, const U256& amount);
    void credit(const Address& to, const U256& amount);

    using Mark = std::size_t;
    Mark mark() const noexcept { return journal_.size(); }
    void revert(Mark mark);  ///< Undoes everything after `mark`.

    StateDiff diff() const;  ///< Difference to the base; entries that ended with their original value are left out.
    /// Takes over the final values of an overlay on this State. Not journaled: `revert` does not undo it.
    void apply(const StateDiff& diff);
    void clear();

private:
    struct Change {  // the value before the change, for revert
        bool is_account = false;
        Address address;
        Bytes key;
        std::optional<Account> account;
        std::optional<Bytes> value;
    };
    const StateView& base_;
    std::map<Address, Account> accounts_;
    SlotMap slots_;
    std::vector<Change> journal_;
};

}  // namespace retrace::ledger
