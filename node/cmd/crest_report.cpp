// SPDX-License-Identifier: MIT
#include "node/cmd/crest_report.hpp"

#include <boost/json/object.hpp>
#include <iomanip>
#include <new>
#include <sstream>

#include "node/platform/machine_memory.hpp"

namespace retrace::node::cli {
namespace {

constexpr double kManyOutliers = 0.01;  ///< Of an operand's blocks: worth a word.

std::string crest_text(const kernels::CrestSummary& crest) {
    const kernels::ProductCrest& most = crest.most;
    std::ostringstream out;
    out << std::fixed << std::setprecision(1) << "crest of blocks " << crest.median << ", "
        << std::setprecision(2) << 100 * crest.outliers << " % of " << crest.blocks << " hold an outlier";
    if (most.outliers < kManyOutliers) return out.str();
    if (most.slices == 3) return out.str() + ", in products by i8x3";
    out << "\n             " << 100 * most.outliers << " % in op " << most.op << " (matmul by i8x" << most.slices
        << (most.input == 0 ? ", left" : ", right")
        << " factor): its other values have fewer digits there; `task compile --precision i8x3` gives more";
    return out.str();
}

boost::json::value crest_json(const kernels::CrestSummary& crest) {
    return boost::json::object{{"blocks", crest.blocks},
                               {"median", crest.median},
                               {"outliers", crest.outliers},
                               {"most",
                                {{"op", crest.most.op},
                                 {"input", crest.most.input},
                                 {"slices", crest.most.slices},
                                 {"outliers", crest.most.outliers},
                                 {"worst", crest.most.worst}}}};
}

}  // namespace

CrestLook look_at_crest(kernels::Executor& executor, const kernels::Program& program, const kernels::State& state,
                        const kernels::Inputs& inputs) {
    const std::uint64_t needed = executor.dispute_bytes(), available = memory_left();
    if (needed > available) {
        return {"not looked at: it takes " + std::to_string(needed) + " bytes and this machine has " +
                    std::to_string(available) + " available",
                nullptr};
    }
    try {
        const auto crest = kernels::summary_of(kernels::product_crests(executor, program, state, inputs));
        if (!crest) return {"not known: no product by digits has a block of finite values", nullptr};
        return {crest_text(*crest), crest_json(*crest)};
    } catch (const std::bad_alloc&) {
        return {"not looked at: this machine does not give the memory", nullptr};
    }
}

}  // namespace retrace::node::cli
