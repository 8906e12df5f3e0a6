// SPDX-License-Identifier: MIT
#include "node/cli/cli.hpp"

int main(int argc, char** argv) {
    return retrace::node::cli::run_main(argc, argv);
}
