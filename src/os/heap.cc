#include "os/heap.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>

namespace spate::os {

void KeepFreedMemory([[maybe_unused]] size_t bytes) {
#ifdef __GLIBC__
  constexpr size_t kBlockMost = 32u << 20;  // DEFAULT_MMAP_THRESHOLD_MAX
  for (const char* own : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(own) != nullptr) return;
  }
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(std::min(bytes / 2, kBlockMost)));
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(bytes));
#endif
}

}  // namespace spate::os
