// The kind of file system that a path is on: by the magic number of statfs(2), or, if that is
// shared by many (FUSE) or unknown, by the type in /proc/self/mountinfo.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "os/error.h"
#include "os/file.h"
#include "os/mounts.h"

namespace spate::os {
namespace {

struct Magic {
  uint32_t number;
  std::string_view name;
  bool is_network;
};

constexpr uint32_t kFuse = 0x65735546;

constexpr Magic kMagics[] = {
    {0xEF53, "ext4", false},      {0x58465342, "xfs", false},      {0x9123683E, "btrfs", false},
    {0x01021994, "tmpfs", false}, {0x858458F6, "ramfs", false},    {0x794C7630, "overlay", false},
    {0x2FC12FC1, "zfs", false},   {0xF2F52010, "f2fs", false},     {0x4D44, "vfat", false},
    {0x2011BAB0, "exfat", false}, {0x7366746E, "ntfs3", false},    {0x52654973, "reiserfs", false},
    {0x3153464A, "jfs", false},   {0x73717368, "squashfs", false}, {0xCA451A4E, "bcachefs", false},
    {0x9660, "iso9660", false},   {0x6969, "nfs", true},           {0xFF534D42, "cifs", true},
    {0xFE534D42, "smb3", true},   {0x517B, "smb", true},           {0x0BD00BD0, "lustre", true},
    {0x47504653, "gpfs", true},   {0x19830326, "beegfs", true},    {0x00C36400, "ceph", true},
    {0x5346414F, "afs", true},    {0x6B414653, "kafs", true},      {0x73757245, "coda", true},
    {0x01021997, "9p", true},     {0x20030528, "orangefs", true},  {0xAAD7AAEA, "panfs", true},
    {0x01161970, "gfs2", true},   {0x7461636F, "ocfs2", true},     {0x786F4256, "vboxsf", true},
};

// Types of mountinfo that several machines share although statfs does not tell; other FUSE types
// count as shared too, unless they are listed as local.
constexpr std::string_view kNetworkTypes[] = {"virtiofs", "wekafs", "quobyte", "pvfs2",
                                              "glusterfs"};
constexpr std::string_view kLocalFuse[] = {
    "fuseblk",     "fuse.ntfs-3g",    "fuse.ntfs",         "fuse.fuse-overlayfs",
    "fuse.bindfs", "fuse.mergerfs",   "fuse.gocryptfs",    "fuse.encfs",
    "fuse.lxcfs",  "fuse.squashfuse", "fuse.squashfuse_ll"};

// The type of the mount of this device, empty when not found. Sees the mounts of this process.
std::string MountTypeOf(dev_t device) {
  auto text = ReadFile("/proc/self/mountinfo", 16 << 20);
  if (!text) return "";
  for (const Mount& mount : ParseMountInfo(*text)) {
    if (mount.device_major == major(device) && mount.device_minor == minor(device)) {
      return mount.type;
    }
  }
  return "";
}

// The nearest folder upwards that exists; errno of the last try otherwise.
Result<std::string> NearestExisting(const std::string& path) {
  std::string at = path.empty() ? "." : path;
  for (;;) {
    struct stat info{};
    if (stat(at.c_str(), &info) == 0) return at;
    std::string parent = DirName(at);
    if (errno != ENOENT || parent == at) return FailErrno("look at", at);
    at = parent;
  }
}

}  // namespace

Result<FileSystemFacts> FileSystemOf(const std::string& path) {
  auto at = TRY(NearestExisting(path));
  struct statfs fs{};
  struct stat info{};
  if (statfs(at.c_str(), &fs) != 0 || stat(at.c_str(), &info) != 0) {
    return FailErrno("look at the file system of", at);
  }
  FileSystemFacts facts;
  facts.read_only = (fs.f_flags & ST_RDONLY) != 0;
  uint32_t number = static_cast<uint32_t>(fs.f_type);
  const auto* known = std::ranges::find(kMagics, number, &Magic::number);
  if (known != std::end(kMagics)) {
    facts.name = known->name;
    facts.is_network = known->is_network;
    return facts;
  }
  facts.name = MountTypeOf(info.st_dev);
  if (number == kFuse) {
    if (facts.name.empty()) facts.name = "fuse";
    facts.is_network = std::ranges::find(kLocalFuse, facts.name) == std::end(kLocalFuse);
  } else {
    facts.is_network = std::ranges::find(kNetworkTypes, facts.name) != std::end(kNetworkTypes);
    if (facts.name.empty()) facts.name = fmt::format("unknown ({:#x})", number);
  }
  return facts;
}

Result<Space> SpaceOf(const std::string& path) {
  auto at = TRY(NearestExisting(path));
  struct statvfs fs{};
  if (statvfs(at.c_str(), &fs) != 0) return FailErrno("ask for the free space of", at);
  // File systems without a fixed number of inodes say 0 of 0.
  return Space{.free = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize,
               .total = static_cast<uint64_t>(fs.f_blocks) * fs.f_frsize,
               .free_files = fs.f_files == 0 ? UINT64_MAX : fs.f_favail};
}

}  // namespace spate::os
