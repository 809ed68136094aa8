// pack := file...
// file := length:u32 mode:u32 size:u64 name bytes       numbers in little-endian order
#include "core/model/task_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace spate {
namespace {

constexpr size_t kLength = 4;
constexpr size_t kFixed = kLength + 4 + 8;
constexpr size_t kLongestName = 4095;

void AppendNumber(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

uint64_t ReadNumber(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The head's size, as far as its available bytes tell.
size_t HeadSize(std::string_view head) {
  return head.size() < kLength ? kLength : kFixed + ReadNumber(head.substr(0, kLength));
}

}  // namespace

Status CheckTaskFileName(std::string_view name) {
  auto wrong = [&](std::string_view why) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' {}: files go to and from a task's own folder, so name them by a "
                            "relative path without '..'",
                            EscapeForScreen(name), why));
  };
  if (name.empty()) return wrong("is not a valid name");
  if (name.size() > kLongestName) return wrong("is too long");
  if (name.find('\0') != std::string_view::npos) return wrong("holds a NUL byte");
  if (name.front() == '/') return wrong("is absolute");
  std::string_view last;
  for (size_t at = 0; at <= name.size();) {
    size_t end = std::min(name.find('/', at), name.size());
    last = name.substr(at, end - at);
    if (last == "..") return wrong("leads out of the folder");
    at = end + 1;
  }
  if (last.empty() || last == ".") return wrong("is a folder");
  return {};
}

void AppendPackedFile(std::string& out, const PackedFile& file) {
  AppendNumber(out, file.name.size(), 4);
  AppendNumber(out, file.mode, 4);
  AppendNumber(out, file.size, 8);
  out += file.name;
}

Status PackReader::Begin() {
  std::string_view head = head_;
  PackedFile file{std::string(head.substr(kFixed)),
                  static_cast<uint32_t>(ReadNumber(head.substr(4, 4))),
                  ReadNumber(head.substr(8, 8))};
  if (file.mode > 0777 || (!IsForward(file) && file.size > kLimits.file_bytes)) {
    return Fail(ErrorKind::kCorrupt, "a pack of files is damaged");
  }
  if (!IsForward(file)) {
    TRY(CheckTaskFileName(file.name));
  }
  head_.clear();
  in_file_ = true;
  left_ = file.size;
  return events_.begin(file);
}

Status PackReader::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!in_file_) {
      // First the length of the name, then all of the head.
      size_t want = HeadSize(head_) - head_.size();
      head_ += bytes.substr(0, want);
      bytes.remove_prefix(std::min(want, bytes.size()));
      if (HeadSize(head_) > kFixed + kLongestName) {
        return Fail(ErrorKind::kCorrupt, "a pack of files is damaged");
      }
      if (head_.size() < HeadSize(head_)) continue;
      TRY(Begin());
    }
    std::string_view piece = bytes.substr(0, left_);
    bytes.remove_prefix(piece.size());
    left_ -= piece.size();
    if (!piece.empty()) {
      TRY(events_.bytes(piece));
    }
    if (left_ > 0) return {};
    in_file_ = false;
    TRY(events_.end());
  }
  return {};
}

}  // namespace spate
