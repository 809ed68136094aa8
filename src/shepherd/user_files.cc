// An answer on its way: a Head, the key and the text; the descriptor goes with the head's bytes.
//
// A closer shares this process's table of descriptors (CLONE_FILES) and nothing else: close() takes
// a descriptor out of the table first, and then waits for the file server.
#include "shepherd/user_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
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
#include "core/model/leftovers.h"
#include "os/clock.h"
#include "os/error.h"
#include "os/file.h"
#include "os/own_dir.h"
#include "shepherd/as_user.h"
#include "shepherd/pack.h"
#include "shepherd/tree_killer.h"

namespace spate::shepherd {
namespace {

// So long it is believed where a place lies.
constexpr int64_t kBelieved = 60'000'000'000;  // nanoseconds
constexpr size_t kMostPlaces = 1024;
constexpr size_t kCopyPiece = 256 * 1024;
constexpr size_t kFirstLine = 256;  // bytes of a script that the kernel looks at
constexpr int kOpenHow = O_CLOEXEC | O_NOCTTY;

struct Head {
  uint8_t call;
  uint8_t has_fd;
  uint8_t is_local;
  uint8_t is_served;
  int32_t error;
  uint32_t key;   // bytes
  uint32_t text;  // bytes
};

bool IsOnDisk(const std::string& path) {
  auto facts = os::FileSystemOf(path);
  return facts.has_value() && !facts->is_network;
}

// A named pipe is this machine's wherever its name is, and its bytes go nowhere when it is closed.
bool IsServedFile(int fd) {
  struct stat info{};
  return fstat(fd, &info) != 0 ||
         (S_ISREG(info.st_mode) && !IsOnDisk(fmt::format("/proc/self/fd/{}", fd)));
}

// The interpreter that a script's first line names; else empty.
std::string InterpreterOf(const std::string& program) {
  os::Fd fd(open(program.c_str(), O_RDONLY | O_NONBLOCK | kOpenHow));
  char line[kFirstLine];
  ssize_t got = fd ? read(fd.get(), line, sizeof line) : -1;
  std::string_view text(line, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (!text.starts_with("#!")) return {};
  text.remove_prefix(std::min(text.find_first_not_of(" \t", 2), text.size()));
  return std::string(text.substr(0, text.find_first_of(" \t\n")));
}

// A pipe or terminal that nobody reads gets nothing: it must not hold us.
void WriteNow(int fd, std::string_view text) {
  constexpr size_t kAtOnce = 4096;  // bytes that a pipe takes when it can be written at all
  struct stat info{};
  if (fstat(fd, &info) != 0) return;
  if (!S_ISREG(info.st_mode)) {
    pollfd room{fd, POLLOUT, 0};
    if (poll(&room, 1, 0) != 1 || (room.revents & POLLOUT) == 0) return;
    text = text.substr(0, kAtOnce);
  }
  (void)os::WriteAll(fd, text, "stderr");
}

// The null device and its like.
bool IsPlainDevice(const struct stat& info) {
  constexpr unsigned kMemory = 1;
  constexpr unsigned kKinds[] = {3, 5, 7, 8, 9};  // null, zero, full, random, urandom
  return S_ISCHR(info.st_mode) && major(info.st_rdev) == kMemory &&
         std::ranges::find(kKinds, minor(info.st_rdev)) != std::end(kKinds);
}

// A file to write may be in a folder where others can put a link in its place.
os::Fd OpenNow(const char* path, int flags, bool make_folders) {
  if ((flags & O_CREAT) == 0) return os::Fd(open(path, flags | kOpenHow));
  auto missing = make_folders ? os::Missing::kMake : os::Missing::kFails;
  auto file = os::OpenNamed(path, flags, missing);
  return file ? std::move(*file) : os::Fd();
}

std::string WaitsForFile(const char* path, std::string_view as, std::string_view why) {
  return fmt::format("{}to open '{}' as {}: {}", kStillWaiting, EscapeForScreen(path), as, why);
}

std::string WaitsForServer(std::string_view what) {
  return fmt::format("{}for {}: its file server does not answer", kStillWaiting, what);
}

}  // namespace

UserFiles::UserFiles(std::string spool_folder) : spool_folder_(std::move(spool_folder)) {}

UserFiles::~UserFiles() { Drop(); }

void UserFiles::Begin() {
  folder_.clear();
  is_served_ = false;
}

// ------------------------------------------------------------------------------------ the calls

os::Fd UserFiles::Open(const char* path, int flags, std::string_view as, bool make_folders) {
  if (auto answer = Next(Step::kOpen, path)) return TakeFd(*answer);
  if (!in_opener()) {
    if (MayOpen(path, flags)) return OpenNow(path, flags, make_folders);
    errno = Refuse();
    return {};
  }
  ReportWait(WaitsForFile(path, as, "its file server or device does not answer"));
  struct stat info{};
  if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)) {
    ReportWait(WaitsForFile(path, as, "no process has opened the other end of this named pipe"));
  }
  Answer answer{Step::kOpen, 0, path, {}, OpenNow(path, flags, make_folders)};
  if (!answer.fd) answer.error = errno;
  answer.is_local = IsOnDisk(os::DirName(path));
  answer.is_served = answer.fd && IsServedFile(answer.fd.get());
  SendAnswer(answer);
  errno = answer.error;
  return std::move(answer.fd);
}

