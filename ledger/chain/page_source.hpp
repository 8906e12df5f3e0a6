// SPDX-License-Identifier: MIT
// Where a change of the state tree reads its pages: the data base, and memory for the upper levels, which
// nearly every block passes through.
#pragma once

#include <memory>
#include <vector>

#include "ledger/chain/tree_page.hpp"
#include "ledger/storage/store.hpp"

namespace retrace::ledger {

struct PageChange {
    Bytes key;   ///< Store key of the page's top.
    Bytes page;  ///< As it stands now; empty: there is none any more.
    Bytes undo;  ///< Patch that makes of it what stood there before.
    bool operator==(const PageChange&) const = default;
};

/// A page as it is read for a change.
struct OpenPage {
    Bytes key;
    bool damaged = false;  ///< What is stored there is no page.
    TreePage before;
    Branch places{};  ///< The sixteen subtrees of `before`, whichever kind it is.
    TreePage after;
};

/// Pages after the tip. Reading is for any thread; `keep_upper` and `take_over` are not, while one reads.
class PageSource {
public:
    /// `store` outlives the source.
    explicit PageSource(const Store& store) : store_(store) {}

    /// Reads the pages of the first sixteen levels (4,369 at most, 2.3 MiB) into memory.
    void keep_upper();
    /// What was written to the store.
    void take_over(const std::vector<PageChange>& changes);

    std::unique_ptr<OpenPage> open(Bytes key) const;
    /// The same for many keys, ascending and none twice, all of one depth.
    std::vector<std::unique_ptr<OpenPage>> open_all(std::vector<Bytes> keys) const;

private:
    const Store& store_;
    std::vector<Bytes> upper_;  ///< Level by level; empty: not kept.
};

}  // namespace retrace::ledger
