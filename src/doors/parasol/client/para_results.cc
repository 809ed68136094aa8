#include "doors/parasol/client/para_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "client/asker.h"
#include "client/follower.h"
#include "core/model/job_facts.h"
#include "doors/parasol/client/site_setting.h"
#include "doors/parasol/client/unix_seconds.h"
#include "doors/parasol/formats/results.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "doors/parasol/row/wait_status.h"
#include "format/lines.h"
#include "os/account.h"
#include "os/background.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/process.h"
#include "os/regular_file.h"
#include "os/signals.h"

namespace spate::parasol {
namespace {

constexpr const char* kEntry = "__para-results";
constexpr const char* kTempDir = "/tmp";  // of a node that is not known any more
constexpr Duration kLockPatience = Duration::Seconds(60);
constexpr Duration kFollowerPause = Duration::Millis(10);
constexpr Duration kFollowerPatience = Duration::Seconds(2);
constexpr Duration kCatchUpEvery = Duration::Millis(500);
constexpr Duration kFirstResultsPause = Duration::Millis(200);
constexpr Duration kLongestResultsPause = Duration::Seconds(30);
constexpr Duration kHubAwayMost = Duration::Seconds(24 * 3600);

using client::Position;

std::string_view IdOf(std::string_view line) {
  format::NextWord(&line);  // status and host
  format::NextWord(&line);
  return format::NextWord(&line);
}

// A file of results that was there, and was removed: the next line makes it, it is made at once, or
// it stays removed.
enum class Missing : uint8_t { kWaits, kIsMade, kStays };

uint64_t TicksOf(Duration time) { return static_cast<uint64_t>(time.ns / 10'000'000); }

// A job has one line: not of an attempt that is made again, nor where it had no status of its own:
// its node was lost, or it was removed.
bool HasLine(const EndFacts& ended) {
  Cause cause = ended.end.cause;
  return cause != Cause::kNode && cause != Cause::kStopped && EndsTask(ended.verdict);
}

// Ends of a batch's attempts as lines of para.results (doors/parasol/formats/results.h).
class ResultsLines {
 public:
  // Asks where nodes keep what jobs write to stderr.
  static Result<ResultsLines> Of(client::Asker& hub);
  // kCorrupt: a row is not one of Parasol's.
  Result<std::string> TextOf(JobId job, const wire::EndsListed& listed) const;

 private:
  Result<std::string> LineOf(JobId job, const std::string& user, const EndFacts& ended) const;
  std::map<std::string, std::string> temp_dirs_;  // by node
};

Result<ResultsLines> ResultsLines::Of(client::Asker& hub) {
  ResultsLines lines;
  TRY(client::Query(hub, wire::ListNodes(), [&](NodeFacts node) {
    if (!node.temp_dir.empty()) lines.temp_dirs_[node.name] = std::move(node.temp_dir);
  }));
  return lines;
}

Result<std::string> ResultsLines::LineOf(JobId job, const std::string& user,
                                         const EndFacts& ended) const {
  auto row = TRY(ReadParasolRow(ended.what.row));
  const AttemptEnd& end = ended.end;
  ParasolEnd line;
  line.status = WaitStatusOf(end.cause, end.status);
  line.host = ended.node;
  line.id = fmt::format("{}", ParasolId(job, end.ref.index));
  line.command = ParasolCommand(row.text);
  line.program = ProgramOf(line.command);
  line.user_ticks = TicksOf(end.user);
  line.system_ticks = TicksOf(end.system);
  line.submitted = row.submitted;
  line.started = UnixSeconds(end.start);
  line.ended = UnixSeconds(end.start + end.wall);
  line.user = user;
  auto temp = temp_dirs_.find(ended.node);
  line.err_file =
      fmt::format("{}/para{}.err", temp == temp_dirs_.end() ? kTempDir : temp->second, line.id);
  return ResultsLine(line);
}

Result<std::string> ResultsLines::TextOf(JobId job, const wire::EndsListed& listed) const {
  std::string text;
  for (const EndFacts& ended : listed.ends) {
    if (!HasLine(ended)) continue;
    auto line = TRY(LineOf(job, listed.user, ended));
    text += line;
  }
  return text;
}

// The file while lines are added to it. Without Finish it stays as it was. Where there is none, the
// first line makes it, as in Parasol.
class ResultsFile {
 public:
  // All up to `place` is there.
  static Result<ResultsFile> Open(const ParaState& state, const Position& place, Missing missing);
  ResultsFile(ResultsFile&&) = default;
  ~ResultsFile() {
    if (file_ && end_ > begin_) (void)os::Truncate(file_.get(), begin_, path_);
  }
  // Pieces of lines, in order. How long the file is then.
  Result<uint64_t> Take(std::string_view bytes);
  // Taken lines stay, also after a crash of the machine.
  Status Finish();

