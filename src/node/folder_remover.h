// FolderRemover: removes folders of attempts aside, one after another: a task may leave a million
// files, and a disk or server may hang.
//
// Thread: the loop's; the work is on a thread of its own.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "os/aside.h"
#include "os/loop.h"

namespace spate::node {

class FolderRemover {
 public:
  explicit FolderRemover(os::Loop& loop) : loop_(loop) {}

  // Nothing, when the folder is not there. It is renamed at once, so that its name is free. What
  // cannot be removed stays; who ends meanwhile leaves it to the next process.
  void Remove(const std::string& folder);
  bool idle() const { return work_ == nullptr; }

 private:
  void Next();

  os::Loop& loop_;
  uint64_t count_ = 0;
  std::deque<std::string> folders_;
  std::unique_ptr<os::Aside<bool>> work_;
};

}  // namespace spate::node
