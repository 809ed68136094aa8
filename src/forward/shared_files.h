// The files that tasks' forwarded data is appended to: each task's data whole, in one piece, and
// synced before Deliver returns.
//
// Before anything is appended a log says where (docs/formats/files.md): a line "OFFSET LENGTH TASK
// PATH" for each piece, synced, "void TASK" when it was taken back, and "done TASK" where the log
// is what remembers that. When we die in between, the next start cuts the files back to what they
// were before tasks that are not done, and those come again.
//
// Deliver is called on one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "core/model/attempt.h"
#include "os/fd.h"

namespace spate::forward {

// Files that are open at once: 256, or fewer where this process may not have so many.
size_t MostOpen();
// `wanted`, or fewer: some descriptors are kept for all else.
size_t MostOpen(size_t wanted);

class SharedFiles {
 public:
  // At the start. What it has to say about files that were changed meanwhile goes to `tell`, and
  // they are left as they are. `is_done` by the name of a task, for those that are not done by the
  // log itself. The log stays, with what is done, when that is `keep`.
  using IsDone = std::function<bool(std::string_view)>;
  static Status Recover(const std::string& log, const IsDone& is_done,
                        const std::function<void(std::string)>& tell, bool keep = false);
  // The tasks that are done by the log.
  static Result<std::set<std::string, std::less<>>> Done(const std::string& log);

  // kBelow: the pack comes from somebody who may name any file, and is to reach none but those
  // below the folder.
  enum class Where : uint8_t { kAnywhere, kBelow };
  // Paths of packs count from `folder`; empty: from the folder that this process is in. At least
  // one file is open.
  SharedFiles(std::string log, std::string folder, size_t most_open,
              Where where = Where::kAnywhere);
  SharedFiles(SharedFiles&&) = default;

  // All that the task forwards, or nothing of it: what else is in its pack is left out. Folders
  // that are missing are made. With kAnywhere a file may be a device, such as /dev/null: it is
  // written to, and nothing of that is in the log or taken back.
  Status Deliver(std::string_view task, const OutputStream& pack);
  // Notes in the log that the task is done.
  Status MarkDone(std::string_view task);
  // Removes the log, when all is done that was delivered.
  void Finish() const;

  size_t most_open() const { return most_open_; }
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  struct OpenedFile {
    int fd = -1;
    bool is_device = false;
  };
  struct Pieces;
  struct Piece {
    std::string path;
    uint64_t size = 0;
    uint64_t offset = 0;  // in the file
  };
  Result<Pieces> PiecesOf(const OutputStream& pack);
  Status Append(const OutputStream& pack);
  Status PutLines(std::string_view lines, bool sync);
  void Undo(const std::list<Piece>& pieces);
  Result<OpenedFile> FileOf(const std::string& path);
  std::string PathOf(std::string_view to) const;

  std::string log_path_;
  std::string folder_;
  size_t most_open_;
  Where where_;
  os::Fd log_;
  struct Open {
    std::string path;
    os::Fd file;
    bool is_device = false;
  };
  std::list<Open> open_;  // the one that was used last comes first
  std::unordered_map<std::string, std::list<Open>::iterator> by_path_;
  uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace spate::forward
