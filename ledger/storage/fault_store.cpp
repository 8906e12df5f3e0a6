// SPDX-License-Identifier: MIT
#include "ledger/storage/fault_store.hpp"

#include <algorithm>

namespace retrace::ledger {

Status<> FaultStore::write(const Batch& batch, bool sync) {
    if (off_) return error("the machine is off");
    last_ops_ = batch.ops.size();
    if (++writes_ != nth_ || fault_ == Fault::none) return beneath_.write(batch, sync);
    if (fault_ == Fault::drop) return Unit{};
    off_ = true;
    if (fault_ == Fault::fail_written) RETRACE_CHECK(beneath_.write(batch, sync));
    if (fault_ == Fault::tear) {
        Batch torn;
        const auto size = static_cast<std::ptrdiff_t>(std::min(torn_ops_, batch.ops.size()));
        torn.ops.assign(batch.ops.begin(), batch.ops.begin() + size);
        RETRACE_CHECK(beneath_.write(torn, sync));
    }
    return error("input/output error");
}

}  // namespace retrace::ledger
