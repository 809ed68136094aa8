#include "shepherd/foreign_children.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "os/process.h"
#include "shepherd/process_tree.h"

namespace spate::shepherd {

ForeignChildren::ForeignChildren(const std::vector<pid_t>& ours, std::string mark)
    : mark_(std::move(mark)) {
  auto note = [&](pid_t pid) {
    if (uint64_t start = os::StartTimeOf(pid); start != 0) known_.emplace(pid, start);
  };
  ProcessTree below(getpid());
  for (pid_t child : below.Children()) {
    if (std::find(ours.begin(), ours.end(), child) != ours.end()) continue;
    note(child);
    ProcessTree(child).Each(note);
  }
}

bool ForeignChildren::Has(pid_t child) const {
  if (known_.empty()) return false;
  auto known = known_.find(child);
  if (known != known_.end() && known->second == os::StartTimeOf(child)) return true;
  return mark_.empty() || !HasVariable(child, mark_);
}

}  // namespace spate::shepherd
