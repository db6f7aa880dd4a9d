// The store that is frozen for a format version: how it was made, and what one reads in it.
//
// A store is made once, when a format version is settled, by `test_compat --make tests/compat/format-N`; from then on
// its bytes and the answers beside them never change, and every later weft must read the one and give the other.
// Threading: one thread.
#pragma once

#include <string>

#include "cli/testing/golden.h"

namespace weft::compat {

/// Fills the machine's directory: a store with everything its format knows. `helper`: host path of weft-git.
void make_store(cli::testing::Machine& machine, const std::string& helper);

/// What is asked of it, and the answers, as a transcript.
std::string ask(cli::testing::Machine& machine);

}  // namespace weft::compat
