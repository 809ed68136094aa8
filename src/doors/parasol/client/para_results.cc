#include "doors/parasol/client/para_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "client/collecting.h"
#include "doors/parasol/client/results_lines.h"
#include "doors/parasol/client/site_setting.h"
#include "format/lines.h"
#include "os/account.h"
#include "os/background.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"
#include "os/signals.h"

namespace spate::parasol {
namespace {

constexpr const char* kEntry = "__para-results";
constexpr Duration kLockPatience = Duration::Seconds(60);
constexpr Duration kFollowerPause = Duration::Millis(10);
constexpr Duration kFollowerPatience = Duration::Seconds(2);
constexpr Duration kCatchUpEvery = Duration::Millis(500);
constexpr Duration kFirstResultsPause = Duration::Millis(200);
constexpr Duration kLongestResultsPause = Duration::Seconds(30);
constexpr Duration kHubAwayMost = Duration::Seconds(24 * 3600);

using client::Place;

std::string_view IdOf(std::string_view line) {
  format::TakeWord(&line);  // status and host
  format::TakeWord(&line);
  return format::TakeWord(&line);
}

// A file of results that was there, and was removed.
enum class Missing : uint8_t { kIsMade, kStays };

// The file while lines are added to it. Without Finish it stays as it was.
class ResultsFile {
 public:
  static Result<ResultsFile> Open(const ParaState& state, Missing missing);
  ResultsFile(ResultsFile&&) = default;
  ~ResultsFile() {
    if (file_ && end_ > begin_) (void)os::Truncate(file_.get(), begin_, path_);
  }
  const Place& place() const { return place_; }
  // Pieces of lines, in order.
  Status Take(std::string_view bytes);
  // All ends up to this position are there.
  Status Finish(uint64_t position, int64_t created);

 private:
  explicit ResultsFile(const ParaState& state)
      : path_(state.results()), place_path_(state.Place()) {}
  Status LookAtTail();

