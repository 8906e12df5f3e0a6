// SPDX-License-Identifier: MIT
#include "node/cmd/outlier_report.hpp"

#include <boost/json/object.hpp>
#include <iomanip>
#include <new>
#include <sstream>

#include "node/platform/machine_memory.hpp"

namespace retrace::node::cli {
namespace {

constexpr double kManyOutliers = 0.01;  ///< Share of an operand's blocks above which it is reported.

std::string outliers_text(const kernels::OutlierSummary& found) {
    const kernels::ProductOutliers& most = found.most;
    std::ostringstream out;
    out << std::fixed << std::setprecision(1) << "crest factor of blocks " << found.median << ", "
        << std::setprecision(2) << 100 * found.outliers << " % of " << found.blocks << " hold an outlier";
    if (most.outliers < kManyOutliers) return out.str();
    if (most.slices == 3) return out.str() + ", in products by i8x3";
    out << "\n             " << 100 * most.outliers << " % in op " << most.op << " (matmul by i8x" << most.slices
        << (most.input == 0 ? ", left" : ", right")
        << " factor): its other values have fewer digits there; `task compile --precision i8x3` gives more";
    return out.str();
}

boost::json::value outliers_json(const kernels::OutlierSummary& found) {
    return boost::json::object{{"blocks", found.blocks},
                               {"median", found.median},
                               {"outliers", found.outliers},
                               {"most",
                                {{"op", found.most.op},
                                 {"input", found.most.input},
                                 {"slices", found.most.slices},
                                 {"outliers", found.most.outliers},
                                 {"worst", found.most.worst}}}};
}

}  // namespace

OutlierSampling sample_outliers(kernels::Executor& executor, const kernels::Program& program,
                                const kernels::State& state, const kernels::Inputs& inputs) {
    const std::uint64_t needed = executor.dispute_bytes(), available = memory_left();
    if (needed > available) {
        return {
            "not measured: " + std::to_string(needed) + " bytes needed, " + std::to_string(available) + " available",
            nullptr};
    }
    try {
        const auto found = kernels::summary_of(kernels::product_outliers(executor, program, state, inputs));
        if (!found) return {"not known: no product by digits has a block of finite values", nullptr};
        return {outliers_text(*found), outliers_json(*found)};
    } catch (const std::bad_alloc&) {
        return {"not measured: memory could not be allocated; close other programs", nullptr};
    }
}

}  // namespace retrace::node::cli
