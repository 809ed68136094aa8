#include "core/model/field_bytes.h"

#include <fmt/format.h>

#include <algorithm>

namespace spate {

std::string CutText(std::string_view text, uint64_t most) {
  constexpr std::string_view kCut = " ...";
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, most - kCut.size())).append(kCut);
}

namespace internal {
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
bool DecodeLongVarint(std::string_view& rest, uint64_t& value) {
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

void AppendLongVarint(std::string& out, uint64_t value) {
  char bytes[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
  bytes[size++] = static_cast<char>(value);
  out.append(bytes, size);
}

size_t CountVarints(std::string_view bytes) {
  return static_cast<size_t>(
      std::ranges::count_if(bytes, [](char byte) { return (byte & 0x80) == 0; }));
}

void FieldWriter::SetLength(size_t begin, size_t body) {
  const size_t size = out_.size() - body;
  if (size < 0x80 && body - begin == 1) {
    out_[begin] = static_cast<char>(size);
    return;
  }
  std::string length;
  AppendVarint(length, size);
  out_.replace(begin, body - begin, length);
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

void FieldWriter::Append(uint32_t number, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  const auto append = [&] {
    PutLength(
        1,
        [&] {
          for (const std::string& text : texts) AppendVarint(out_, text.size());
        },
        texts.size());
    if (bytes == 0) return;
    Tag(2, Bits::kLength);
    AppendVarint(out_, bytes);
    for (const std::string& text : texts) out_ += text;
  };
  PutLength(number, append, bytes + texts.size());
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
    case Bits::kFixed32:
      return TakeFixed(rest, 4, field.value);
    case Bits::kLength:
      if (!DecodeVarint(rest, field.value) || field.value > rest.size()) return false;
      field.bytes = rest.substr(0, field.value);
      rest.remove_prefix(field.bytes.size());
      return true;
    default:
      return false;
  }
}

void FieldParser::Parse(std::string_view name, const RawField& field,
                        std::vector<std::string>& texts) {
  std::string_view lengths, bytes;
  if (Is(name, field, Bits::kLength)) SplitTexts(name, field.bytes, lengths, bytes);
  const size_t count = CountVarints(lengths);
  if (count > most_elements_ - elements_) return Defect(name, "makes the message too long");
  elements_ += static_cast<uint32_t>(count);
  texts.reserve(count);
  while (!lengths.empty() && ok()) {
    uint64_t length = 0;
    if (!DecodeVarint(lengths, length)) Defect(name, "is cut off");
    if (length > bytes.size()) Defect(name, "has fewer bytes than its lengths say");
    if (!ok()) return;
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) Defect(name, "has more bytes than its lengths say");
}

void FieldParser::SplitTexts(std::string_view name, std::string_view message,
                             std::string_view& lengths, std::string_view& bytes) {
  RawField part;
  while (!message.empty()) {
    if (!DecodeField(message, part)) return Defect(name, "is cut off");
    if (part.number > 2) continue;
    std::string_view& to = part.number == 1 ? lengths : bytes;
    if (!Is(name, part, Bits::kLength)) return;
    if (!to.empty()) return Defect(name, "occurs twice");
    to = part.bytes;
  }
}

void FieldParser::Defect(std::string_view field, std::string_view what, std::string_view of) {
  if (!ok()) return;
  path_ = field_ = field;
  what_.append(what).append(of);
}

std::string_view FieldParser::path() const {
  std::string_view path = path_;
  if (path.ends_with('.')) path.remove_suffix(1);
  return path;
}

std::string FieldParser::defect() const {
  return fmt::format("{} {}", field_.empty() ? "the message" : field_, what_);
}

}  // namespace internal
}  // namespace spate
