// Finding the cgroups of this process. Two tables are joined: /proc/self/cgroup says which cgroup
// of each hierarchy we are in, as a path from the hierarchy's root (or the cgroup namespace's);
// /proc/self/mountinfo says which part of a hierarchy is mounted where.
//
//   path /a/b, mounted part /      at /sys/fs/cgroup  ->  /sys/fs/cgroup/a/b
//   path /a/b, mounted part /a     at /sys/fs/cgroup  ->  /sys/fs/cgroup/b
//   path /a/b, mounted part /c     at /sys/fs/cgroup  ->  not visible
//   path /../x                     we were moved out of our namespace's root: not visible
#include <fmt/format.h>

#include "os/cgroup.h"
#include "os/file.h"
#include "os/mounts.h"

namespace spate::os {
namespace {

// The folder for `path`; empty when the mount does not show it.
std::string DirOf(const Mount& mount, std::string_view path) {
  if (path.starts_with("/..")) return "";
  std::string_view root = mount.root == "/" ? std::string_view() : std::string_view(mount.root);
  if (!path.starts_with(root)) return "";
  path.remove_prefix(root.size());
  if (!path.empty() && !path.starts_with('/')) return "";
  return path == "/" || path.empty() ? mount.point : fmt::format("{}{}", mount.point, path);
}

struct Membership {
  std::string_view controllers;  // "cpu,cpuacct", "name=systemd", "" for v2
  std::string_view path;
};

std::vector<Membership> ParseMemberships(std::string_view text) {
  std::vector<Membership> rows;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t first = line.find(':');
    size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    rows.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return rows;
}

void AddV1(const Membership& row, const std::vector<Mount>& mounts, CgroupPlaces* places) {
  std::string_view list = row.controllers;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    std::string_view controller = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    for (const Mount& mount : mounts) {
      if (mount.type != "cgroup" || !HasOption(mount.super_options, controller)) continue;
      std::string dir = DirOf(mount, row.path);
      // A container often sees its own part at the mount point under a path of the host.
      if (dir.empty()) dir = mount.point;
      places->v1.push_back({std::string(controller), mount.point, dir});
      break;
    }
  }
}

}  // namespace

const CgroupPlaces::V1* CgroupPlaces::FindV1(std::string_view controller) const {
  for (const V1& place : v1) {
    if (place.controller == controller) return &place;
  }
  return nullptr;
}

CgroupPlaces ParseCgroups(std::string_view mountinfo, std::string_view proc_cgroup) {
  CgroupPlaces places;
  std::vector<Mount> mounts = ParseMountInfo(mountinfo);
  for (const Membership& row : ParseMemberships(proc_cgroup)) {
    if (!row.controllers.empty()) {
      AddV1(row, mounts, &places);
      continue;
    }
    for (const Mount& mount : mounts) {
      if (mount.type != "cgroup2") continue;
      std::string dir = DirOf(mount, row.path);
      // The mount that shows us wins over others.
      if (!places.v2_mount.empty() && (dir.empty() || !places.v2_dir.empty())) continue;
      places.v2_mount = mount.point;
      places.v2_dir = dir;
      places.v2_read_only = HasOption(mount.options, "ro") || HasOption(mount.super_options, "ro");
    }
  }
  return places;
}

CgroupPlaces FindCgroups(const std::string& root) {
  return ParseCgroups(ReadFile(root + "/proc/self/mountinfo", 16 << 20).value_or(""),
                      ReadFile(root + "/proc/self/cgroup", 1 << 20).value_or(""));
}

}  // namespace spate::os
