// A socket's name may have 107 bytes only, and a state folder's may have more: sockets are reached
// through the folder's descriptor, as /proc shows it.
#include "shepherd/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/units.h"
#include "os/clock.h"
#include "os/error.h"
#include "os/own_dir.h"
#include "os/process.h"

namespace spate::shepherd {
namespace {

constexpr const char* kFolder = "shepherds";
constexpr const char* kBootFile = "boot";
constexpr std::string_view kEnds = ".ends";
constexpr std::string_view kOwner = "pid ";
constexpr std::string_view kNew = ".new";

std::string NameOf(const ShepherdName& name) { return fmt::format("{}-{}", name.pid, name.start); }

// Name of a socket or a file of ends, maybe a half-written one; nothing else here is a shepherd's.
std::optional<ShepherdName> ParseName(std::string_view text) {
  for (std::string_view suffix : {kEnds, kNew}) {
    if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  }
  ShepherdName name;
  const char* end = text.data() + text.size();
  auto [after, bad] = std::from_chars(text.data(), end, name.pid);
  if (bad != std::errc() || after == end || *after != '-') return std::nullopt;
  auto [last, wrong] = std::from_chars(after + 1, end, name.start);
  if (wrong != std::errc() || last != end || name.pid <= 1) return std::nullopt;
  return name;
}

sockaddr_un AddressOf(const os::Fd& folder, std::string_view name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = fmt::format("/proc/self/fd/{}/{}", folder.get(), name);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

const sockaddr* Raw(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Files of an earlier boot belong to nobody.
Status EmptyAfterBoot(const std::string& folder) {
  std::string boot = os::BootId();
  std::string path = os::JoinPath(folder, kBootFile);
  auto seen = os::ReadFile(path, 256);
  if (seen && *seen == boot) return {};
  auto entries = TRY(os::ListDir(folder));
  for (const os::DirEntry& entry : entries) {
    if (!ParseName(entry.name)) continue;
    if (Status gone = os::RemoveFile(os::JoinPath(folder, entry.name)); !gone) return gone;
  }
  return os::WriteFileAtomically(path, boot, 0600);
}

}  // namespace

std::string RendezvousFolder(const std::string& node_folder) {
  return os::JoinPath(node_folder, kFolder);
}

namespace {

std::string LockOf(const std::string& node_folder) {
  return os::JoinPath(RendezvousFolder(node_folder), "lock");
}

}  // namespace

Rendezvous::~Rendezvous() {
  if (listener_) unlinkat(folder_.get(), name_.c_str(), 0);
}

namespace {

// The peer is this user's.
bool IsOurs(const os::Fd& socket) {
  ucred who{};
  socklen_t size = sizeof who;
  return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == getuid();
}

}  // namespace

Result<Rendezvous> Rendezvous::Open(const std::string& node_folder) {
  Rendezvous made;
  std::string path = RendezvousFolder(node_folder);
  made.folder_.Reset(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!made.folder_) return os::FailErrno("open", path);
  made.name_ = NameOf({getpid(), os::StartTimeOf(getpid())});
  os::Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = AddressOf(made.folder_, made.name_);
  if (!listener || bind(listener.get(), Raw(address), sizeof address) != 0 ||
      listen(listener.get(), 4) != 0) {
    return os::FailErrno("listen in", path);
  }
  made.listener_ = std::move(listener);
  return made;
}

os::Fd Rendezvous::Accept() {
  os::Fd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return peer && IsOurs(peer) ? std::move(peer) : os::Fd();
}

bool Rendezvous::IsThere() const {
  struct stat info;
  return fstatat(folder_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

Status Rendezvous::LeaveEnds(std::string_view frames) const {
  std::string fresh = name_ + std::string(kNew);
  std::string final = name_ + std::string(kEnds);
  os::Fd file(openat(folder_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return os::FailErrno("create", fresh);
  if (Status written = os::WriteAll(file.get(), frames, fresh); !written) return written;
  if (Status closed = file.Close(); !closed) return closed;
  if (renameat(folder_.get(), fresh.c_str(), folder_.get(), final.c_str()) != 0) {
    return os::FailErrno("rename", fresh);
  }
  return {};
}

Result<os::FileLock> OwnNode(const std::string& node_folder) {
  return os::FileLock::TryLock(LockOf(node_folder), fmt::format("{}{}", kOwner, getpid()));
}

namespace {

// True: the process has a lock on this open file, according to the kernel. The file's content is no
// proof, because it may name any process.
bool HoldsLock(pid_t pid, const os::FileInfo& file) {
  auto entries = os::ListDir(fmt::format("/proc/{}/fdinfo", pid));
  return entries && std::ranges::any_of(*entries, [&](const os::DirEntry& entry) {
           auto info = os::ReadFile(fmt::format("/proc/{}/fdinfo/{}", pid, entry.name), 4096);
           if (!info || info->find("\nlock:") == std::string::npos) return false;
           auto locked = os::Stat(fmt::format("/proc/{}/fd/{}", pid, entry.name));
           return locked && locked->inode == file.inode && locked->device == file.device;
         });
}

}  // namespace

Result<std::optional<NodeProcess>> ProcessOfNode(const std::string& node_folder) {
  auto folder = os::OpenOwnDir(RendezvousFolder(node_folder));
  if (!folder && folder.error().kind == ErrorKind::kNotFound) return std::nullopt;
  if (!folder) return std::unexpected(std::move(folder.error()));
  const std::string lock = fmt::format("/proc/self/fd/{}/lock", folder->get());
  if (!os::Exists(lock) || !os::FileLock::IsHeld(lock).value_or(false)) return std::nullopt;
  std::string owner = os::FileLock::LastOwner(lock);
  NodeProcess node;
  if (owner.starts_with(kOwner)) {
    std::from_chars(owner.data() + kOwner.size(), owner.data() + owner.size(), node.pid);
  }
  if (node.pid <= 1) return std::nullopt;
  node.process = TRY(os::PidfdOpen(node.pid));
  auto file = TRY(os::Stat(lock));
  if (HoldsLock(node.pid, file)) return node;
  return Fail(ErrorKind::kPermission,
              fmt::format("'{}' names process {}, which does not hold that lock",
                          EscapeForScreen(LockOf(node_folder)), node.pid));
}

Result<std::vector<ShepherdName>> ShepherdsIn(const std::string& node_folder) {
  std::string folder = RendezvousFolder(node_folder);
  if (Status made = os::MakeDirs(folder, 0700); !made) return std::unexpected(made.error());
  if (Status empty = EmptyAfterBoot(folder); !empty) return std::unexpected(empty.error());
  auto entries = TRY(os::ListDir(folder));
  std::vector<ShepherdName> names;
  for (const os::DirEntry& entry : entries) {
    auto name = ParseName(entry.name);
    if (name && (names.empty() || names.back() != *name)) names.push_back(*name);
  }
  return names;
}

Result<os::Fd> ConnectTo(const std::string& node_folder, const ShepherdName& name) {
  std::string path = RendezvousFolder(node_folder);
  os::Fd folder(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return os::FailErrno("open", path);
  os::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return os::FailErrno("make a socket for a shepherd");
  sockaddr_un address = AddressOf(folder, NameOf(name));
  if (connect(fd.get(), Raw(address), sizeof address) == 0) {
    if (IsOurs(fd)) return fd;
    return Fail(ErrorKind::kUnavailable, "another user took the shepherd's place");
  }
  if (errno == ECONNREFUSED || errno == ENOENT) {
    return Fail(ErrorKind::kUnavailable, "the shepherd has ended");
  }
  return os::FailErrno("connect to the shepherd", NameOf(name));
}

bool AwaitReadable(int socket, int64_t patience) {
  int64_t until = os::MonotonicNanos() + patience;
  pollfd wanted{socket, POLLIN, 0};
  while (true) {
    int64_t left = std::max<int64_t>(until - os::MonotonicNanos(), 0);
    int ready = poll(&wanted, 1, static_cast<int>((left + 999'999) / 1'000'000));
    if (ready > 0 || (ready == 0 && left == 0)) return ready > 0;
  }
}

std::string PathOfEnds(const std::string& node_folder, const ShepherdName& name) {
  return os::JoinPath(RendezvousFolder(node_folder), NameOf(name) + std::string(kEnds));
}

void RemoveSocket(const std::string& node_folder, const ShepherdName& name) {
  std::string path = os::JoinPath(RendezvousFolder(node_folder), NameOf(name));
  (void)os::RemoveFile(path);
  (void)os::RemoveFile(path + std::string(kNew));
}

}  // namespace spate::shepherd
