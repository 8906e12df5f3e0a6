// SPDX-License-Identifier: MIT
// What differential privacy a training with noise gives.
#pragma once

#include <cstdint>

#include "merkle/base/result.hpp"

namespace retrace::node {

/// A training whose gradients have a bounded part of each example and Gaussian noise.
struct PrivacySpec {
    double noise = 0;        ///< σ: the noise's deviation, over the bound of one example's part.
    std::uint64_t uses = 0;  ///< Steps that use an example: one an epoch.
    double delta = 1e-5;
};

/// Returns ε: the training is (ε, δ)-differentially private for one example. The order of the data is public, so the
/// choice of samples hides nothing, and each use costs a Gaussian mechanism: ε is the least, over orders α > 1, of uses ·
/// α / (2σ²) + ln((α - 1) / α) - (ln δ + ln α) / (α - 1) (Mironov 2017; Canonne, Kamath and Steinke 2020). Errors: noise
/// that is no finite number over 0, no uses, δ outside (0, 1).
Result<double> epsilon(const PrivacySpec& spec);
/// Returns the least noise with which ε is at most `wanted`; `spec.noise` is ignored. Errors: as above, and a `wanted`
/// that is no finite number over 0.
Result<double> noise_for(PrivacySpec spec, double wanted);

}  // namespace retrace::node