os::Fd UserFiles::OpenWhole(const char* path, uint64_t most) {
  if (auto answer = Next(Step::kOpen, path)) return TakeFd(*answer);
  constexpr int kHow = O_RDONLY | O_NONBLOCK;
  if (!in_opener()) {
    if (MayOpen(path, kHow)) return OpenNow(path, kHow, false);
    os::Fd below = OpenBelow(path, kHow);
    if (!below && errno != ENOENT) errno = Refuse();
    return below;
  }
  ReportWait(WaitsForServer(fmt::format("'{}'", EscapeForScreen(path))));
  Answer answer{Step::kOpen, 0, path, {}, OpenNow(path, kHow, false)};
  if (answer.fd && IsServedFile(answer.fd.get())) answer.fd = CopyOf(answer.fd.get(), most);
  if (!answer.fd) answer.error = errno;
  answer.is_local = IsOnDisk(os::DirName(path));
  SendAnswer(answer);
  errno = answer.error;
  return std::move(answer.fd);
}

// In the opener, which has the rights of the task's user; the spool folder is ours.
os::Fd UserFiles::CopyOf(int fd, uint64_t most) const {
  struct stat info{};
  if (fstat(fd, &info) != 0) return {};
  os::Fd copy;
  {
    AsOurselves ours;
    copy = OpenNameless(spool_folder_);
  }
  if (!copy || fchmod(copy.get(), info.st_mode & 0777) != 0) return {};
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (most > 0 && size > most) {
    return ftruncate(copy.get(), info.st_size) == 0 ? std::move(copy) : os::Fd();
  }
  std::string piece(kCopyPiece, '\0');
  for (uint64_t at = 0; at < size;) {
    ssize_t got = pread(fd, piece.data(), std::min<uint64_t>(piece.size(), size - at),
                        static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) break;
    for (ssize_t put = 0; put < got;) {
      ssize_t now = write(copy.get(), piece.data() + put, static_cast<size_t>(got - put));
      if (now < 0 && errno != EINTR) return {};
      put += std::max<ssize_t>(now, 0);
    }
    at += static_cast<uint64_t>(got);
  }
  return copy;
}

// The answer has where it is, so that this process enters a folder on its own disks only.
int UserFiles::Enter(const char* folder) {
  if (auto answer = Next(Step::kEnter, folder)) {
    if (answer->error == 0 && answer->is_local && fchdir(answer->fd.get()) != 0) {
      answer->error = errno;
    }
    if (answer->error != 0) return answer->error;
    folder_ = folder;
    is_served_ = !answer->is_local;
    return 0;
  }
  if (!in_opener()) {
    if (!IsKnown(folder)) return Refuse();
    bool is_local = IsLocal(folder);
    if (is_local && chdir(folder) != 0) return errno;
    folder_ = folder;
    is_served_ = !is_local;
    return 0;
  }
  is_served_ = false;
  ReportWait(WaitsForServer(fmt::format("the folder '{}'", EscapeForScreen(folder))));
  Answer answer{Step::kEnter, chdir(folder) == 0 ? 0 : errno, folder, {}, {}};
  if (answer.error == 0) {
    answer.fd.Reset(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!answer.fd) answer.error = errno;
    answer.is_local = IsOnDisk(".");
  }
  SendAnswer(answer);
  folder_ = folder;
  return answer.error;
}