 private:
  explicit ResultsFile(const ParaState& state) : path_(state.results()) {}
  Status Make();
  Status LookAtTail(uint64_t known);

  std::string path_;
  os::Fd file_;
  uint64_t begin_ = 0, end_ = 0;           // of what we add
  std::unordered_set<std::string> there_;  // ids behind the place: a killed process wrote them
  std::string part_;                       // of a line whose end has not come
};

Result<ResultsFile> ResultsFile::Open(const ParaState& state, const Position& place,
                                      Missing missing) {
  ResultsFile file(state);
  const bool exists = os::Exists(file.path_);
  const bool removed = place.bytes > 0 && !exists;
  if (removed && missing == Missing::kStays) {
    return Fail(ErrorKind::kNotFound, "the results were removed");
  }
  if (exists || (removed && missing == Missing::kIsMade)) {
    TRY(file.Make());
    TRY(file.LookAtTail(place.bytes));
  }
  return file;
}

Status ResultsFile::Make() {
  auto fd = TRY(os::OpenRegularFile(path_, os::RegularFor::kWriting));
  file_ = std::move(fd);
  return {};
}

Status ResultsFile::LookAtTail(uint64_t known) {
  auto info = TRY(os::StatFd(file_.get(), path_));
  begin_ = end_ = info.size;
  if (end_ <= known) return {};
  auto tail = TRY(os::ReadAt(file_.get(), known, end_ - known, path_));
  // A line that was cut off comes anew.
  size_t whole = tail.rfind('\n') + 1;
  if (whole < tail.size()) {
    begin_ = end_ = known + whole;
    TRY(os::Truncate(file_.get(), end_, path_));
  }
  std::string_view rest = std::string_view(tail).substr(0, whole);
  while (auto line = format::NextLine(&rest)) there_.emplace(IdOf(*line));
  return {};
}

Result<uint64_t> ResultsFile::Take(std::string_view bytes) {
  part_ += bytes;
  size_t whole = part_.rfind('\n') + 1;
  std::string lines;
  if (there_.empty()) {
    lines = part_.substr(0, whole);
  } else {
    std::string_view rest = std::string_view(part_).substr(0, whole);
    while (auto line = format::NextLine(&rest)) {
      if (!there_.contains(std::string(IdOf(*line)))) lines.append(*line).push_back('\n');
    }
  }
  part_.erase(0, whole);
  if (lines.empty()) return end_;
  if (!file_) {
    TRY(Make());
  }
  auto written = os::WriteAllAt(file_.get(), lines, end_, path_);
  end_ += lines.size();  // or a part of them, which goes with the rest
  TRY(std::move(written));
  return end_;
}

Status ResultsFile::Finish() {
  if (end_ > begin_) {
    TRY(os::Fsync(file_.get(), path_));
  }
  begin_ = end_;
  return {};
}

Status CatchUp(BatchLink& link, Missing missing) {
  if (!os::Exists(link.results())) {
    // A program that only asks makes no files for an unknown batch.
    auto job = TRY(link.FindJob());
    if (job == JobId()) return {};
  }
  ParaState& state = link.state();
  TRY(state.Make());
  auto follower =
      TRY(client::Follower::Open(link.call(), state.Place(), state.Writer(), kLockPatience));
  auto file = TRY(ResultsFile::Open(state, follower.place(), missing));
  auto job = TRY(link.FindJob());
  if (job == JobId()) return {};
  auto lines = TRY(ResultsLines::Of(link));
  auto take = [&](const wire::EndsListed& listed, Position& place) -> Status {
    auto text = TRY(lines.TextOf(job, listed));
    place = {listed.position, listed.created.ns, TRY(file.Take(text))};
    return {};
  };
  auto caught = follower.CatchUp(link, wire::ListEnds{.job = job, .whole = RowKind::kParasol}, take,
                                 [&] { return file.Finish(); });
  bool forgotten = !caught && caught.error().kind == ErrorKind::kNotFound;
  return forgotten ? Status() : caught;
}

// Keeps one batch's results up to date until all of it has ended.
class ResultsKeeper {
 public:
  explicit ResultsKeeper(BatchLink& link) : link_(link) {}
  // kUnavailable: the hub is away.
  Status Follow();
  bool heard() const { return heard_; }

