// SPDX-License-Identifier: MIT
// The parts of Boost.Asio and Boost.Beast that are no templates, compiled once instead of in each file that includes
// them (BOOST_ASIO_SEPARATE_COMPILATION and BOOST_BEAST_SEPARATE_COMPILATION in node/CMakeLists.txt).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
