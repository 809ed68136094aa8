#include "core/model/field_bytes.h"

#include <fmt/format.h>

namespace spate::internal {
namespace {

constexpr uint32_t kMostNumber = (1u << 29) - 1;  // protobuf's own bound

bool TakeFixed(std::string_view& rest, size_t size, uint64_t& value) {
  if (rest.size() < size) return false;
  value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(rest[i]);
  rest.remove_prefix(size);
  return true;
}

// With a tag of one byte; none, where it is left out.
size_t SizeOfText(std::string_view text) {
  if (text.empty()) return 0;
  size_t size = 2 + text.size();
  for (size_t length = text.size(); length >= 0x80; length >>= 7) ++size;
  return size;
}

}  // namespace

// At most ten bytes; the tenth holds one bit.
bool DecodeVarint(std::string_view& rest, uint64_t& value) {
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

void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void FieldWriter::PutText(uint32_t number, std::string_view text) {
  Tag(number, Bits::kLength);
  AppendVarint(out_, text.size());
  out_ += text;
}

void FieldWriter::PutTexts(uint32_t number, std::string_view lengths, std::string_view bytes) {
  Tag(number, Bits::kLength);
  AppendVarint(out_, SizeOfText(lengths) + SizeOfText(bytes));
  if (!lengths.empty()) PutText(1, lengths);
  if (!bytes.empty()) PutText(2, bytes);
}

void FieldWriter::Put(uint32_t number, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  Column column;
  for (const std::string& text : texts) column.Add(text);
  PutTexts(number, column.numbers, column.bytes);
}

void FieldWriter::Column::Add(std::string_view text) {
  is_text = true;
  AppendVarint(numbers, text.size());
  bytes += text;
}

void FieldWriter::PutColumn(const Column& column) {
  if (column.number == 0) return;
  if (column.is_text) return PutTexts(column.number, column.numbers, column.bytes);
  PutText(column.number, column.numbers);
}

void FieldWriter::PutDouble(uint32_t number, double value) {
  Tag(number, Bits::kFixed64);
  auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 8; ++i) out_ += static_cast<char>(bits >> (8 * i));
}

bool DecodeField(std::string_view& rest, RawField& field) {
  uint64_t tag;
  if (!DecodeVarint(rest, tag) || tag >> 3 == 0 || tag >> 3 > kMostNumber) return false;
  field = {.number = static_cast<uint32_t>(tag >> 3), .bits = static_cast<Bits>(tag & 7)};
  switch (field.bits) {
    case Bits::kVarint:
      return DecodeVarint(rest, field.value);
    case Bits::kFixed64:
      return TakeFixed(rest, 8, field.value);
    case Bits::kLength:
      if (!DecodeVarint(rest, field.value) || field.value > rest.size()) return false;
      field.bytes = rest.substr(0, field.value);
      rest.remove_prefix(field.bytes.size());
      return true;
    default:
      return false;
  }
}

std::vector<std::string> FieldParser::TextsOf(std::string_view name, const RawField& field) {
  std::string_view lengths, bytes;
  if (Is(name, field, Bits::kLength)) SplitTexts(name, field.bytes, lengths, bytes);
  std::vector<std::string> texts;
  while (!lengths.empty() && ok()) {
    uint64_t length = 0;
    if (!DecodeVarint(lengths, length)) Defect(name, "is cut off");
    if (length > bytes.size()) Defect(name, "has fewer bytes than its lengths say");
    if (elements_++ == most_elements_) Defect(name, "makes the message too long");
    if (!ok()) break;
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) Defect(name, "has more bytes than its lengths say");
  return texts;
}

void FieldParser::SplitTexts(std::string_view name, std::string_view message,
                             std::string_view& lengths, std::string_view& bytes) {
  RawField part;
  while (!message.empty()) {
    if (!DecodeField(message, part)) return Defect(name, "is cut off");
    if (part.number == 1) lengths = part.bytes;
    if (part.number == 2) bytes = part.bytes;
  }
}

void FieldParser::Defect(std::string_view field, std::string_view what) {
  if (!ok()) return;
  field_ = field;
  what_ = what;
}

std::string FieldParser::defect() const {
  return fmt::format("{} {}", field_.empty() ? "the message" : field_, what_);
}

}  // namespace spate::internal