 private:
  BatchLink& link_;
  bool heard_ = false;  // the hub, since it was away
};

// A sick batch has not finished, but nothing more ends before somebody pushes.
bool HasEnded(const wire::JobNews& news) {
  return news.finished || news.counts.queued + news.counts.leased == 0;
}

bool Finished(const wire::Reply& reply) {
  const auto* news = std::get_if<wire::JobNews>(&reply);
  return news == nullptr || HasEnded(*news);
}

Status ResultsKeeper::Follow() {
  heard_ = false;
  TRY(CatchUp(link_, Missing::kStays));
  auto job = TRY(link_.FindJob());
  if (job == JobId()) return {};
  client::HubCall& call = link_.call();
  auto watch = TRY(call.Begin(wire::Watch{job}));
  uint32_t written = 0;
  Instant next_look = link_.loop().Now();
  for (;;) {
    auto reply = call.Next(*watch);
    // News come faster than we look, but the last is taken at once.
    while (reply && !Finished(*reply)) {
      auto newer = call.NextWithin(*watch, std::max(next_look - link_.loop().Now(), Duration()));
      if (!newer) break;
      reply = std::move(*newer);
    }
    if (!reply) return std::unexpected(std::move(reply.error()));
    const auto* news = std::get_if<wire::JobNews>(&*reply);
    if (news == nullptr) return Fail(ErrorKind::kNotFound, "the hub has forgotten the batch");
    heard_ = true;
    if (!HasEnded(*news) && news->counts.finished() == written) continue;
    written = news->counts.finished();
    TRY(CatchUp(link_, Missing::kStays));
    if (HasEnded(*news)) return {};
    next_look = link_.loop().Now() + kCatchUpEvery;
  }
}

constexpr int kRemoved = 2;

// 0, kRemoved, or 1: it cannot be done.
int FollowUntilEnd(const std::string& results) {
  auto setting = FindSiteSetting();
  if (!setting) return 1;
  BatchLink link(*setting->loop, setting->target, StateOf(*setting, results));
  ResultsKeeper keeper(link);
  Instant away = setting->loop->Now();
  Duration pause = kFirstResultsPause;
  for (;;) {
    Status status = keeper.Follow();
    if (status) return 0;
    if (status.error().kind == ErrorKind::kNotFound) return kRemoved;
    if (status.error().kind != ErrorKind::kUnavailable) return 1;
    Instant now = setting->loop->Now();
    if (keeper.heard()) {
      away = now;
      pause = kFirstResultsPause;
    }
    // A folder that was removed wants no results.
    if (now - away > kHubAwayMost || !os::Exists(os::DirName(results))) return 1;
    link.call().Pause(pause);
    pause = std::min(pause + pause, kLongestResultsPause);
  }
}

// True also if the hub cannot be asked: then the next program that looks into the batch sees.
bool HasEnded(const std::string& results) {
  auto setting = FindSiteSetting();
  if (!setting) return true;
  BatchLink link(*setting->loop, setting->target, StateOf(*setting, results));
  auto work = client::QueryOne(
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
    // A program that submitted after our last look saw the lock, and left the rest to us.
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

namespace {

Status CatchUpOwn(BatchLink& link, Missing missing) {
  Status caught = CatchUp(link, missing);
  if (caught || caught.error().kind == ErrorKind::kUnavailable) return caught;
  // In the folder of somebody else there is nothing of ours to be written.
  auto job = link.FindJob();
  return job && *job == JobId() ? Status() : caught;
}

}  // namespace

Status CatchUpResults(BatchLink& link) { return CatchUpOwn(link, Missing::kWaits); }

void FollowResults(BatchLink& link) {
  // After a file was removed that process makes no other one.
  if (!os::Exists(link.results())) (void)CatchUpOwn(link, Missing::kIsMade);
  auto held = os::FileLock::IsHeld(link.state().Follower());
  if (held && *held) return;
  os::RealLoop& loop = link.loop();
  bool ended = false;
  auto program = os::OwnProgram();
  if (!program) return;
  os::Child::Options options{.spawn = {.argv = {*program, kEntry, link.results()}}};
  auto child = os::Child::Start(loop, std::move(options), {.ended = [&](int) {
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
