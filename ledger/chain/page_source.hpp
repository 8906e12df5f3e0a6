// SPDX-License-Identifier: MIT
// Source of the pages that a change of the state tree reads: the database, and memory for the upper levels, which
// nearly every block uses.
#pragma once

#include <memory>
#include <vector>

#include "ledger/chain/tree_page.hpp"
#include "ledger/storage/store.hpp"

namespace retrace::ledger {

struct PageChange {
    Bytes key;   ///< Store key of the page's top.
    Bytes page;  ///< The new page; empty: the page is removed.
    Bytes undo;  ///< Patch that turns it back into the previous page.
    bool operator==(const PageChange&) const = default;
};

/// A page that was read for a change.
struct OpenPage {
    Bytes key;
    bool damaged = false;  ///< The stored bytes are not a valid page.
    TreePage before;
    Branch places{};  ///< The sixteen subtrees of `before`, for either kind of page.
    TreePage after;
};

/// Pages after the tip. Reads are thread-safe, but must not run during `keep_upper` and `take_over`.
class PageSource {
public:
    /// `store` outlives the source.
    explicit PageSource(const Store& store) : store_(store) {}

    /// Reads the pages of the first sixteen levels (4,369 at most, 2.3 MiB) into memory.
    void keep_upper();
    /// Updates the pages in memory after `changes` were written to the store.
    void take_over(const std::vector<PageChange>& changes);

    std::unique_ptr<OpenPage> open(Bytes key) const;
    /// The same for many keys, ascending, distinct and all of one depth.
    std::vector<std::unique_ptr<OpenPage>> open_all(std::vector<Bytes> keys) const;

private:
    const Store& store_;
    std::vector<Bytes> upper_;  ///< Level by level; empty: nothing is kept in memory.
};

}  // namespace retrace::ledger
