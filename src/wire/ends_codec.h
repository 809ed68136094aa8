// The codec of wire::Ends, the message that comes by far the most often.
#pragma once

#include <wire/spate.pb.h>

#include "wire/fields.h"
#include "wire/messages.h"

namespace spate::wire {

void PutEnds(pb::Ends& to, const Ends& ends);
Ends DecodeEnds(FieldReader& in, pb::Ends& from);

}  // namespace spate::wire