  std::string path_, place_path_;
  os::Fd file_;
  Place place_;
  uint64_t begin_ = 0, end_ = 0;           // of what we add
  std::unordered_set<std::string> there_;  // ids behind the place: a killed process wrote them
  std::string part_;                       // of a line whose end has not come
};

Result<ResultsFile> ResultsFile::Open(const ParaState& state, Missing missing) {
  ResultsFile file(state);
  file.place_ = client::ReadPlace(file.place_path_);
  bool removed = file.place_.bytes > 0 && !os::Exists(file.path_);
  if (removed && missing == Missing::kStays) {
    return Fail(ErrorKind::kNotFound, "the results were removed");
  }
  auto fd = os::OpenWrite(file.path_, os::OpenHow::kReadWrite);
  if (!fd) return std::unexpected(std::move(fd.error()));
  file.file_ = std::move(*fd);
  if (auto looked = file.LookAtTail(); !looked) return std::unexpected(std::move(looked.error()));
  return file;
}

Status ResultsFile::LookAtTail() {
  auto info = os::Stat(path_);
  if (!info) return std::unexpected(std::move(info.error()));
  begin_ = end_ = info->size;
  if (end_ <= place_.bytes) return {};
  auto tail = os::ReadAt(file_.get(), place_.bytes, end_ - place_.bytes, path_);
  if (!tail) return std::unexpected(std::move(tail.error()));
  // A line that was cut off comes anew.
  size_t whole = tail->rfind('\n') + 1;
  if (whole < tail->size()) {
    begin_ = end_ = place_.bytes + whole;
    if (auto cut = os::Truncate(file_.get(), end_, path_); !cut) return cut;
  }
  std::string_view rest = std::string_view(*tail).substr(0, whole);
  while (auto line = format::TakeLine(&rest)) there_.emplace(IdOf(*line));
  return {};
}

Status ResultsFile::Take(std::string_view bytes) {
  part_ += bytes;
  size_t whole = part_.rfind('\n') + 1;
  std::string lines;
  if (there_.empty()) {
    lines = part_.substr(0, whole);
  } else {
    std::string_view rest = std::string_view(part_).substr(0, whole);
    while (auto line = format::TakeLine(&rest)) {
      if (!there_.contains(std::string(IdOf(*line)))) lines.append(*line).push_back('\n');
    }
  }
  part_.erase(0, whole);
  if (lines.empty()) return {};
  auto written = os::WriteAllAt(file_.get(), lines, end_, path_);
  end_ += lines.size();  // or a part of them, which goes with the rest
  return written;
}

Status ResultsFile::Finish(uint64_t position, int64_t created) {
  if (position == place_.position && created == place_.created && end_ == place_.bytes) return {};
  // What the place says to be there must outlive the machine.
  if (end_ > begin_) {
    if (auto synced = os::Fsync(file_.get(), path_); !synced) return synced;
  }
  begin_ = end_;
  return os::WriteFile(place_path_, client::FormatPlace({position, created, end_}));
}

Result<os::FileLock> LockResults(BatchLink& link) {
  if (auto made = link.state().Make(); !made) return std::unexpected(std::move(made.error()));
  return client::AwaitLock(link.call(), link.loop(), link.state().Writer(), kLockPatience);
}

Status CatchUp(BatchLink& link, Missing missing) {
  if (!os::Exists(link.results())) {
    // Who only asks makes no files for a batch that nobody knows.
    auto job = link.FindJob();
    if (!job) return std::unexpected(std::move(job.error()));
    if (*job == JobId()) return {};
  }
  auto lock = LockResults(link);
  if (!lock) return std::unexpected(std::move(lock.error()));
  auto file = ResultsFile::Open(link.state(), missing);
  if (!file) return std::unexpected(std::move(file.error()));
  auto job = link.FindJob();
  if (!job) return std::unexpected(std::move(job.error()));
  if (*job == JobId()) return {};
  auto lines = ResultsLines::Of(link);
  if (!lines) return std::unexpected(std::move(lines.error()));
  Place place = file->place();
  wire::ListEnds question{.job = *job,
                          .after = place.position,
                          .created = Instant{place.created},
                          .whole = RowKind::kParasol};
  auto asked = client::Ask(link, question, [&](const wire::EndsListed& listed) -> Status {
    place.position = listed.position;
    place.created = listed.created.ns;
    auto text = lines->TextOf(*job, listed);
    return text ? file->Take(*text) : std::unexpected(std::move(text.error()));
  });
  if (!asked && asked.error().kind == ErrorKind::kNotFound) return {};
  if (!asked) return asked;
  return file->Finish(place.position, place.created);
}

// Follows one batch until all of it has ended.
class Follower {
 public:
  explicit Follower(BatchLink& link) : link_(link), watch_(link.loop(), link.target()) {}
  // kUnavailable: the hub is away.
  Status Follow();
  bool heard() const { return heard_; }

