// The bytes of fields (core/model/field_bytes.h), within what a message may hold.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/field_bytes.h"
#include "wire/limits.h"

namespace spate::wire {

using spate::AppendBytes;
using spate::BytesOf;

// Limit over all lists of a message: what a stranger's message may cost in memory.
inline constexpr uint32_t kMostElements = 200'000;

// kCorrupt: they are none of a T, or have more elements, or a longer time, than a message may; what
// is our own may have more. `name` is for the error.
template <HasFields T>
Result<T> FromBytes(std::string_view name, std::string_view bytes,
                    uint32_t most_elements = kMostElements,
                    Duration longest = kWireLimits.longest) {
  return spate::FromBytes<T>(name, bytes, most_elements, longest);
}

}  // namespace spate::wire
