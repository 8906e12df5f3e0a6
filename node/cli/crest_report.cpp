// SPDX-License-Identifier: MIT
#include "node/cli/crest_report.hpp"

#include <boost/json/object.hpp>
#include <iomanip>
#include <sstream>

namespace retrace::node::cli {
namespace {

constexpr double kManyOutliers = 0.01;  ///< Of an operand's blocks: worth a word.

}  // namespace

std::string crest_text(const std::optional<kernels::CrestSummary>& crest) {
    if (!crest) return "not known: no product by digits has a block of finite values";
    const kernels::ProductCrest& most = crest->most;
    std::ostringstream out;
    out << std::fixed << std::setprecision(1) << "crest of blocks " << crest->median << ", "
        << std::setprecision(2) << 100 * crest->outliers << " % of " << crest->blocks << " hold an outlier";
    if (most.outliers < kManyOutliers) return out.str();
    if (most.slices == 3) return out.str() + ", in products by i8x3";
    out << "\n             " << 100 * most.outliers << " % in op " << most.op << " (matmul by i8x" << most.slices
        << (most.input == 0 ? ", left" : ", right")
        << " factor): its other values have fewer digits there; `task compile --precision i8x3` gives more";
    return out.str();
}

boost::json::value crest_json(const std::optional<kernels::CrestSummary>& crest) {
    if (!crest) return nullptr;
    return boost::json::object{{"blocks", crest->blocks},
                               {"median", crest->median},
                               {"outliers", crest->outliers},
                               {"most",
                                {{"op", crest->most.op},
                                 {"input", crest->most.input},
                                 {"slices", crest->most.slices},
                                 {"outliers", crest->most.outliers},
                                 {"worst", crest->most.worst}}}};
}

}  // namespace retrace::node::cli
