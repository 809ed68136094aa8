// The journals of a hub, or of the runs in a state folder, as what people are told stands on.
#pragma once

#include <memory>

#include "store/history.h"

namespace spate::store {

// Opens nothing yet: each call opens what it reads.
std::shared_ptr<const History> OpenHistory(JobPlace place);

}  // namespace spate::store
