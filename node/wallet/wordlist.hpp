// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace retrace::node::wallet {

/// 2048 words in order, one space between them.
extern const std::string_view kEnglishWords;

}  // namespace retrace::node::wallet
