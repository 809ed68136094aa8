// Files that travel with tasks: --put brings them to a task's own folder, --get brings them home.
//
// Contents of puts are cut into pieces. The pieces of a job are numbered from 0, and lie in the
// journal as rows behind those of all tasks. What a task brings home is a pack: one file after
// another, each with its name (docs/formats/files.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/fields.h"
#include "core/model/limits.h"

namespace spate {

// A file that a job brings along.
struct PutFile {
  std::string name;   // in a task's folder
  uint32_t mode = 0;  // permissions, 0777 at most
  uint64_t size = 0;
  uint32_t first_piece = 0;  // files with the same content have the same pieces
  SPATE_FIELDS(1, name, 2, Bound(mode, .most = 0777), 3, Bound(size, .most = kLimits.file_bytes),
               4, first_piece);
  friend bool operator==(const PutFile&, const PutFile&) = default;
};

inline constexpr uint64_t kPutPieceBytes = 1u << 20;  // all but a content's last piece
inline constexpr TaskIndex kFirstPieceRow = 0xF000'0000;
// An empty content has one empty piece.
constexpr uint32_t PutPieces(uint64_t size) {
  return size == 0 ? 1 : static_cast<uint32_t>((size + kPutPieceBytes - 1) / kPutPieceBytes);
}

// The most pieces of all contents of a job.
inline constexpr uint32_t kMostPieces = PutPieces(kLimits.files_bytes) + kLimits.put_files;

// kInvalid: it is not a path to a file below a task's folder (absolute, with "..", a folder).
Status CheckTaskFileName(std::string_view name);

// One file of a pack. What a task forwards is one whose name is '/' and then TaskForward::to, which
// no file of a folder has.
struct PackedFile {
  std::string name;
  uint32_t mode = 0;
  uint64_t size = 0;
};
inline bool IsForward(const PackedFile& file) { return file.name.starts_with('/'); }
// Its `size` bytes must follow.
void AppendPackedFile(std::string& out, const PackedFile& file);

// Takes a pack apart as it comes. Names are checked as above, and sizes against Limits, but for
// what is forwarded.
class PackReader {
 public:
  struct Events {
    std::function<Status(const PackedFile&)> begin;
    std::function<Status(std::string_view)> bytes;  // of the file that began last
    std::function<Status()> end;
  };
  explicit PackReader(Events events) : events_(std::move(events)) {}
  // kCorrupt: this is no pack; other errors are those of the events.
  Status Feed(std::string_view bytes);
  // Nothing is missing of a file that has begun.
  bool whole() const { return head_.empty() && left_ == 0 && !in_file_; }

 private:
  Status Begin();

  Events events_;
  std::string head_;  // as far as it came
  bool in_file_ = false;
  uint64_t left_ = 0;  // bytes of the file
};

}  // namespace spate
