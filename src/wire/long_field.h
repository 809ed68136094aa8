// Fields of protobuf's messages that may be long: read and written where they are, because an
// object of protobuf would have a copy of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace spate::wire {

struct LongField {
  std::string_view bytes;  // in the message; empty: the message has no such field
  std::string rest;        // the message without it
};
// Takes the field `number`, of the type `bytes`, out of a message. kCorrupt: these are no fields,
// or the message has it twice.
Result<LongField> CutLongField(std::string_view message, uint32_t number);

// The same of a message that begins with the field and has no other; nullopt: it does not.
std::optional<std::string_view> OnlyField(std::string_view message, uint32_t number);

// Appends what comes before the `size` bytes of the field: its tag and its length.
void AppendFieldHead(std::string& out, uint32_t number, size_t size);
// The length of that.
size_t FieldHeadSize(uint32_t number, size_t size);

}  // namespace spate::wire
