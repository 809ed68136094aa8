#include "node/folder_remover.h"

#include <fmt/format.h>

#include <utility>

#include "os/file.h"
#include "os/process.h"

namespace spate::node {

void FolderRemover::Remove(const std::string& folder) {
  if (!os::Exists(folder)) return;
  std::string aside =
      os::JoinPath(os::DirName(folder), fmt::format(".gone-{}-{}", os::OwnPid(), ++count_));
  folders_.push_back(os::Rename(folder, aside) ? std::move(aside) : folder);
  if (!work_) Next();
}

void FolderRemover::Next() {
  if (folders_.empty()) return work_.reset();
  auto remove = [folder = std::move(folders_.front())]() -> Result<bool> {
    return os::RemoveTree(folder).has_value();
  };
  folders_.pop_front();
  work_ = std::make_unique<os::Aside<bool>>(loop_, std::move(remove),
                                            [this](const Result<bool>&) { Next(); });
}

}  // namespace spate::node
