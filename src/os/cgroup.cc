// Cgroup and CgroupTree: plain files below /sys/fs/cgroup.
//
// A child cgroup has memory.max and the like only when its parent's cgroup.subtree_control names
// the controller, and no cgroup but the root may both hold processes and hand controllers down
// ("no internal processes"). Hence CgroupTree::HandDown: write; on EBUSY, when no other process is
// in the parent, move ourselves into TREE/main and write again; else do without the controller.
//
// Kernels: cgroup.freeze 5.2, cgroup.kill 5.14, memory.peak 5.19, its reset 6.12. Older ones lack
// the file, which is all that is asked. An owner's files are opened once; an attempt costs a read
// and a write, none where there is no controller.
//
// memory.oom.group stays off: it would take the shepherd along. The kernel kills the largest
// process, and the shepherd, told by memory.events, the rest.
//
// Tasks are not put into a cgroup apart from the shepherd's by clone3: that costs each 10 us, and
// since Linux 6.14 a child born into a cgroup that was ever killed, while its parent's was not, is
// killed at once (the kernel compares the counts of kills of the two).
#include "os/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>

#include "base/units.h"
#include "os/clock.h"
#include "os/error.h"
#include "os/file.h"

namespace spate::os {
namespace {

constexpr std::string_view kPrefix = "spate-";
// Behind the name of a tree whose owner holds a lock on it.
constexpr std::string_view kHeld = ".held";
// Behind the name of a slot's cgroup: where its owner is while it does what would meet itself, too.
constexpr std::string_view kAside = "-aside";
constexpr size_t kFileLimit = 1 << 20;

std::string ReadText(const std::string& path) { return ReadFile(path, kFileLimit).value_or(""); }

bool HasWord(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (text.substr(0, end) == word) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

uint64_t NumberIn(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The number behind `key` in a flat keyed file like memory.events; 0: there is none.
uint64_t NumberOf(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const std::string_view rest = text.substr(at + key.size());
    if ((at == 0 || text[at - 1] == '\n') && rest.starts_with(' ')) return NumberIn(rest.substr(1));
  }
  return 0;
}

std::string_view ReadFromStart(const Fd& fd, std::span<char> buffer) {
  ssize_t got = pread(fd.get(), buffer.data(), buffer.size(), 0);
  return got > 0 ? std::string_view(buffer.data(), static_cast<size_t>(got)) : std::string_view();
}

std::vector<std::string> FoldersIn(const std::string& dir) {
  std::vector<std::string> names;
  auto entries = ListDir(dir);
  if (!entries) return names;
  for (DirEntry& entry : *entries) {
    if (entry.kind == FileKind::kDir) names.push_back(std::move(entry.name));
  }
  return names;
}

std::vector<Pid> PidsIn(const std::string& dir) {
  std::vector<Pid> pids;
  std::string text = ReadText(dir + "/cgroup.procs");
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    Pid pid = 0;
    auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec == std::errc()) pids.push_back(pid);
    at = std::max(parsed.ptr, at) + 1;
  }
  return pids;
}

// Below first, so that each folder is empty when its turn comes.
void KillEach(const std::string& dir) {
  for (const std::string& name : FoldersIn(dir)) KillEach(dir + "/" + name);
  for (Pid pid : PidsIn(dir)) {
    if (pid > 0) kill(pid, SIGKILL);
  }
}

bool RemoveFolders(const std::string& dir) {
  for (const std::string& name : FoldersIn(dir)) RemoveFolders(dir + "/" + name);
  return rmdir(dir.c_str()) == 0 || errno == ENOENT;
}

// Writes once, as these files want it. errno is that of the failure.
bool WriteOnce(const std::string& path, std::string_view text) {
  Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// True if nothing is left here and below in time.
bool KillOthers(const std::string& dir, Duration patience) {
  auto is_empty = [&] { return NumberOf(ReadText(dir + "/cgroup.events"), "populated") == 0; };
  const int64_t end = MonotonicNanos() + patience.ns;
  // The file tells by POLLPRI that a cgroup became empty.
  Fd events(open((dir + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  for (;;) {
    if (is_empty()) return true;
    if (!WriteOnce(dir + "/cgroup.kill", "1")) {
      WriteOnce(dir + "/cgroup.freeze", "1");
      KillEach(dir);
      WriteOnce(dir + "/cgroup.freeze", "0");
    }
    if (is_empty()) return true;
    const int64_t left = end - MonotonicNanos();
    if (left <= 0) return false;
    pollfd p{.fd = events.get(), .events = POLLPRI, .revents = 0};
    poll(&p, 1, static_cast<int>(std::min<int64_t>(left / 1000000 + 1, 20)));
    char text[256];
    (void)!pread(events.get(), text, sizeof text, 0);  // takes the news, or poll says it again
  }
}

Fd OpenFolder(const std::string& dir) {
  return Fd(open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// The folder, made and locked; else errno says why not. Somebody who sweeps may lock a fresh one
// for a moment, and remove it.
Fd MakeLocked(const std::string& dir) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    if (mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return {};
    Fd folder = OpenFolder(dir);
    if (!folder && errno != ENOENT) return {};
    struct stat ours{};
    struct stat there{};
    bool locked = folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
    if (locked && fstat(folder.get(), &ours) == 0 && stat(dir.c_str(), &there) == 0 &&
        ours.st_ino == there.st_ino) {
      return folder;
    }
    poll(nullptr, 0, 10);
  }
  errno = EBUSY;
  return {};
}

bool TakesNoProcess(const std::string& dir) {
  return ReadText(dir + "/cgroup.type").starts_with("domain invalid");
}

// Advice on missing rights, if there is any.
std::string_view Hint(const std::string& root = "") {
  return Exists(root + "/run/systemd/system")
             ? "; start it with `systemd-run --user --scope -p Delegate=yes` to change that"
             : "";
}

}  // namespace

// --------------------------------------------------------------------------------------- Cgroup

std::vector<Pid> Cgroup::Pids() const { return PidsIn(dir_); }

bool Cgroup::IsPopulated() const {
  return NumberOf(ReadText(File("cgroup.events")), "populated") != 0;
}

std::string Cgroup::Aside() const { return dir_ + std::string(kAside); }

// cgroup.kill and cgroup.freeze spare nobody, so an owner steps aside for a while.
bool Cgroup::StepAside() {
  if (frozen_ || !entered_) return true;
  const std::string aside = Aside();
  if (mkdir(aside.c_str(), 0777) != 0 && errno != EEXIST) return false;
  // Visitors of a frozen task are there, too: their memory is as bounded as if they were with it.
  if (holds_.memory) {
    WriteOnce(aside + "/memory.max", fmt::format("{}", set_.at("memory.max")));
    WriteOnce(aside + "/memory.swap.max", "0");
  }
  return WriteOnce(aside + "/cgroup.procs", "0");
}

// A frozen process that leaves a frozen cgroup runs.
void Cgroup::MoveAside(const std::vector<Pid>& pids) {
  if (!frozen_ || !entered_) return;
  for (Pid pid : pids) WriteOnce(Aside() + "/cgroup.procs", fmt::format("{}", pid));
}

void Cgroup::StepBack() {
  if (frozen_ || !entered_) return;
  WriteOnce(File("cgroup.procs"), "0");
  // Those that were born meanwhile are met in the next round.
  constexpr int kRounds = 100;
  for (int i = 0; i < kRounds && rmdir(Aside().c_str()) != 0 && errno == EBUSY; ++i) {
    for (Pid pid : PidsIn(Aside())) WriteOnce(File("cgroup.procs"), fmt::format("{}", pid));
  }
}

bool Cgroup::Freeze() {
  if (dir_.empty() || frozen_) return frozen_;
  const bool frozen = StepAside() && WriteOnce(File("cgroup.freeze"), "1");
  if (!frozen) StepBack();
  frozen_ = frozen;
  return frozen_;
}

bool Cgroup::StandsStill() const {
  return frozen_ && NumberOf(ReadText(File("cgroup.events")), "frozen") == 1;
}

void Cgroup::Thaw() {
  if (!frozen_) return;
  WriteOnce(File("cgroup.freeze"), "0");
  frozen_ = false;
  StepBack();
}

Status Cgroup::KillAll(Duration patience) {
  if (dir_.empty()) return {};
  if (!StepAside()) return FailErrno("leave the cgroup", dir_);
  const bool killed = KillOthers(dir_, patience);
  StepBack();
  if (killed) return {};
  return Fail(ErrorKind::kBusy,
              fmt::format("{} processes in '{}' do not end although they were killed",
                          Pids().size(), dir_));
}

Status Cgroup::Remove(Duration patience) {
  if (RemoveFolders(dir_)) return {};
  TRY(KillAll(patience));
  // A dying process may hold its cgroup for another moment.
  int64_t end = MonotonicNanos() + std::max<int64_t>(patience.ns, 100'000'000);
  while (!RemoveFolders(dir_)) {
    if (errno != EBUSY || MonotonicNanos() > end) return FailErrno("remove", dir_);
    poll(nullptr, 0, 1);
  }
  return {};
}

// ---- Of an owner

// The folder's name is enough: the launcher put us there or nobody did.
bool Cgroup::IsHere() const {
  const std::string text = ReadText("/proc/self/cgroup");
  size_t at = text.find("0::");
  if (at == text.npos || (at != 0 && text[at - 1] != '\n')) return false;
  std::string_view mine = std::string_view(text).substr(at + 3);
  mine = mine.substr(0, mine.find('\n'));
  return mine.size() > 1 && dir_.ends_with(mine);
}

void Cgroup::Enter() {
  if (dir_.empty()) return;
  if (!IsHere() && !WriteOnce(File("cgroup.procs"), "0")) {
    dir_.clear();  // our tasks are not there, and what froze or killed it would not meet them
    return;
  }
  entered_ = true;
  auto file = [this](const char* name, int how) {
    return Fd(open(File(name).c_str(), how | O_CLOEXEC));
  };
  memory_events_ = file("memory.events", O_RDONLY);
  process_events_ = file("pids.events", O_RDONLY);
  processes_now_ = file("pids.current", O_RDONLY);
  cpu_stat_ = file("cpu.stat", O_RDONLY);
  memory_now_ = file("memory.current", O_RDONLY);
  memory_stat_ = file("memory.stat", O_RDONLY);
  memory_peak_ = file("memory.peak", O_RDWR);
  can_reset_peak_ = memory_peak_ && write(memory_peak_.get(), "reset\n", 6) == 6;
  if (!memory_peak_) memory_peak_ = file("memory.peak", O_RDONLY);
}

// True if the file has the value now. Files that were never there stay so while we are here.
bool Cgroup::Set(const char* file, uint64_t value, std::string text) {
  if (dir_.empty()) return false;
  auto [at, is_new] = set_.try_emplace(file, UINT64_MAX - 1);
  if (at->second == UINT64_MAX) return false;
  if (at->second == value) return true;
  if (WriteOnce(File(file), text)) {
    at->second = value;
    return true;
  }
  at->second = is_new && errno == ENOENT ? UINT64_MAX : UINT64_MAX - 1;
  return false;
}

void Cgroup::Limit(const CgroupLimits& limits) {
  auto set_most = [this](const char* file, uint64_t most) {
    return Set(file, most, most == 0 ? "max" : fmt::format("{}", most)) && most != 0;
  };
  holds_.memory = set_most("memory.max", limits.memory);
  const bool swaps = limits.memory == 0 && limits.memory_high == 0;
  (void)Set("memory.swap.max", swaps ? 1 : 0, swaps ? "max" : "0");
  holds_.memory_high = set_most("memory.high", limits.memory_high);
  holds_.memory_low = Set("memory.low", limits.memory_low, fmt::format("{}", limits.memory_low)) &&
                      limits.memory_low != 0;
  holds_.processes = set_most("pids.max", limits.processes);
  holds_.cpu_weight =
      Set("cpu.weight", limits.cpu_weight, fmt::format("{}", std::max(limits.cpu_weight, 1u)));
  constexpr uint64_t kPeriod = 100'000;  // microseconds
  const uint64_t quota = std::max<uint64_t>(limits.milli_cpus * (kPeriod / 1000), 1000);
  holds_.milli_cpus = Set("cpu.max", limits.milli_cpus,
                          limits.milli_cpus == 0 ? "max" : fmt::format("{} {}", quota, kPeriod)) &&
                      limits.milli_cpus != 0;
}

void Cgroup::Begin(const CgroupLimits& limits) {
  Limit(limits);
  if (holds_.memory) oom_kills_before_ = OomKills();
  if (holds_.processes) failed_forks_before_ = FailedForks();
  if (!memory_peak_) return;
  if (can_reset_peak_) {
    can_reset_peak_ = write(memory_peak_.get(), "reset\n", 6) == 6;
  } else {
    char buffer[32];
    peak_before_ = NumberIn(ReadFromStart(memory_peak_, buffer));
  }
}

std::optional<uint64_t> Cgroup::Peak() const {
  if (!memory_peak_) return std::nullopt;
  char buffer[32];
  uint64_t peak = NumberIn(ReadFromStart(memory_peak_, buffer));
  if (peak == 0 || (!can_reset_peak_ && peak <= peak_before_)) return std::nullopt;
  return peak;
}

std::optional<uint64_t> Cgroup::Used() const {
  if (!memory_now_ || !memory_stat_) return std::nullopt;
  char buffer[32];
  uint64_t now = NumberIn(ReadFromStart(memory_now_, buffer));
  return now - std::min(now, Cache());
}

// "file" has shared memory in it, which is no cache: nothing else holds it.
uint64_t Cgroup::Cache() const {
  char buffer[8192];
  std::string_view text = ReadFromStart(memory_stat_, buffer);
  uint64_t file = NumberOf(text, "file");
  return file - std::min(file, NumberOf(text, "shmem"));
}

void Cgroup::HearEvents() const {
  char buffer[512];
  for (const Fd* events : {&memory_events_, &process_events_}) {
    if (*events) (void)ReadFromStart(*events, buffer);
  }
}

uint64_t Cgroup::FailedForks() const {
  char buffer[128];
  return NumberOf(ReadFromStart(process_events_, buffer), "max");
}

void Cgroup::LiftHigh(bool memory) {
  (memory ? holds_.memory_high : holds_.processes) = false;
  (void)Set(memory ? "memory.high" : "pids.max", 0, "max");
}

std::optional<uint64_t> Cgroup::Processes() const {
  if (!processes_now_) return std::nullopt;
  char buffer[32];
  return NumberIn(ReadFromStart(processes_now_, buffer));
}

std::optional<Duration> Cgroup::CpuTime() const {
  if (!cpu_stat_) return std::nullopt;
  char buffer[1024];
  const std::string_view text = ReadFromStart(cpu_stat_, buffer);
  if (text.empty()) return std::nullopt;
  return Duration{static_cast<int64_t>(NumberOf(text, "usage_usec")) * 1000};
}

uint64_t Cgroup::OomKills() const {
  char buffer[512];
  return NumberOf(ReadFromStart(memory_events_, buffer), "oom_kill");
}

// ----------------------------------------------------------------------------------- CgroupTree

CgroupTree::CgroupTree(std::string parent, std::string dir)
    : parent_(std::move(parent)), dir_(std::move(dir)) {}

Result<std::unique_ptr<CgroupTree>> CgroupTree::Create(const CgroupPlaces& places,
                                                       std::string_view node) {
  if (places.v2_dir.empty() || places.v2_read_only) {
    return Fail(ErrorKind::kUnavailable, DescribeCgroups(places));
  }
  if (!Exists(places.v2_dir)) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("no cgroup is used: '{}' is not there", places.v2_dir));
  }
  std::string word = node.empty() ? "" : fmt::format("node-{}-", node);
  std::string name =
      fmt::format("{}{}{}-{}{}", kPrefix, word, getpid(), StartTimeOf(getpid()), kHeld);
  std::unique_ptr<CgroupTree> tree(new CgroupTree(places.v2_dir, JoinPath(places.v2_dir, name)));
  tree->lock_ = MakeLocked(tree->dir_);
  if (!tree->lock_) {
    tree->removed_ = true;
    std::string why =
        errno == EACCES || errno == EPERM || errno == EROFS
            ? fmt::format("this user may not make any in '{}'{}", places.v2_dir, Hint())
            : fmt::format("none can be made in '{}' ({})", places.v2_dir, TextOfErrno(errno));
    return Fail(ErrorKind::kUnavailable, "no cgroup is used: " + why);
  }
  // The first process to enter a slot must be allowed to; better to know now.
  if (!MayAccess(JoinPath(places.v2_dir, "cgroup.procs"), "w")) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("no cgroup is used: this user may not move processes out of '{}'{}",
                            places.v2_dir, Hint()));
  }
  if (TakesNoProcess(tree->dir_)) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("no cgroup is used: '{}' is split by threads", places.v2_dir));
  }
  std::string no_memory = tree->HandDown("memory", &tree->has_memory_);
  // Their absence is stated where a limit needs them (EnforcedLimit).
  (void)tree->HandDown("pids", &tree->has_pids_);
  (void)tree->HandDown("cpu", &tree->has_cpu_);
  // A slot's guarantee counts only as far as all cgroups above it have one.
  if (tree->has_memory_) WriteOnce(JoinPath(tree->dir_, "memory.low"), "max");
  if (no_memory.starts_with("no ") && places.FindV1("memory") != nullptr) {
    no_memory = "its controller belongs to cgroup v1 on this machine";
  }
  tree->description_ = fmt::format("cgroup v2 in '{}' contains tasks", tree->dir_);
  if (tree->has_memory_) {
    tree->description_ += ", limits and measures their memory";
  } else {
    tree->description_ += ", but does not limit memory: " + no_memory;
  }
  return tree;
}