// All or none here: what is removed may not be opened once more by an opener.
int UserFiles::Unlink(const std::vector<std::string>& paths) {
  const std::string key = fmt::format("{}", fmt::join(paths, "\n"));
  if (auto answer = Next(Step::kUnlink, key)) return answer->error;
  auto may_block = [this](const std::string& path) {
    std::string folder = os::DirName(path);
    return !IsLocal(FolderKey(folder)) && !OpenBelow(folder.c_str(), O_PATH | O_DIRECTORY);
  };
  if (!in_opener() && std::ranges::any_of(paths, may_block)) return Refuse();
  Answer answer{Step::kUnlink, 0, key, {}, {}};
  for (const std::string& path : paths) {
    if (in_opener()) ReportWait(WaitsForServer(fmt::format("'{}'", EscapeForScreen(path))));
    if (unlink(path.c_str()) != 0) answer.error = errno;
  }
  if (in_opener()) SendAnswer(answer);
  return answer.error;
}

std::optional<std::string> UserFiles::Evaluate(std::string_view key, std::string_view what,
                                               const Question& ask) {
  if (auto answer = Next(Step::kAsk, key)) return std::move(answer->text);
  if (!in_opener()) {
    if (IsLocal(std::string(key))) return ask(nullptr);
    Refuse();
    return std::nullopt;
  }
  ReportWait(WaitsForServer(what));
  Answer answer{Step::kAsk, 0, std::string(key), {}, {}, true};
  answer.text = ask(&answer.is_local);
  SendAnswer(answer);
  return std::move(answer.text);
}

// A program below a served folder is served, too, or may be.
int UserFiles::TouchProgram(const std::string& program) {
  if (Next(Step::kProgram, program)) return 0;
  if (!in_opener()) {
    const std::string key = ProgramKey(program);
    return key.empty() || IsKnown(key) || !IsServedProgram(program) ? 0 : Refuse();
  }
  ReportWait(WaitsForServer(fmt::format("'{}'", EscapeForScreen(program))));
  Answer answer{Step::kProgram, 0, program, InterpreterOf(program), {}, IsOnDisk(program)};
  if (!answer.text.empty()) {
    ReportWait(WaitsForServer(fmt::format("'{}'", EscapeForScreen(answer.text))));
    os::Fd interpreter(open(answer.text.c_str(), O_RDONLY | O_NONBLOCK | kOpenHow));
    answer.is_local = answer.is_local && IsOnDisk(answer.text);
  }
  SendAnswer(answer);
  return 0;
}

bool UserFiles::IsServedProgram(const std::string& program) {
  const std::string key = ProgramKey(program);
  if (key.empty()) return true;
  if (IsKnown(key)) return !IsLocal(key);
  if (!MayOpen(program.c_str(), O_RDONLY)) return true;
  std::string interpreter = InterpreterOf(program);
  if (!interpreter.empty() && !IsLocal(ProgramKey(interpreter))) return true;
  Learn(key, /*is_local=*/true);
  return false;
}

// A folder that is known may have others mounted in it: even lstat would ask those.
int UserFiles::TouchFolder(const std::string& folder) {
  if (Next(Step::kFolder, folder)) return 0;
  if (!in_opener()) return IsKnown(FolderKey(folder)) ? 0 : Refuse();
  ReportWait(WaitsForServer(fmt::format("'{}'", EscapeForScreen(folder))));
  os::Fd fd(open(folder.c_str(), O_RDONLY | O_NONBLOCK | kOpenHow));
  SendAnswer({Step::kFolder, 0, folder, {}, {}, IsOnDisk(folder)});
  return 0;
}

void UserFiles::Entered(const std::string& folder) {
  folder_ = folder;
  is_served_ = false;
  Learn(folder, /*is_local=*/true);
}

bool UserFiles::Answers(const char* path) const {
  if (in_opener()) return false;
  struct stat info{};
  return IsLocal(FolderKey(os::DirName(path))) &&
         (lstat(path, &info) != 0 || !S_ISLNK(info.st_mode));
}

bool UserFiles::MayOpen(const char* path, int flags) const {
  if (!IsLocal(FolderKey(os::DirName(path)))) return false;
  struct stat info{};
  if (lstat(path, &info) != 0) return errno == ENOENT || (flags & O_CREAT) == 0;
  return S_ISREG(info.st_mode) || S_ISDIR(info.st_mode) || IsPlainDevice(info);
}

// Below the folder that this process is in, without a link or a mounted folder on the way; so it is
// on the same disk. EAGAIN or another errno: that cannot be told.
os::Fd UserFiles::OpenBelow(const char* path, int flags) const {
  if (*path == '/' || is_served_ || !IsLocal(folder_)) {
    errno = EAGAIN;
    return {};
  }
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | kOpenHow);
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return os::Fd(static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how)));
}

