// SPDX-License-Identifier: MIT
// What a test that measures time or memory has to know of its own build.
#pragma once

namespace retrace::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// Processor time of a dispute's last move on the ledger; checked memory is several times slower.
inline constexpr double kRefereeMs = kSanitized ? 20.0 : 1.0;

}  // namespace retrace::test
