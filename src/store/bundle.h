// How much a bundle weighs in a store's queue.
#pragma once

#include <cstdint>

#include "store/store.h"

namespace spate::store {

// Bytes of memory that a queued bundle takes, about. Cheap: looks at each record and row once.
uint64_t BundleBytes(const Bundle& bundle);

}  // namespace spate::store
