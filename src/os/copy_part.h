// Copies a part of a file into a pipe, without its bytes passing through this process.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace spate::os {

enum class Copied : uint8_t { kAll, kReaderGone };
// `length` bytes from `offset` on. SIGPIPE must be ignored. Errors: the file cannot be read, or
// ends before (kInvalid); `name` is for the message.
Result<Copied> CopyPart(int from, uint64_t offset, uint64_t length, int to, std::string_view name);

}  // namespace spate::os
