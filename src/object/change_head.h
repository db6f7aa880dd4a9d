// A change without its ops: who, when, why, what it stands on and what it gave. What a log shows of it; the ops of one
// change can be thousands. Pure function of bytes.
#pragma once

#include "object/change.h"
#include "object/object.h"

namespace weft::object {

/// As decode_change, but `ops` is empty and nothing behind the extra headers is looked at: for showing, never for
/// building upon. damaged where the head itself is.
Result<Change> decode_change_head(ByteView encoded);
Result<Change> read_change_head(const ObjectReader& reader, const ChangeId& id);

}  // namespace weft::object