int UserFiles::Refuse() {
  needs_opener_ = true;
  return EAGAIN;
}

// -------------------------------------------------------------------------------------- closing

void UserFiles::Write(int fd, std::string_view text) {
  auto served = std::ranges::find(served_, fd, &Served::fd);
  if (served == served_.end()) return WriteNow(fd, text);
  served->last_words += text;
}

void UserFiles::Close(os::Fd fd) {
  auto served = std::ranges::find(served_, fd.get(), &Served::fd);
  if (!fd || served == served_.end()) return;
  (void)fd.Release();
  closing_.push_back(std::move(*served));
  served_.erase(served);
}

os::Fd UserFiles::Raise(os::Fd fd, int lowest) {
  os::Fd raised(fcntl(fd.get(), F_DUPFD_CLOEXEC, lowest));
  int error = errno;
  auto served = std::ranges::find(served_, fd.get(), &Served::fd);
  if (raised && served != served_.end()) {
    served_.push_back({raised.get(), std::exchange(served->path, {}), {}});
  }
  Close(std::move(fd));
  errno = error;
  return raised;
}

// It shares our descriptors: what it closes is closed here, too, at once, and it alone waits for
// the server.
int UserFiles::StartClosing() {
  std::vector<std::string> names;
  for (const Served& one : closing_) {
    if (!one.path.empty()) names.push_back(fmt::format("'{}'", EscapeForScreen(one.path)));
  }
  pid_t parent = getpid();
  long child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return errno;
  if (child == 0) BeCloser(parent);
  pid_ = static_cast<pid_t>(child);
  is_closer_ = true;
  closing_.clear();
  waits_for_ = WaitsForServer(fmt::format("{} to be closed", fmt::join(names, ", ")));
  return 0;
}

void UserFiles::BeCloser(pid_t parent) {
  prctl(PR_SET_NAME, "spate-closer", 0, 0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) _exit(1);
  for (const Served& one : closing_) {
    if (!one.last_words.empty()) WriteNow(one.fd, one.last_words);
  }
  for (const Served& one : closing_) close(one.fd);
  _exit(0);
}

bool UserFiles::CloseAll(int64_t patience) {
  if (!HasToClose()) return true;
  if (StartClosing() != 0) return false;
  bool closed = AwaitEnd(patience);
  Drop();
  return closed;
}

// ---------------------------------------------------------------------------------- the answers

// The answer to this very call. Others are of no use when the order is not the opener's.
std::optional<UserFiles::Answer> UserFiles::Next(Step call, std::string_view key) {
  if (in_opener() || is_busy() || answers_.empty()) return std::nullopt;
  if (answers_.front().call != call || answers_.front().key != key) {
    ForgetAnswers();
    return std::nullopt;
  }
  Answer answer = std::move(answers_.front());
  answers_.pop_front();
  return answer;
}

os::Fd UserFiles::TakeFd(Answer& answer) {
  if (answer.is_served && answer.fd) served_.push_back({answer.fd.get(), answer.key, {}});
  errno = answer.error;
  return std::move(answer.fd);
}

void UserFiles::Forget() {
  ForgetAnswers();
  needs_opener_ = false;
}

void UserFiles::ForgetAnswers() {
  for (Answer& answer : answers_) Close(TakeFd(answer));
  answers_.clear();
}

// For a served folder it is not known what lies where in it.
std::string UserFiles::FolderKey(std::string_view folder) const {
  if (folder.starts_with('/')) return std::string(folder);
  if (folder_.empty() || is_served_) return {};
  return folder == "." ? folder_ : os::JoinPath(folder_, folder);
}

std::string UserFiles::ProgramKey(const std::string& program) const {
  std::string path = FolderKey(program);
  return path.empty() ? path : "#!" + path;
}

bool UserFiles::IsKnown(const std::string& key) const {
  if (key.empty()) return false;
  auto place = places_.find(key);
  return place != places_.end() && os::MonotonicNanos() < place->second.until;
}

bool UserFiles::IsLocal(const std::string& key) const {
  return IsKnown(key) && places_.find(key)->second.is_local;
}

void UserFiles::Learn(const std::string& key, bool is_local) {
  if (key.empty()) return;
  if (places_.size() >= kMostPlaces) places_.clear();
  places_[key] = {is_local, os::MonotonicNanos() + kBelieved};
}

