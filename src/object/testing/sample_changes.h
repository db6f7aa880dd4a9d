// Changes for tests and fuzz corpora: every op, every optional field, chosen by a seed.
#pragma once

#include <cstdint>

#include "object/change.h"

namespace weft::object::testing {

/// Valid by check_change; the same for the same seed.
Change sample_change(std::uint64_t seed);
/// What a person's or agent's commit of one edited file looks like.
Change one_file_edit();

}  // namespace weft::object::testing