CgroupTree::~CgroupTree() {
  if (!removed_) (void)Remove(Duration::Millis(200));
}

std::string CgroupTree::HandDown(std::string_view controller, bool* handed) {
  if (!HasWord(ReadText(parent_ + "/cgroup.controllers"), controller)) {
    return fmt::format("no {} controller is offered in '{}'", controller, parent_);
  }
  std::string plus = fmt::format("+{}", controller);
  std::string control = parent_ + "/cgroup.subtree_control";
  if (!HasWord(ReadText(control), controller)) {
    bool written = WriteToParent(controller);
    if (!written && errno == EBUSY && MoveSelfDown()) written = WriteToParent(controller);
    if (!written) {
      return errno == EBUSY
                 ? fmt::format("other processes are in '{}' too{}", parent_, Hint())
                 : fmt::format("'{}' does not hand it down ({})", parent_, TextOfErrno(errno));
    }
    handed_by_us_ += fmt::format("{}-{}", handed_by_us_.empty() ? "" : " ", controller);
  }
  if (!WriteOnce(dir_ + "/cgroup.subtree_control", plus)) {
    return fmt::format("'{}' does not hand it down ({})", dir_, TextOfErrno(errno));
  }
  *handed = true;
  return "";
}

// A controller that may be split by threads, as pids, can be handed down beside processes, but only
// to cgroups of threads: ours turns "domain invalid" and takes no process. That is EBUSY to us.
bool CgroupTree::WriteToParent(std::string_view controller) {
  std::string control = parent_ + "/cgroup.subtree_control";
  if (!WriteOnce(control, fmt::format("+{}", controller))) return false;
  if (!TakesNoProcess(dir_)) return true;
  WriteOnce(control, fmt::format("-{}", controller));
  errno = EBUSY;
  return false;
}

