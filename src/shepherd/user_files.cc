// An answer on its way: a Head, the key and the text; the descriptor goes with the head's bytes.
#include "shepherd/user_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "os/clock.h"
#include "os/file.h"
#include "shepherd/tree_killer.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// So long it is believed that a place lies on a disk of this machine, and that a file server
// answers.
constexpr int64_t kLocalFor = 60 * kSecond;
constexpr int64_t kServerFor = 1 * kSecond;
constexpr size_t kMostPlaces = 256;
constexpr int kOpenHow = O_CLOEXEC | O_NOCTTY;

struct Head {
  uint8_t call;
  uint8_t has_fd;
  uint8_t is_local;
  uint8_t unused;
  int32_t error;
  uint32_t key;   // bytes
  uint32_t text;  // bytes
};

bool IsLocal(const std::string& path) {
  auto facts = os::FileSystemOf(path);
  return facts.has_value() && !facts->is_network;
}

// The null device and its like.
bool IsPlainDevice(const struct stat& info) {
  constexpr unsigned kMemory = 1;
  constexpr unsigned kKinds[] = {3, 5, 7, 8, 9};  // null, zero, full, random, urandom
  return S_ISCHR(info.st_mode) && major(info.st_rdev) == kMemory &&
         std::ranges::find(kKinds, minor(info.st_rdev)) != std::end(kKinds);
}

os::Fd OpenNow(const char* path, int flags, bool make_folders) {
  os::Fd fd(open(path, flags | kOpenHow, 0666));
  if (!fd && errno == ENOENT && make_folders && os::MakeDirs(os::DirName(path)).has_value()) {
    fd.Reset(open(path, flags | kOpenHow, 0666));
  }
  return fd;
}

std::string WaitsForFile(const char* path, std::string_view as, std::string_view why) {
  return fmt::format("still waiting to open '{}' as {}: {}", EscapeForScreen(path), as, why);
}

std::string WaitsForServer(std::string_view what) {
  return fmt::format("still waiting for {}: its file server does not answer", what);
}

}  // namespace

UserFiles::~UserFiles() { Drop(); }

// ------------------------------------------------------------------------------------ the calls

os::Fd UserFiles::Open(const char* path, int flags, std::string_view as, bool make_folders) {
  if (auto answer = Next(Call::kOpen, path)) {
    errno = answer->error;
    return std::move(answer->fd);
  }
  if (!in_opener()) {
    if (MayOpen(path, flags)) return OpenNow(path, flags, make_folders);
    errno = Refuse();
    return {};
  }
  Say(WaitsForFile(path, as, "its file server or device does not answer"));
  struct stat info{};
  if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)) {
    Say(WaitsForFile(path, as, "no process has opened the other end of this named pipe"));
  }
  os::Fd fd = OpenNow(path, flags, make_folders);
  int error = fd ? 0 : errno;
  Tell({Call::kOpen, error, path, {}, {}}, IsLocal(os::DirName(path)), fd.get());
  errno = error;
  return fd;
}

int UserFiles::Enter(const char* folder) {
  if (auto answer = Next(Call::kEnter, folder)) {
    if (answer->error == 0 && fchdir(answer->fd.get()) != 0) answer->error = errno;
    if (answer->error == 0) folder_ = folder;
    return answer->error;
  }
  if (!in_opener()) {
    if (!Knows(folder, /*lately_will_do=*/true)) return Refuse();
    folder_ = folder;
    return chdir(folder) == 0 ? 0 : errno;
  }
  Say(WaitsForServer(fmt::format("the folder '{}'", EscapeForScreen(folder))));
  int error = chdir(folder) == 0 ? 0 : errno;
  os::Fd here(error == 0 ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
  if (error == 0 && !here) error = errno;
  Tell({Call::kEnter, error, folder, {}, {}}, error == 0 && IsLocal("."), here.get());
  folder_ = folder;
  return error;
}

int UserFiles::Unlink(const char* path) {
  if (auto answer = Next(Call::kUnlink, path)) return answer->error;
  if (!in_opener() && !Knows(FolderKey(os::DirName(path)), false)) return Refuse();
  if (in_opener()) Say(WaitsForServer(fmt::format("'{}'", EscapeForScreen(path))));
  int error = unlink(path) == 0 ? 0 : errno;
  if (in_opener()) {
    Tell({Call::kUnlink, error, path, {}, {}}, IsLocal(os::DirName(path)), -1);
  }
  return error;
}

std::optional<std::string> UserFiles::Ask(std::string_view key, std::string_view what,
                                          const Question& ask) {
  if (auto answer = Next(Call::kAsk, key)) return std::move(answer->text);
  if (!in_opener()) {
    if (Knows(std::string(key), /*lately_will_do=*/true)) return ask(nullptr);
    Refuse();
    return std::nullopt;
  }
  Say(WaitsForServer(what));
  bool is_local = true;
  std::string text = ask(&is_local);
  Tell({Call::kAsk, 0, std::string(key), text, {}}, is_local, -1);
  return text;
}

int UserFiles::Touch(const std::string& program) {
  return TouchUnless(!in_opener() && MayOpen(program.c_str(), O_RDONLY), program);
}

// A folder that is known may have others mounted in it: even lstat would ask those.
int UserFiles::TouchFolder(const std::string& folder) { return TouchUnless(false, folder); }

int UserFiles::TouchUnless(bool is_known, const std::string& path) {
  if (Next(Call::kTouch, path)) return 0;
  if (!in_opener()) {
    return is_known || Knows(FolderKey(path), /*lately_will_do=*/true) ? 0 : Refuse();
  }
  Say(WaitsForServer(fmt::format("'{}'", EscapeForScreen(path))));
  os::Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | kOpenHow));
  char first = 0;
  if (fd) (void)!read(fd.get(), &first, 1);
  Tell({Call::kTouch, 0, path, {}, {}}, IsLocal(path), -1);
  return 0;
}

