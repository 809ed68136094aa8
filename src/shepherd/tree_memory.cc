#include "shepherd/tree_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "os/fd.h"
#include "os/process.h"

namespace spate::shepherd {
namespace {

// The value in a line like "Pss_Anon:     1234 kB", in bytes.
std::optional<uint64_t> ValueOf(std::string_view text, std::string_view name) {
  size_t at = text.find(name);
  if (at == text.npos || (at != 0 && text[at - 1] != '\n')) return std::nullopt;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value * 1024;
}

uint64_t NeedOf(pid_t pid, const std::string& proc) {
  os::Fd fd(open(fmt::format("{}/{}/smaps_rollup", proc, pid).c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  ssize_t got = fd ? read(fd.get(), buffer, sizeof buffer) : -1;
  uint64_t bytes = 0;
  if (got > 0 && ReadNeed({buffer, static_cast<size_t>(got)}, bytes)) return bytes;
  auto info = os::InfoOf(pid, proc);
  return info ? info->resident : 0;
}

}  // namespace

bool ReadNeed(std::string_view rollup, uint64_t& bytes) {
  auto anonymous = ValueOf(rollup, "Pss_Anon:");
  auto shared_memory = ValueOf(rollup, "Pss_Shmem:");
  // Kernels before 5.4 tell the sum alone.
  auto all = anonymous && shared_memory ? std::optional(*anonymous + *shared_memory)
                                        : ValueOf(rollup, "Pss:");
  if (!all) return false;
  bytes = *all;
  return true;
}

uint64_t NeedOfDescendants(pid_t root, const std::string& proc) {
  uint64_t sum = 0;
  for (os::Pid pid : os::DescendantsOf(root, proc)) sum += NeedOf(pid, proc);
  return sum;
}

}  // namespace spate::shepherd
