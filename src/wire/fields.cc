#include "wire/fields.h"

#include <fmt/format.h>

#include "base/check.h"
#include "core/model/limits.h"
#include "wire/long_field.h"

namespace spate::wire {
namespace {

constexpr uint32_t kTextsBytes = pb::Texts::kBytesFieldNumber;

}  // namespace

void FieldReader::Defect(std::string_view field, std::string_view what) {
  if (!ok()) return;
  error_ = fmt::format("a damaged message: {}", message_);
  for (std::string_view name : {inside_, field}) {
    if (!name.empty()) error_ += fmt::format(".{}", name);
  }
  error_ += fmt::format(" {}", what);
}

std::string FieldReader::Text(std::string_view field, const std::string& v, uint64_t most,
                              bool must) {
  if (must && v.empty()) Defect(field, "is missing");
  if (v.size() <= most) return v;
  Defect(field, "is too long");
  return {};
}

std::vector<std::string> FieldReader::Texts(std::string_view field,
                                            const PbColumn<uint32_t>& lengths,
                                            std::string_view bytes, uint64_t most,
                                            uint64_t most_count) {
  std::vector<std::string> texts;
  auto count = static_cast<uint64_t>(lengths.size());
  if (count > most_count) {
    Defect(field, "has too many texts");
    return texts;
  }
  texts.reserve(count);
  for (uint32_t length : lengths) {
    if (length > most) Defect(field, "has a text that is too long");
    if (length > bytes.size()) Defect(field, "has fewer bytes than its lengths say");
    if (!ok()) return {};
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  if (!bytes.empty()) Defect(field, "has more bytes than its lengths say");
  return texts;
}

std::vector<std::string> FieldReader::LongTexts(std::string_view field, std::string_view texts,
                                                uint64_t most, uint64_t most_count) {
  auto cut = CutLongField(texts, kTextsBytes);
  pb::Texts lengths;
  if (!cut || !lengths.ParseFromString(cut->rest)) {
    Defect(field, "is damaged");
    return {};
  }
  return Texts(field, lengths.length(), cut->bytes, most, most_count);
}

std::vector<TaskRange> FieldReader::Ranges(std::string_view field, const PbColumn<uint32_t>& pairs,
                                           uint32_t most_tasks) {
  std::vector<TaskRange> ranges;
  if (pairs.empty()) Defect(field, "is missing");
  if (pairs.size() % 2 != 0) Defect(field, "has half a pair");
  if (static_cast<uint32_t>(pairs.size()) / 2 > kWireLimits.ranges) {
    Defect(field, "has too many ranges");
  }
  if (!ok()) return ranges;
  ranges.reserve(static_cast<size_t>(pairs.size()) / 2);
  uint64_t tasks = 0;
  for (int i = 0; i < pairs.size(); i += 2) {
    TaskRange range{.first = pairs[i], .count = pairs[i + 1]};
    if (range.count == 0) Defect(field, "has an empty range");
    if (uint64_t{range.first} + range.count > kLimits.tasks_per_job) {
      Defect(field, "has a range beyond the largest job");
    }
    tasks += range.count;
    ranges.push_back(range);
  }
  if (tasks > most_tasks) Defect(field, "has too many tasks");
  return ranges;
}

void FieldReader::Sorted(std::string_view field, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) Defect(field, "has an empty name");
    if (i > 0 && names[i] <= names[i - 1]) Defect(field, "is not sorted");
  }
}

void PutTexts(pb::Texts& to, const std::vector<std::string>& texts) {
  size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  to.mutable_bytes()->reserve(size);
  to.mutable_length()->Reserve(static_cast<int>(texts.size()));
  for (const std::string& text : texts) {
    to.add_length(static_cast<uint32_t>(text.size()));
    to.mutable_bytes()->append(text);
  }
}

void AppendLongTexts(std::string& out, uint32_t outer, std::string_view head, uint32_t number,
                     const std::vector<std::string>& texts, std::string_view tail) {
  pb::Texts lengths;
  lengths.mutable_length()->Reserve(static_cast<int>(texts.size()));
  size_t bytes = 0;
  for (const std::string& text : texts) {
    lengths.add_length(static_cast<uint32_t>(text.size()));
    bytes += text.size();
  }
  size_t size = lengths.ByteSizeLong();
  if (bytes > 0) size += FieldHeadSize(kTextsBytes, bytes) + bytes;
  const size_t whole = head.size() + FieldHeadSize(number, size) + size + tail.size();
  out.reserve(out.size() + FieldHeadSize(outer, whole) + whole);
  AppendFieldHead(out, outer, whole);
  out += head;
  AppendFieldHead(out, number, size);
  AppendPb(out, lengths);
  if (bytes > 0) AppendFieldHead(out, kTextsBytes, bytes);
  for (const std::string& text : texts) out += text;
  out += tail;
}

void PutRanges(PbColumn<uint32_t>& to, const std::vector<TaskRange>& ranges) {
  to.Reserve(to.size() + static_cast<int>(ranges.size()) * 2);
  for (TaskRange range : ranges) {
    to.Add(range.first);
    to.Add(range.count);
  }
}

std::string Note(std::string_view text) {
  constexpr std::string_view kCut = " ...";
  if (text.size() <= kWireLimits.note_bytes) return std::string(text);
  return std::string(text.substr(0, kWireLimits.note_bytes - kCut.size())).append(kCut);
}

void AppendPb(std::string& out, const google::protobuf::MessageLite& message) {
  bool whole = message.AppendToString(&out);
  CHECK(whole);
}

Status ParsePb(google::protobuf::MessageLite& to, std::string_view name, std::string_view bytes) {
  if (bytes.size() > kWireLimits.message_bytes) {
    return Fail(ErrorKind::kCorrupt, fmt::format("a message that is too long: {}", name));
  }
  if (!to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Fail(ErrorKind::kCorrupt, fmt::format("a damaged message: {} cannot be parsed", name));
  }
  return {};
}

}  // namespace spate::wire