void UserFiles::Entered(const std::string& folder) {
  folder_ = folder;
  Learn(folder, /*is_local=*/true);
}

bool UserFiles::Answers(const char* path) const {
  if (in_opener()) return false;
  struct stat info{};
  return Knows(FolderKey(os::DirName(path)), false) &&
         (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode));
}

bool UserFiles::MayOpen(const char* path, int flags) const {
  if (!Knows(FolderKey(os::DirName(path)), false)) return false;
  struct stat info{};
  if (lstat(path, &info) != 0) return errno == ENOENT || (flags & O_CREAT) == 0;
  return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || IsPlainDevice(info);
}

int UserFiles::Refuse() {
  needs_opener_ = true;
  return EAGAIN;
}

// ---------------------------------------------------------------------------------- the answers

// The answer to this very call. Others are of no use when the order is not the opener's.
std::optional<UserFiles::Answer> UserFiles::Next(Call call, std::string_view key) {
  if (in_opener() || is_busy() || answers_.empty()) return std::nullopt;
  if (answers_.front().call != call || answers_.front().key != key) {
    answers_.clear();
    return std::nullopt;
  }
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

void UserFiles::Forget() {
  answers_.clear();
  needs_opener_ = false;
}

std::string UserFiles::FolderKey(std::string_view folder) const {
  if (folder.starts_with('/')) return std::string(folder);
  if (folder_.empty()) return {};
  return folder == "." ? folder_ : os::JoinPath(folder_, folder);
}

bool UserFiles::Knows(const std::string& key, bool lately_will_do) const {
  if (key.empty()) return false;
  auto place = places_.find(key);
  return place != places_.end() && (place->second.is_local || lately_will_do) &&
         os::MonotonicNanos() < place->second.until;
}

void UserFiles::Learn(const std::string& key, bool is_local) {
  if (key.empty()) return;
  if (places_.size() >= kMostPlaces) places_.clear();
  places_[key] = {is_local, os::MonotonicNanos() + (is_local ? kLocalFor : kServerFor)};
}

// ----------------------------------------------------------------------------------- the opener

int UserFiles::Start(const std::function<void()>& calls) {
  Drop();
  needs_opener_ = false;
  waits_for_.clear();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
  os::Fd ours(ends[0]);
  os::Fd theirs(ends[1]);
  if (fcntl(ours.get(), F_SETFL, O_NONBLOCK) != 0) return errno;
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) BeOpener(calls, theirs.get(), parent);
  pid_ = child;
  socket_ = std::move(ours);
  return 0;
}

// It has nothing of ours but 0 to 2 (somebody may name /dev/stdout): an opener that cannot be
// killed would keep our socket open, and our parent could not see that we are dead.
void UserFiles::BeOpener(const std::function<void()>& calls, int socket, pid_t parent) {
  prctl(PR_SET_NAME, "spate-opener", 0, 0, 0);
  if (socket > 3) syscall(SYS_close_range, 3, socket - 1, 0);
  syscall(SYS_close_range, socket + 1, ~0U, 0);
  home_ = socket;
  answers_.clear();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(1);
  calls();
  Tell({Call::kEnd, 0, {}, {}, {}}, false, -1);
  _exit(0);
}