bool CgroupTree::MoveSelfDown() {
  std::vector<Pid> pids = PidsIn(parent_);
  bool alone = pids.size() == 1 && pids.front() == getpid();
  if (moved_ || !alone) {
    errno = EBUSY;
    return false;
  }
  std::string main = dir_ + "/main";
  if (mkdir(main.c_str(), 0755) != 0 && errno != EEXIST) return false;
  moved_ = WriteOnce(main + "/cgroup.procs", "0");
  return moved_;
}

Status CgroupTree::Remove(Duration patience) {
  Status status;
  for (const std::string& name : FoldersIn(dir_)) {
    if (name == "main" && moved_) continue;
    Status gone = Cgroup(dir_ + "/" + name).Remove(patience);
    if (!gone) status = std::move(gone);
  }
  if (!status) return status;
  // Controllers first: with them our old cgroup takes no process back.
  WriteOnce(dir_ + "/cgroup.subtree_control", "-memory");
  WriteOnce(dir_ + "/cgroup.subtree_control", "-pids");
  WriteOnce(dir_ + "/cgroup.subtree_control", "-cpu");
  if (!handed_by_us_.empty()) WriteOnce(parent_ + "/cgroup.subtree_control", handed_by_us_);
  if (moved_ && !WriteOnce(parent_ + "/cgroup.procs", "0")) {
    return FailErrno("return to the cgroup", parent_);
  }
  if (!RemoveFolders(dir_)) return FailErrno("remove", dir_);
  removed_ = true;
  return {};
}

