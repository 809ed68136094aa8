#include "wire/long_field.h"

#include <google/protobuf/io/coded_stream.h>

#include <optional>

namespace spate::wire {
namespace {

using google::protobuf::io::CodedOutputStream;

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::optional<uint64_t> TakeVarint(std::string_view& from) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(from.front());
    from.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// Bytes of a field behind its tag; nullopt: it is none.
std::optional<std::string_view> TakeField(std::string_view& from, uint64_t type) {
  std::optional<uint64_t> size;
  if (type == kBytes) {
    size = TakeVarint(from);
  } else if (type == kFixed64 || type == kFixed32) {
    size = type == kFixed64 ? 8 : 4;
  } else if (type == kVarint) {
    std::string_view behind = from;
    if (TakeVarint(behind)) size = from.size() - behind.size();
  }
  if (!size || *size > from.size()) return std::nullopt;
  const std::string_view field = from.substr(0, *size);
  from.remove_prefix(*size);
  return field;
}

}  // namespace

Result<LongField> CutLongField(std::string_view message, uint32_t number) {
  LongField found;
  bool is_there = false;
  while (!message.empty()) {
    const std::string_view whole = message;
    const auto tag = TakeVarint(message);
    const auto field = tag ? TakeField(message, *tag & 7) : std::nullopt;
    if (!field) return Fail(ErrorKind::kCorrupt, "these are not valid fields");
    if (*tag != (uint64_t{number} << 3 | kBytes)) {
      found.rest += whole.substr(0, whole.size() - message.size());
      continue;
    }
    if (is_there) return Fail(ErrorKind::kCorrupt, "a field occurs twice");
    is_there = true;
    found.bytes = *field;
  }
  return found;
}

std::optional<std::string_view> OnlyField(std::string_view message, uint32_t number) {
  const auto tag = TakeVarint(message);
  if (!tag || *tag != (uint64_t{number} << 3 | kBytes)) return std::nullopt;
  const auto field = TakeField(message, kBytes);
  return message.empty() ? field : std::nullopt;
}

size_t FieldHeadSize(uint32_t number, size_t size) {
  return CodedOutputStream::VarintSize32(number << 3 | kBytes) +
         CodedOutputStream::VarintSize32(static_cast<uint32_t>(size));
}

void AppendFieldHead(std::string& out, uint32_t number, size_t size) {
  uint8_t head[10];
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(number << 3 | kBytes, head);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(size), end);
  out.append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
}

}  // namespace spate::wire
