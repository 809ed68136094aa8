#include "link/master_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "os/file.h"

namespace spate::link {
namespace {

std::string AllOf(const std::string& state_dir) { return os::JoinPath(state_dir, "masters"); }

}  // namespace

std::string MasterFolder(const std::string& state_dir, const std::string& host, os::Pid process) {
  return os::JoinPath(AllOf(state_dir), fmt::format("{}-{}", host, process));
}

std::vector<std::string> FindMasters(const std::string& state_dir, const std::string& host) {
  std::vector<std::string> sockets;
  auto entries = os::ListDir(AllOf(state_dir));
  if (!entries) return sockets;
  for (const os::DirEntry& entry : *entries) {
    if (!entry.name.starts_with(host + "-")) continue;
    const std::string process = entry.name.substr(host.size() + 1);
    if (!ReadNumber<uint32_t>(process)) continue;  // of a host with a longer name
    const std::string folder = os::JoinPath(AllOf(state_dir), entry.name);
    if (os::Exists("/proc/" + process)) {
      sockets.push_back(os::JoinPath(folder, "socket"));
    } else {
      (void)os::RemoveTree(folder);
    }
  }
  std::ranges::sort(sockets);
  return sockets;
}

}  // namespace spate::link