// ------------------------------------------------------------------------------ sweep, describe

namespace {

// True if `name` is PREFIX and then PID-STARTTIME.held.
bool IsTree(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(kHeld)) return false;
  const char* end = name.data() + name.size() - kHeld.size();
  Pid pid = 0;
  uint64_t start_time = 0;
  auto first = std::from_chars(name.data() + prefix.size(), end, pid);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return false;
  auto second = std::from_chars(first.ptr + 1, end, start_time);
  return second.ec == std::errc() && second.ptr == end;
}

// The lock of a tree whose owner is dead; else nothing.
Fd LockOfTheDead(const std::string& dir, std::string_view prefix) {
  if (!IsTree(BaseName(dir), prefix)) return {};
  Fd folder = OpenFolder(dir);
  if (!folder || flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return folder;
}

// "spate-node-WORD-" of a node's tree; else empty.
std::string PrefixOfNode(const std::string& name) {
  size_t word = name.rfind('-', name.rfind('-') - 1) + 1;
  return name.starts_with(fmt::format("{}node-", kPrefix)) ? name.substr(0, word) : "";
}

}  // namespace

uint32_t SweepCgroups(const CgroupPlaces& places, Duration patience) {
  if (places.v2_dir.empty() || places.v2_read_only) return 0;
  uint32_t swept = 0;
  for (const std::string& name : FoldersIn(places.v2_dir)) {
    std::string dir = JoinPath(places.v2_dir, name);
    std::string node = PrefixOfNode(name);
    Fd lock = LockOfTheDead(dir, node.empty() ? std::string(kPrefix) : node);
    if (!lock) continue;
    // A node's next process adopts or ends what runs in its cgroup.
    bool swept_now = node.empty() ? Cgroup(dir).Remove(patience).has_value()
                                  : !Cgroup(dir).IsPopulated() && RemoveFolders(dir);
    if (swept_now) ++swept;
  }
  return swept;
}