 private:
  BatchLink& link_;
  client::HubCall watch_;
  bool heard_ = false;  // the hub, since it was away
};

bool Finished(const wire::Reply& reply) {
  const auto* news = std::get_if<wire::JobNews>(&reply);
  return news == nullptr || news->finished;
}

Status Follower::Follow() {
  heard_ = false;
  if (auto done = CatchUp(link_, Missing::kStays); !done) return done;
  auto job = link_.FindJob();
  if (!job) return std::unexpected(job.error());
  if (*job == JobId()) return {};
  if (auto connected = watch_.Connect(); !connected) return connected;
  if (auto sent = watch_.Send(wire::Watch{*job}); !sent) return sent;
  uint32_t written = 0;
  Instant next_look = link_.loop().Now();
  for (;;) {
    auto reply = watch_.Next();
    // News come faster than we look, but the last is taken at once.
    while (reply && !Finished(*reply)) {
      auto newer = watch_.NextWithin(std::max(next_look - link_.loop().Now(), Duration()));
      if (!newer) break;
      reply = std::move(*newer);
    }
    if (!reply) return std::unexpected(std::move(reply.error()));
    const auto* news = std::get_if<wire::JobNews>(&*reply);
    if (news == nullptr) return Fail(ErrorKind::kNotFound, "the hub has forgotten the batch");
    heard_ = true;
    if (!news->finished && news->counts.finished() == written) continue;
    written = news->counts.finished();
    if (auto done = CatchUp(link_, Missing::kStays); !done) return done;
    if (news->finished) return {};
    next_look = link_.loop().Now() + kCatchUpEvery;
  }
}

constexpr int kRemoved = 2;

// 0, kRemoved, or 1: it cannot be done.
int FollowUntilEnd(const std::string& results) {
  auto setting = FindSiteSetting();
  if (!setting) return 1;
  BatchLink link(*setting->loop, setting->target, StateOf(*setting, results));
  Follower follower(link);
  Instant away = setting->loop->Now();
  Duration pause = kFirstResultsPause;
  for (;;) {
    Status status = follower.Follow();
    if (status) return 0;
    if (status.error().kind == ErrorKind::kNotFound) return kRemoved;
    if (status.error().kind != ErrorKind::kUnavailable) return 1;
    Instant now = setting->loop->Now();
    if (follower.heard()) {
      away = now;
      pause = kFirstResultsPause;
    }
    // A folder that was removed wants no results.
    if (now - away > kHubAwayMost || !os::Exists(os::DirName(results))) return 1;
    link.call().Pause(pause);
    pause = std::min(pause + pause, kLongestResultsPause);
  }
}

// As far as the hub can be asked; if not, the next program that looks into the batch will see.
bool HasEnded(const std::string& results) {
  auto setting = FindSiteSetting();
  if (!setting) return true;
  BatchLink link(*setting->loop, setting->target, StateOf(*setting, results));
  auto work = client::AskOne(
      link, wire::LookAtWork{.submission = BatchSubmission(link.state().name()), .user = {}});
  return !work || work->counts.queued + work->counts.leased == 0;
}

int RunFollower(const std::string& results) {
  auto here = client::Surroundings::Find();
  if (!here) return 1;
  ParaState state = ParaState::Find(ParaStateRoot(*here), results);
  if (!state.Make()) return 1;
  auto background = os::Background::Enter();
  if (!background) return 1;
  os::IgnoreSignal(os::kSignalPipe);
  for (bool ready = false;;) {
    auto lock = os::FileLock::TryLock(state.Follower(), fmt::format("process {}", os::OwnPid()));
    if (!ready) {
      if (auto told = background->Ready("/dev/null"); !told) return 1;
      ready = true;
    }
    if (!lock) return 0;  // somebody follows it already
    int code = FollowUntilEnd(results);
    if (code == 1) return code;
    // Who submitted after we looked last saw the lock, and left it to us.
    lock = Fail(ErrorKind::kBusy, "");
    if (code == kRemoved && !os::Exists(results)) return code;
    if (HasEnded(results)) return 0;
  }
}

}  // namespace

std::string OwnerOf(const std::string& path) {
  auto info = os::Stat(path);
  if (!info || info->user == os::EffectiveUser()) return "";
  auto account = os::AccountById(info->user);
  return account ? account->name : "";
}

std::string ParaStateRoot(const client::Surroundings& here) {
  return os::JoinPath(client::StateDirOf("", here), "para");
}

ParaState StateOf(const client::HubSetting& setting, const std::string& results) {
  return ParaState::Find(ParaStateRoot(setting.here), results);
}

Status CatchUpResults(BatchLink& link) {
  Status caught = CatchUp(link, Missing::kIsMade);
  if (caught || caught.error().kind == ErrorKind::kUnavailable) return caught;
  // In the folder of somebody else there is nothing of ours to be written.
  auto job = link.FindJob();
  return job && *job == JobId() ? Status() : caught;
}

void FollowResults(BatchLink& link) {
  // After a file was removed that process makes no other one.
  if (!os::Exists(link.results())) (void)CatchUpResults(link);
  auto held = os::FileLock::IsHeld(link.state().Follower());
  if (held && *held) return;
  os::RealLoop& loop = link.loop();
  bool ended = false;
  auto program = os::OwnProgram();
  if (!program) return;
  auto child = os::Child::Start(loop, {*program, kEntry, link.results()}, "",
                                {[](std::string_view) {},
                                 [&] {
                                   ended = true;
                                   loop.Stop();
                                 }});
  while (child && !ended) loop.Run();
}

void AwaitFollower(BatchLink& link) {
  std::string path = link.state().Follower();
  Instant last = link.loop().Now() + kFollowerPatience;
  while (link.loop().Now() < last && !link.call().interrupted()) {
    auto held = os::FileLock::IsHeld(path);
    if (!held || !*held) return;
    link.call().Pause(kFollowerPause);
  }
}

std::optional<int> ParaResultsEntry(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != kEntry) return std::nullopt;
  return RunFollower(argv[2]);
}

}  // namespace spate::parasol