void UserFiles::Learn(const Answer& answer) {
  switch (answer.call) {
    case Step::kOpen:
      if (answer.is_local) Learn(FolderKey(os::DirName(answer.key)), true);
      return;
    case Step::kEnter:
      if (answer.error == 0) {
        folder_ = answer.key;
        is_served_ = !answer.is_local;
        Learn(answer.key, answer.is_local);
      }
      return;
    case Step::kAsk:
      Learn(answer.key, answer.is_local);
      return;
    case Step::kProgram:
      Learn(ProgramKey(answer.key), answer.is_local);
      if (answer.is_local && !answer.text.empty()) Learn(ProgramKey(answer.text), true);
      return;
    case Step::kFolder:
      Learn(FolderKey(answer.key), answer.is_local);
      return;
    case Step::kBegin:
    case Step::kUnlink:
    case Step::kTrouble:
    case Step::kEnd:
      return;
  }
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
  SendAnswer({Step::kEnd, 0, {}, {}, {}});
  _exit(0);
}

// A change of user has undone the wish to die with the parent.
void UserFiles::ReportWait(const std::string& waits_for) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  SendAnswer({Step::kBegin, 0, {}, waits_for, {}});
  if (!std::exchange(is_served_, false) || chdir(folder_.c_str()) == 0) return;
  SendAnswer({Step::kTrouble,
              0,
              {},
              fmt::format("cannot enter the task's folder '{}': {}", EscapeForScreen(folder_),
                          os::TextOfErrno(errno)),
              {}});
  _exit(0);
}

void UserFiles::SendAnswer(const Answer& answer) const {
  int fd = answer.fd.get();
  Head head{static_cast<uint8_t>(answer.call),
            fd >= 0,
            answer.is_local,
            answer.is_served,
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
    while (AcceptAnswer()) {
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
bool UserFiles::AcceptAnswer() {
  Head head;
  if (!is_busy() || bytes_.size() < sizeof head) return false;
  std::memcpy(&head, bytes_.data(), sizeof head);
  size_t size = sizeof head + head.key + head.text;
  if (bytes_.size() < size) return false;
  Answer answer{static_cast<Step>(head.call),
                head.error,
                bytes_.substr(sizeof head, head.key),
                bytes_.substr(sizeof head + head.key, head.text),
                {}};
  bytes_.erase(0, size);
  answer.is_local = head.is_local != 0;
  answer.is_served = head.is_served != 0;
  if (head.has_fd != 0 && !fds_.empty()) {
    answer.fd = std::move(fds_.front());
    fds_.pop_front();
    if (!answer.fd) answer.error = EMFILE;
  }
  switch (answer.call) {
    case Step::kBegin:
      waits_for_ = std::move(answer.text);
      return true;
    case Step::kTrouble:
      Drop();
      Reap();
      trouble_ = std::move(answer.text);
      return false;
    case Step::kEnd:
      waits_for_.clear();
      socket_.Reset();
      Reap();
      return false;
    case Step::kOpen:
    case Step::kEnter:
    case Step::kUnlink:
    case Step::kAsk:
    case Step::kProgram:
    case Step::kFolder:
      Learn(answer);
      answers_.push_back(std::move(answer));
  }
  return true;
}

// One that has sent all its answers, or has closed its socket, does nothing more that could block.
void UserFiles::Reap() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

std::string UserFiles::DrainTrouble() { return std::exchange(trouble_, {}); }

bool UserFiles::Ended(pid_t pid) {
  if (pid_ == 0 || pid != pid_) return false;
  pid_ = 0;
  is_closer_ = false;
  return true;
}

// A descriptor that has come without its answer may be of a served file.
void UserFiles::Drop() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  socket_.Reset();
  waits_for_.clear();
  bytes_.clear();
  for (os::Fd& fd : fds_) {
    if (fd) closing_.push_back({fd.Release(), {}, {}});
  }
  fds_.clear();
  Forget();
}

bool UserFiles::End(int64_t patience) {
  Drop();
  return AwaitEnd(patience);
}

bool UserFiles::AwaitEnd(int64_t patience) {
  int64_t until = os::MonotonicNanos() + patience;
  while (pid_ > 0) {
    pid_t got = waitpid(pid_, nullptr, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) (void)Ended(pid_);
    if (pid_ == 0) break;
    if (os::MonotonicNanos() >= until) return false;
    TreeKiller::AwaitChild(1'000'000);
  }
  return true;
}

}  // namespace spate::shepherd
