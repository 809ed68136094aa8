#include "view/output_pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "os/file.h"
#include "present/text/end_text.h"

namespace spate::cli {
namespace {

constexpr size_t kPiece = 256 * 1024;
constexpr uint64_t kTail = 4096;

}  // namespace

Status ForEachPiece(const OutputStream& stream, uint64_t offset,
                    const std::function<void(std::string_view)>& take) {
  if (stream.spool.empty()) {
    std::string_view bytes = stream.bytes;
    if (offset < bytes.size()) take(bytes.substr(offset));
    return {};
  }
  auto file = TRY(os::OpenRead(stream.spool));
  while (offset < stream.total) {
    size_t size = std::min<uint64_t>(kPiece, stream.total - offset);
    auto bytes = TRY(os::ReadAt(file.get(), offset, size, stream.spool));
    if (bytes.empty()) break;
    take(bytes);
    offset += bytes.size();
  }
  return {};
}

std::vector<std::string> LastLines(const OutputStream& stream, size_t lines, size_t columns) {
  std::string tail;
  uint64_t size = stream.spool.empty() ? stream.bytes.size() : stream.total;
  uint64_t from = size > kTail ? size - kTail : 0;
  auto read = ForEachPiece(stream, from, [&](std::string_view piece) { tail += piece; });
  if (!read) return {"(" + EscapeForScreen(read.error().message) + ")"};
  std::vector<std::string> found;
  std::string_view rest = tail;
  while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
  while (!rest.empty() && found.size() < lines) {
    size_t newline = rest.rfind('\n');
    size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    std::string_view line = rest.substr(begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    found.push_back(present::CutTo(EscapeForScreen(line), columns));
    rest = rest.substr(0, newline == std::string_view::npos ? 0 : newline);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

Result<std::shared_ptr<SpillFile>> SpillFile::Make(const std::string& folder) {
  for (int i = 0;; ++i) {
    std::string path = os::JoinPath(folder, fmt::format("held-{}", i));
    auto fd = os::OpenWrite(path, os::OpenHow::kCreateNew, 0600);
    if (fd) return std::make_shared<SpillFile>(path, std::move(*fd));
    if (fd.error().kind != ErrorKind::kExists) return std::unexpected(fd.error());
  }
}

SpillFile::~SpillFile() { static_cast<void>(os::RemoveFile(path_)); }

Status SpillFile::Append(std::string_view bytes) {
  auto ok = os::WriteAll(fd_.get(), bytes, path_);
  if (ok) size_ += bytes.size();
  return ok;
}

FilePart PartOf(const std::shared_ptr<SpillFile>& file, uint64_t from) {
  return {.path = file->path(), .offset = from, .length = file->size() - from, .owner = file};
}

}  // namespace spate::cli
