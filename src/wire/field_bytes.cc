#include "wire/field_bytes.h"

#include <fmt/format.h>

namespace spate::wire::internal {
namespace {

constexpr uint32_t kMostNumber = (1u << 29) - 1;  // protobuf's own bound

// At most ten bytes; the tenth holds one bit.
bool TakeVarint(std::string_view& rest, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    auto byte = static_cast<uint8_t>(rest.front());
    rest.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool TakeFixed(std::string_view& rest, size_t size, uint64_t& value) {
  if (rest.size() < size) return false;
  value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(rest[i]);
  rest.remove_prefix(size);
  return true;
}

}  // namespace

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void FieldWriter::PutText(uint32_t number, std::string_view text) {
  Tag(number, Bits::kLength);
  AppendVarint(out_, text.size());
  out_ += text;
}

void FieldWriter::PutDouble(uint32_t number, double value) {
  Tag(number, Bits::kFixed64);
  auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 8; ++i) out_ += static_cast<char>(bits >> (8 * i));
}

bool TakeField(std::string_view& rest, RawField& field) {
  uint64_t tag;
  if (!TakeVarint(rest, tag) || tag >> 3 == 0 || tag >> 3 > kMostNumber) return false;
  field = {.number = static_cast<uint32_t>(tag >> 3), .bits = static_cast<Bits>(tag & 7)};
  switch (field.bits) {
    case Bits::kVarint:
      return TakeVarint(rest, field.value);
    case Bits::kFixed64:
      return TakeFixed(rest, 8, field.value);
    case Bits::kLength:
      if (!TakeVarint(rest, field.value) || field.value > rest.size()) return false;
      field.bytes = rest.substr(0, field.value);
      rest.remove_prefix(field.bytes.size());
      return true;
    default:
      return false;
  }
}

void FieldParser::Defect(std::string_view field, std::string_view what) {
  if (!ok()) return;
  defect_ = field.empty() ? fmt::format("the message {}", what) : fmt::format("{} {}", field, what);
}

}  // namespace spate::wire::internal
