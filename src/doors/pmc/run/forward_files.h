// The files that tasks' forwarded data is appended to: each task's data whole, in one piece, and
// synced before the task counts as done.
//
// Before anything is appended a log beside the rescue file (RESCUE.forwards) says where: a line
// "OFFSET LENGTH TASK PATH" for each piece, synced, and "void TASK" when it was taken back. When we
// die in between, the next start cuts the files back to what they were before the tasks that are
// not done, and those run again.
//
// Deliver is called on one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "os/fd.h"

namespace spate::pmc {

class ForwardFiles {
 public:
  static std::string LogOf(const std::string& rescue);
  // At the start. What it has to say about files that were changed meanwhile goes to `tell`, and
  // they are left as they are. `is_done` by the name of a task.
  static Status Recover(const std::string& rescue,
                        const std::function<bool(std::string_view)>& is_done,
                        const std::function<void(std::string)>& tell);

  // Keeps `most_open` files open at once (at least 1).
  ForwardFiles(std::string rescue, size_t most_open);
  ForwardFiles(ForwardFiles&&) = default;

  struct Piece {
    std::string path;
    std::string bytes;  // may be empty: then nothing is done
  };
  // All pieces of a task, or none of them. Folders that are missing are made.
  Status Deliver(std::string_view task, const std::vector<Piece>& pieces);
  // When all is done that was delivered.
  void Finish() const;

  size_t most_open() const { return most_open_; }
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  Result<int> FileOf(const std::string& path);

  std::string rescue_;
  size_t most_open_;
  os::Fd log_;
  struct Open {
    std::string path;
    os::Fd file;
  };
  std::list<Open> open_;  // the one that was used last comes first
  std::unordered_map<std::string, std::list<Open>::iterator> by_path_;
  uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace spate::pmc
