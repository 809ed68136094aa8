#include "shepherd/foreign_children.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "os/file.h"
#include "os/process.h"
#include "shepherd/process_tree.h"

namespace spate::shepherd {
namespace {

constexpr size_t kMostWords = 4 << 20;

}  // namespace

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

ForeignChildren::Whose ForeignChildren::OwnerOf(pid_t child) const {
  if (known_.empty()) return Whose::kOurs;
  auto known = known_.find(child);
  if (known != known_.end() && known->second == os::StartTimeOf(child)) return Whose::kForeign;
  if (mark_.empty()) return Whose::kForeign;
  if (HasVariable(child, mark_)) return Whose::kOurs;
  auto words = os::ReadFile(fmt::format("/proc/{}/cmdline", child), kMostWords);
  return words && words->empty() ? Whose::kUnclear : Whose::kForeign;
}

}  // namespace spate::shepherd
