#include "submit/row_file.h"

#include <cstring>
#include <utility>

#include "os/file.h"

namespace spate::submit {
namespace {

constexpr uint32_t kRowsAPart = 64;
constexpr size_t kWrittenAtOnce = 256 * 1024;
constexpr const char* kName = "the job's rows";

}  // namespace

Status RowFile::Write(const cli::RowSource& rows, const std::string& path) {
  file_ = TRY(os::OpenWrite(path, os::OpenHow::kReadWrite, 0600));
  (void)os::RemoveFile(path);
  Status kept;
  std::string text;
  uint64_t written = 0;
  auto write = [&] {
    if (kept) kept = os::WriteAll(file_.get(), text, kName);
    written += text.size();
    text.clear();
  };
  rows([&](std::string_view row) {
    if (count_++ % kRowsAPart == 0) starts_.push_back(written + text.size());
    const auto size = static_cast<uint32_t>(row.size());
    text.append(reinterpret_cast<const char*>(&size), sizeof size);
    text.append(row);
    if (text.size() >= kWrittenAtOnce) write();
  });
  write();
  starts_.push_back(written);
  return kept;
}

std::optional<std::string> RowFile::Row(TaskIndex index) const {
  if (index >= count_) return std::nullopt;
  const uint64_t start = starts_[index / kRowsAPart];
  const uint64_t end = starts_[index / kRowsAPart + 1];
  auto part = os::ReadAt(file_.get(), start, end - start, kName);
  if (!part || part->size() != end - start) return std::nullopt;
  const char* at = part->data();
  for (uint32_t before = index % kRowsAPart;; --before) {
    uint32_t size = 0;
    std::memcpy(&size, at, sizeof size);
    at += sizeof size;
    if (before == 0) return std::string(at, size);
    at += size;
  }
}

}  // namespace spate::submit
