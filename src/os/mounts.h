// Mounts: /proc/self/mountinfo as a table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace spate::os {

struct Mount {
  unsigned device_major = 0, device_minor = 0;
  std::string root;     // the part of the file system that is mounted, "/" for all of it
  std::string point;    // where
  std::string options;  // "rw,relatime"
  std::string type;     // "ext4", "cgroup2"
  std::string source;
  std::string super_options;  // for v1 cgroups: the controllers
};

// Lines that are not understood are left out.
std::vector<Mount> ParseMountInfo(std::string_view text);

// True if `option` is one of the words of a list like "rw,cpu,cpuacct".
bool HasOption(std::string_view options, std::string_view option);

}  // namespace spate::os