// A change of user has undone the wish to die with the parent.
void UserFiles::Say(const std::string& waits_for) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  Tell({Call::kBegin, 0, {}, waits_for, {}}, false, -1);
}

void UserFiles::Tell(const Answer& answer, bool is_local, int fd) const {
  Head head{static_cast<uint8_t>(answer.call),
            fd >= 0,
            is_local,
            0,
            answer.error,
            static_cast<uint32_t>(answer.key.size()),
            static_cast<uint32_t>(answer.text.size())};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += answer.key;
  bytes += answer.text;
  std::string_view rest = bytes;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  while (!rest.empty()) {
    iovec part{const_cast<char*>(rest.data()), rest.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (fd >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* of_fd = CMSG_FIRSTHDR(&message);
      of_fd->cmsg_level = SOL_SOCKET;
      of_fd->cmsg_type = SCM_RIGHTS;
      of_fd->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(of_fd), &fd, sizeof fd);
    }
    ssize_t put = sendmsg(home_, &message, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) _exit(1);
    rest.remove_prefix(static_cast<size_t>(put));
    fd = -1;
  }
}

bool UserFiles::Read() {
  while (is_busy() && ReadSome()) {
    while (TakeAnswer()) {
    }
  }
  return !is_busy();
}

// False: nothing is there now, or nothing will come any more.
bool UserFiles::ReadSome() {
  char buffer[4096];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec part{buffer, sizeof buffer};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {
    trouble_ = "the process that opens the task's files was killed";
    if (!waits_for_.empty()) trouble_ += ", " + waits_for_;
    Drop();
    Reap();
    return false;
  }
  bytes_.append(buffer, static_cast<size_t>(got));
  for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(one), sizeof fd);
    fds_.emplace_back(fd);
  }
  // No descriptor was free for it.
  if ((message.msg_flags & MSG_CTRUNC) != 0) fds_.emplace_back();
  return true;
}

// False when there is no whole one.
bool UserFiles::TakeAnswer() {
  Head head;
  if (!is_busy() || bytes_.size() < sizeof head) return false;
  std::memcpy(&head, bytes_.data(), sizeof head);
  size_t size = sizeof head + head.key + head.text;
  if (bytes_.size() < size) return false;
  Answer answer{static_cast<Call>(head.call),
                head.error,
                bytes_.substr(sizeof head, head.key),
                bytes_.substr(sizeof head + head.key, head.text),
                {}};
  bytes_.erase(0, size);
  if (head.has_fd != 0 && !fds_.empty()) {
    answer.fd = std::move(fds_.front());
    fds_.pop_front();
    if (!answer.fd) answer.error = EMFILE;
  }
  switch (answer.call) {
    case Call::kBegin:
      waits_for_ = std::move(answer.text);
      return true;
    case Call::kEnd:
      waits_for_.clear();
      socket_.Reset();
      Reap();
      return false;
    case Call::kOpen:
    case Call::kUnlink:
      if (head.is_local != 0) Learn(FolderKey(os::DirName(answer.key)), true);
      break;
    case Call::kEnter:
      folder_ = answer.key;
      if (answer.error == 0) Learn(answer.key, head.is_local != 0);
      break;
    case Call::kAsk:
      Learn(answer.key, head.is_local != 0);
      break;
    case Call::kTouch:
      Learn(FolderKey(answer.key), head.is_local != 0);
  }
  answers_.push_back(std::move(answer));
  return true;
}

// One that has sent all its answers, or has closed its socket, does nothing more that could block.
void UserFiles::Reap() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

std::string UserFiles::TakeTrouble() { return std::exchange(trouble_, {}); }

bool UserFiles::Ended(pid_t pid) {
  if (pid_ == 0 || pid != pid_) return false;
  pid_ = 0;
  return true;
}

void UserFiles::Drop() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  socket_.Reset();
  waits_for_.clear();
  bytes_.clear();
  fds_.clear();
  Forget();
}

bool UserFiles::End(int64_t patience) {
  Drop();
  int64_t until = os::MonotonicNanos() + patience;
  while (pid_ > 0) {
    pid_t got = waitpid(pid_, nullptr, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) pid_ = 0;
    if (pid_ == 0) break;
    if (os::MonotonicNanos() >= until) return false;
    TreeKiller::AwaitChild(1'000'000);
  }
  return true;
}

}  // namespace spate::shepherd
