// Reading what a task wrote, in pieces, wherever it lies; and a file for output that is held back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/attempt.h"
#include "os/fd.h"
#include "view/screen.h"

namespace spate::cli {

// So many failures are told of a job, and of each so much of what it wrote to standard error.
inline constexpr size_t kFailuresShown = 10;
inline constexpr size_t kErrorLines = 5;
inline constexpr size_t kErrorColumns = 200;

// Calls `take` with the bytes from `offset` on, piece by piece; an inline stream is one piece.
Status ForEachPiece(const OutputStream& stream, uint64_t offset,
                    const std::function<void(std::string_view)>& take);

// Its last `lines` lines, each cut at `columns` and with control bytes escaped. Looks at no more
// than the last 4 KB.
std::vector<std::string> LastLines(const OutputStream& stream, size_t lines, size_t columns);

// A file below a folder that is removed with its last owner.
class SpillFile {
 public:
  static Result<std::shared_ptr<SpillFile>> Make(const std::string& folder);
  SpillFile(std::string path, os::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  Status Append(std::string_view bytes);
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  os::Fd fd_;
  uint64_t size_ = 0;
};

// From `from` to the end of the file, which `file` owns.
FilePart PartOf(const std::shared_ptr<SpillFile>& file, uint64_t from);

}  // namespace spate::cli