uint32_t SweepNodeCgroups(const std::string& own, const std::vector<Pid>& keep, Duration patience) {
  std::string prefix = PrefixOfNode(BaseName(own));
  if (prefix.empty()) return 0;
  uint32_t swept = 0;
  for (const std::string& tree : FoldersIn(DirName(own))) {
    std::string dir = JoinPath(DirName(own), tree);
    Fd lock = LockOfTheDead(dir, prefix);
    if (!lock) continue;
    bool in_use = false;
    for (const std::string& slot : FoldersIn(dir)) {
      Cgroup cgroup(JoinPath(dir, slot));
      std::vector<Pid> pids = cgroup.Pids();
      std::vector<Pid> aside = Cgroup(JoinPath(dir, slot + std::string(kAside))).Pids();
      pids.insert(pids.end(), aside.begin(), aside.end());
      bool kept =
          std::find_first_of(pids.begin(), pids.end(), keep.begin(), keep.end()) != pids.end();
      in_use = in_use || kept;
      if (!kept && cgroup.Remove(patience)) ++swept;
    }
    if (!in_use) (void)RemoveFolders(dir);
  }
  return swept;
}

std::string DescribeCgroups(const CgroupPlaces& places, const std::string& root) {
  if (places.v2_mount.empty()) {
    return places.v1.empty()
               ? "no cgroup is used: none is mounted on this machine"
               : "no cgroup is used: this machine has cgroup v1 only, which is not supported";
  }
  if (places.v2_dir.empty()) {
    return fmt::format("no cgroup is used: the one of this process is not visible below '{}'",
                       places.v2_mount);
  }
  if (places.v2_read_only) {
    return fmt::format("no cgroup is used: '{}' is mounted read-only", places.v2_mount);
  }
  std::string dir = root + places.v2_dir;
  if (!Exists(dir)) {
    return fmt::format("no cgroup is used: '{}' does not exist", places.v2_dir);
  }
  if (!MayAccess(dir, "wx") || !MayAccess(dir + "/cgroup.procs", "w")) {
    return fmt::format("no cgroup is used: this user may not make any in '{}'{}", places.v2_dir,
                       Hint(root));
  }
  if (!HasWord(ReadText(dir + "/cgroup.controllers"), "memory")) {
    return fmt::format(
        "cgroup v2 in '{}' can contain tasks, but not limit memory: {}", places.v2_dir,
        places.FindV1("memory") != nullptr ? "its controller belongs to cgroup v1 on this machine"
                                           : "it offers no memory controller");
  }
  return fmt::format("cgroup v2 in '{}' can contain tasks and limit memory", places.v2_dir);
}

}  // namespace spate::os
