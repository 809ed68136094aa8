// Finds programs along PATH and remembers where they were, so that a task does not pay a failing
// system call for each folder in front of the right one.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "shepherd/user_files.h"

namespace spate::shepherd {

class PathLookup {
 public:
  struct Found {
    std::string path;  // has a slash; empty when not found
    int error = 0;     // ENOENT; EACCES: there is one that may not be executed; EAGAIN: `files`
    bool remembered = false;
  };
  // The first executable `name` along `search` (a PATH); a name with a slash is returned as it
  // is. Folders are looked at by way of `files`, if any. The reference is good until the next call.
  const Found& Find(std::string_view name, std::string_view search, UserFiles* files = nullptr);
  // The program that was found did not work after all: the next Find looks again.
  void Forget(std::string_view name);

 private:
  Found Search(std::string_view name, bool* is_local) const;
  Found LookBy(UserFiles& files, std::string_view name) const;

  std::string search_;
  bool relative_ = false;  // a folder of it depends on the current folder: remember nothing
  std::unordered_map<std::string, Found> known_;
  Found last_;
};

}  // namespace spate::shepherd
