// How much a batch weighs in a store's queue.
#pragma once

#include <cstdint>

#include "store/store.h"

namespace spate::store {

// Bytes of memory that a queued batch takes, about. Cheap: looks at each record and row once.
uint64_t BatchBytes(const Batch& batch);

}  // namespace spate::store
