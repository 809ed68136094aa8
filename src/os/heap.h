// The heap of this process.
#pragma once

#include <cstddef>

namespace spate::os {

// Freed memory, up to this many bytes of each arena, and blocks up to half of that, stays with the
// process for what is allocated next; with the C library's own bounds blocks of some MB that come
// and go cost more in page faults than in copies. Bounds that the user has set ($MALLOC_...)
// remain. Without effect where the C library has no such bounds.
void KeepFreedMemory(size_t bytes);

}  // namespace spate::os
