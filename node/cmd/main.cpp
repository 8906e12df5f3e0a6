// SPDX-License-Identifier: MIT
#include "node/cmd/cli.hpp"

int main(int argc, char** argv) { return retrace::node::cli::run_main(argc, argv); }
