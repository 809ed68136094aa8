// Everything that touches a pool's folder is a command, too, run as the pool's user: the hub itself
// may have other rights, and a file system that hangs holds up nothing but the command.
#include "hub/pools/batch_caller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "os/file.h"
#include "pool/parts.h"
#include "pool/pools.h"

namespace spate::hub {

using provision::JobStatus;
using provision::PilotId;
using provision::PoolId;

namespace {

// Submits must be over before the machine gives up waiting for them (120 s).
constexpr Duration kSubmitPatience = Duration::Seconds(80);
constexpr Duration kQueryPatience = Duration::Seconds(60);
constexpr Duration kFilePatience = Duration::Seconds(20);
// Maximum number of failed pilots whose output is read at once, and maximum bytes of each output.
constexpr size_t kLookedInto = 64;
constexpr const char* kTail = "1500";
constexpr size_t kHostMost = 255;                   // bytes of a host's name
constexpr JobStatus kNotListed = JobStatus::kInit;  // no batch system reports it

pool::CommandLine Shell(std::string script, std::vector<std::string> words) {
  pool::CommandLine call;
  call.argv = {"/bin/sh", "-c", std::move(script), "sh"};
  call.argv.insert(call.argv.end(), std::make_move_iterator(words.begin()),
                   std::make_move_iterator(words.end()));
  return call;
}

// The lines of a text, joined by "; ".
std::string OneLine(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::string_view next = pool::Trimmed(pool::NextField(text, '\n'));
    if (!next.empty()) line.append(line.empty() ? "" : "; ").append(next);
  }
  return line;
}

// Message about a failed command, for people.
std::string WordsOf(std::string_view what, const pool::Outcome& outcome) {
  std::string said = OneLine(outcome.err.empty() ? outcome.out : outcome.err);
  if (outcome.end == pool::Outcome::End::kTimedOut) said = "no answer in time";
  return fmt::format("{}: {}", what, EscapeForScreen(said));
}

bool IsGood(const pool::Outcome& outcome) {
  return outcome.end == pool::Outcome::End::kExited && outcome.exit_code == 0;
}

JobStatus StatusOf(pool::PilotState state) {
  switch (state) {
    case pool::PilotState::kQueued:
      return JobStatus::kQueued;
    case pool::PilotState::kRunning:
      return JobStatus::kRunning;
    case pool::PilotState::kHeld:
      return JobStatus::kError;
    case pool::PilotState::kEnded:
      return JobStatus::kEnded;
    case pool::PilotState::kUnknown:
      return JobStatus::kOther;
  }
  return JobStatus::kOther;
}

provision::Failure FailureOf(const pool::SubmitFailure& failure) {
  if (failure.perhaps_there) return provision::Failure::kUnavailable;
  switch (failure.kind) {
    case pool::SubmitFailure::Kind::kLimit:
      return provision::Failure::kLimit;
    case pool::SubmitFailure::Kind::kRefused:
      return provision::Failure::kRefused;
    case pool::SubmitFailure::Kind::kUnavailable:
      return provision::Failure::kUnavailable;
  }
  return provision::Failure::kUnavailable;
}

// Host named by the script of a pilot that has failed (pool/script.cc). Empty: the script has not
// ended so.
std::string HostIn(std::string_view wrote) {
  constexpr std::string_view kEnd = "spate: the pilot ended with exit status ", kHost = " on host ";
  const size_t end = wrote.rfind(kEnd);
  const size_t host = end == std::string_view::npos ? end : wrote.find(kHost, end + kEnd.size());
  if (host == std::string_view::npos) return {};
  wrote.remove_prefix(host + kHost.size());
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return std::string(wrote.substr(0, std::min(wrote.find_first_not_of(kPlain), kHostMost)));
}

std::string Joined(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) line += (line.empty() ? "" : " ") + ShellQuote(word);
  return line;
}

std::string Number(double value) { return fmt::format("{:g}", value); }

// $1: the pool's folder. Enters it, so that later commands use names of files in it. The folder is
// the user's own and nobody else may write to it. On the way, only root and that user have made
// links, or can exchange a part. Like os::CheckWay, it is stricter for root.
constexpr const char* kEnter = R"sh(umask 077
[ -n "$make" ] || [ -e "$1" ] || exit 44
me=$(id -u) wrong='-perm -002 ! -perm -1000'
[ "$me" -ne 0 ] || wrong='( ! -user 0 -o -perm /022 ! -perm -1000 )'
refuse() { echo "$1" >&2; exit 1; }
way() {
  at=$1
  while [ -n "$at" ]; do
    if [ -h "$at" ]; then
      [ -n "$(find "$at" -prune \( -user 0 -o -user "$me" \))" ] ||
        refuse "$at is a link of another user, and is not followed"
      to=$(readlink "$at")
      case $to in /*) ;; *) to=${at%/*}/$to ;; esac
      links=x$links
      [ ${#links} -le 40 ] || refuse "too many links lead to $at"
      (way "$to") || exit
    fi
    at=${at%/*}
    [ -z "$(find -H "${at:-/}" -prune $wrong 2>/dev/null)" ] ||
      refuse "others may change the folder ${at:-/}, in which it is"
  done
}
way "$1"
[ -z "$make" ] || mkdir -p -- "$1"
cd -P -- "$1" || exit
[ -O . ] && [ -z "$(find . -prune -perm /022)" ] ||
  refuse "the folder must belong to $(id -un), and nobody else may write to it"
shift
)sh";

// $1: the file for standard input. Nobody else may read it at any time.
constexpr const char* kWriteAccess =
    R"sh(rm -f -- "$1.new" && set -C && cat >"$1.new" && mv -f -- "$1.new" "$1")sh";

// $1: number of the first output to remove, counted from the newest; outputs of pilots that still
// exist stay. Other arguments: files to remove.
constexpr const char* kCleanUp = R"sh(from=$1
shift
[ $# -eq 0 ] || rm -f -- "$@"
ls -t | grep '^spate-.*\.out$' | tail -n +"$from" | while read -r old; do
  [ -e "${old%.out}.access" ] || rm -f -- "$old"
done
)sh";
constexpr const char* kOutputsKept = "51";

// Runs a script in the pool's folder; `words` name files in it. `make`: makes the folder.
pool::CommandLine InFolder(const PoolPolicy& policy, std::string_view script,
                           std::vector<std::string> words, std::string_view make = "") {
  words.insert(words.begin(), policy.settings.folder);
  return Shell(fmt::format("make={}\n{}{}", make, kEnter, script), std::move(words));
}

}  // namespace

std::string BatchCaller::NodeName(const std::string& pool, PilotId pilot) {
  return fmt::format("{}.{}", pool, pilot.value);
}

Status BatchCaller::Set(PoolId id, const PoolPolicy& policy) {
  auto driver = DriverOf(policy.settings);
  if (!driver) return std::unexpected(driver.error());
  pools_[id] = std::make_shared<const Pool>(Pool{policy, std::move(*driver)});
  return {};
}

const PoolPolicy* BatchCaller::Find(PoolId pool) const {
  auto at = pools_.find(pool);
  return at == pools_.end() ? nullptr : &at->second->policy;
}

std::string BatchCaller::TagOf(const PoolPolicy& policy, PilotId pilot) const {
  return provision::TagOf(here_.tag, policy.name, pilot);
}

std::string BatchCaller::NameOf(const PoolPolicy& policy, PilotId pilot,
                                std::string_view end) const {
  return fmt::format("{}.{}", TagOf(policy, pilot), end);
}

std::string BatchCaller::FileOf(const PoolPolicy& policy, PilotId pilot,
                                std::string_view end) const {
  return os::JoinPath(policy.settings.folder, NameOf(policy, pilot, end));
}

std::vector<std::string> BatchCaller::NodeCommand(const PoolPolicy& policy, PilotId pilot,
                                                  const std::string& access) const {
  const provision::NodeShape& shape = policy.shape;
  const std::string& program = policy.settings.program;
  std::vector<std::string> words = {program.empty() ? here_.program : program,
                                    "node",
                                    "start",
                                    "--pilot",
                                    "--access",
                                    access,
                                    "--name",
                                    NodeName(policy.name, pilot)};
  auto add = [&](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  for (const std::string& label : shape.labels) add("--label", label);
  if (shape.slots > 0) add("--slots", std::to_string(shape.slots));
  if (shape.milli_cpus > 0) add("--cpus", Number(shape.milli_cpus / double{kMilliCpu}));
  if (shape.memory > 0) add("--memory", fmt::format("{}B", shape.memory));
  for (const NamedNeed& named : shape.named) {
    if (named.name == "gpus") continue;  // the allocation tells which
    add("--resource", fmt::format("{}={}", named.name, named.count));
  }
  if (policy.lifetime.ns > 0) add("--lifetime", Number(policy.lifetime.seconds()));
  // Root's own tasks; those of others run as themselves.
  if (policy.settings.account == "root" && policy.user == "root")
    words.emplace_back("--allow-root");
  words.insert(words.end(), policy.settings.node_options.begin(),
               policy.settings.node_options.end());
  return words;
}

pool::PilotSpec BatchCaller::SpecOf(const PoolPolicy& policy, PilotId pilot) const {
  pool::PilotSpec spec;
  spec.tag = TagOf(policy, pilot);
  spec.options = policy.settings.options;
  if (policy.time_limit.ns > 0) spec.time_limit = policy.time_limit;
  spec.nodes = static_cast<int>(policy.nodes_per_pilot);
  spec.output_file = FileOf(policy, pilot, "out");
  spec.prologue = policy.settings.prologue;
  spec.epilogue = policy.settings.epilogue;
  spec.wrapper = policy.settings.wrapper;
  const std::string access = FileOf(policy, pilot, "access");
  spec.command = NodeCommand(policy, pilot, access);
  spec.files = {access};
  if (policy.settings.program.empty()) spec.files.insert(spec.files.begin(), spec.command.front());
  spec.shared_files = policy.settings.shared_files;
  spec.script_file = FileOf(policy, pilot, "sh");
  return spec;
}

void BatchCaller::Run(pool::CommandLine call, const PoolPolicy& policy, Duration patience,
                      Commands::Done done) {
  commands_.Run(std::move(call), policy.settings.account, patience,
                [alive = alive_, done = std::move(done)](pool::Outcome outcome) {
                  if (*alive) done(std::move(outcome));
                });
}

void BatchCaller::Submit(const provision::Submit& ask, std::string access) {
  auto at = pools_.find(ask.pool);
  if (at == pools_.end()) {
    return Notify(provision::SubmitFailed{ask.pool, ask.pilot, provision::Failure::kRefused,
                                          "the pool's settings cannot be read"});
  }
  const PoolPolicy& policy = at->second->policy;
  pool::CommandLine write =
      InFolder(policy, kWriteAccess, {NameOf(policy, ask.pilot, "access")}, "yes");
  write.input = std::move(access);
  Run(std::move(write), policy, kFilePatience, [this, ask, pool = at->second](auto outcome) {
    if (IsGood(outcome)) return SubmitNow(ask);
    Notify(provision::SubmitFailed{
        ask.pool, ask.pilot, provision::Failure::kRefused,
        WordsOf(fmt::format("the credential cannot be written to {}", pool->policy.settings.folder),
                outcome)});
  });
}

void BatchCaller::SubmitNow(const provision::Submit& ask) {
  auto at = pools_.find(ask.pool);
  if (at == pools_.end()) {
    return Notify(provision::SubmitFailed{ask.pool, ask.pilot, provision::Failure::kRefused,
                                          "the pool was removed"});
  }
  const std::shared_ptr<const Pool>& pool = at->second;
  pool::PilotSpec spec = SpecOf(pool->policy, ask.pilot);
  spec.avoid = ask.avoid;
  auto call = pool->driver->Submit(spec);
  if (!call) {
    return Notify(provision::SubmitFailed{ask.pool, ask.pilot, provision::Failure::kRefused,
                                          call.error().message});
  }
  Run(std::move(*call), pool->policy, kSubmitPatience,
      [this, ask, pool](auto outcome) { SubmitEnded(ask, pool->driver->ReadSubmit(outcome)); });
}

void BatchCaller::SubmitEnded(const provision::Submit& ask, const pool::Submitted& submitted) {
  if (submitted) return Notify(provision::SubmitAnswered{ask.pool, ask.pilot, *submitted});
  Notify(provision::SubmitFailed{ask.pool, ask.pilot, FailureOf(submitted.error()),
                                 submitted.error().message});
}

void BatchCaller::Query(const provision::Query& ask) {
  auto at = pools_.find(ask.pool);
  if (at == pools_.end()) {
    return Notify(
        provision::QueryFailed{ask.pool, ask.query, "the pool's settings cannot be read"});
  }
  auto query = std::make_shared<pool::PilotQuery>();
  query->prefix = provision::TagPrefix(here_.tag, at->second->policy.name);
  query->ids = ask.ids;
  std::shared_ptr<const Pool> pool = at->second;
  Run(pool->driver->Query(*query), pool->policy, kQueryPatience,
      [this, ask, pool, query](auto outcome) {
        auto listed = pool->driver->ReadQuery(*query, outcome);
        if (listed) return Listed(ask, *pool, *listed);
        Notify(provision::QueryFailed{ask.pool, ask.query, listed.error().message});
      });
}

// Pools whose names begin alike may share the prefix: others' pilots are left out.
void BatchCaller::Listed(const provision::Query& ask, const Pool& pool,
                         const std::vector<pool::ListedPilot>& pilots) {
  provision::QueryAnswered answer{ask.pool, ask.query, {}};
  std::vector<size_t> failed;
  std::map<std::string, PilotId> others;  // those that were asked for and are not listed
  for (size_t i = 0; i < ask.ids.size(); ++i) others[ask.ids[i]] = ask.pilots[i];
  for (const pool::ListedPilot& listed : pilots) {
    const auto asked = others.extract(listed.id);
    PilotId pilot = provision::PilotOfTag(here_.tag, listed.tag)
                        .value_or(asked.empty() ? PilotId() : asked.mapped());
    auto known = here_.find(pilot);
    if (known && known->pool != ask.pool) continue;
    JobStatus status = StatusOf(listed.state);
    if (known && !known->joined && status == JobStatus::kEnded)
      failed.push_back(answer.jobs.size());
    answer.jobs.push_back({pilot, listed.id, status, listed.reason, ""});
  }
  // Some systems forget at once what has ended; the pilot's output may show its end.
  for (const auto& [id, pilot] : others) {
    auto known = here_.find(pilot);
    if (!known || known->joined) continue;
    failed.push_back(answer.jobs.size());
    answer.jobs.push_back({pilot, id, kNotListed, "", ""});
  }
  if (failed.empty()) return Notify(std::move(answer));
  failed.resize(std::min(failed.size(), kLookedInto));
  AddOutputs(pool.policy, std::move(answer), failed);
}

// One command reads them all; NUL stands between two.
void BatchCaller::AddOutputs(const PoolPolicy& policy, provision::QueryAnswered answer,
                             const std::vector<size_t>& failed) {
  std::vector<std::string> files;
  for (size_t i : failed) files.push_back(NameOf(policy, answer.jobs[i].pilot, "out"));
  pool::CommandLine read = InFolder(
      policy, fmt::format("for f; do tail -c {} \"$f\" 2>/dev/null; printf '\\000'; done", kTail),
      std::move(files));
  Run(std::move(read), policy, kFilePatience,
      [this, failed, answer = std::move(answer)](auto outcome) mutable {
        std::string_view rest = outcome.out;
        for (size_t i : failed) {
          size_t end = rest.find('\0');
          if (end == std::string_view::npos) break;
          std::string_view wrote = rest.substr(0, end);
          rest.remove_prefix(end + 1);
          while (!wrote.empty() && wrote.back() == '\n') wrote.remove_suffix(1);
          if (wrote.empty()) continue;
          provision::BatchJob& job = answer.jobs[i];
          job.host = HostIn(wrote);
          if (job.status == kNotListed && !job.host.empty()) job.status = JobStatus::kEnded;
          std::string& words = job.words;
          words += fmt::format("{}it wrote: {}", words.empty() ? "" : "; ", OneLine(wrote));
        }
        std::erase_if(answer.jobs, [](const auto& job) { return job.status == kNotListed; });
        Notify(std::move(answer));
      });
}

void BatchCaller::Cancel(PoolId id, const std::vector<provision::Cancel>& asks) {
  auto at = pools_.find(id);
  if (at == pools_.end()) return;
  std::vector<std::string> ids;
  for (const provision::Cancel& ask : asks) ids.push_back(ask.id);
  pool::CommandLine call = at->second->driver->Cancel(ids);
  Run(call, at->second->policy, kQueryPatience, [this, call, asks](auto outcome) {
    auto took = pool::CheckOutcome(call, outcome);
    for (const provision::Cancel& ask : asks) {
      Notify(provision::CancelAnswered{ask.pool, ask.pilot, took.has_value(),
                                       took ? "" : took.error().message});
    }
  });
}

void BatchCaller::CleanUp(PoolId id, PilotId pilot) {
  auto at = pools_.find(id);
  if (at == pools_.end()) return;
  const PoolPolicy& policy = at->second->policy;
  Run(InFolder(policy, kCleanUp,
               {kOutputsKept, NameOf(policy, pilot, "access"), NameOf(policy, pilot, "access.new"),
                NameOf(policy, pilot, "sh")}),
      policy, kFilePatience, [](const pool::Outcome&) {});
}

void BatchCaller::Drop(PoolId id) {
  auto at = pools_.find(id);
  if (at == pools_.end()) return;
  const std::shared_ptr<const Pool> pool = at->second;
  pools_.erase(at);
  Run(InFolder(pool->policy, kCleanUp, {"1"}), pool->policy, kFilePatience,
      [](const pool::Outcome&) {});
}

void BatchCaller::ReadOutput(const PoolPolicy& policy, PilotId pilot,
                             std::function<void(Result<std::string>)> done) {
  const std::string file = FileOf(policy, pilot, "out");
  Run(InFolder(policy, "[ -e \"$1\" ] || exit 44; tail -c 262144 -- \"$1\"",
               {NameOf(policy, pilot, "out")}),
      policy, kFilePatience,
      [done = std::move(done), pilot, file, pool = policy.name](pool::Outcome outcome) {
        if (IsGood(outcome)) return done(std::move(outcome.out));
        if (outcome.end == pool::Outcome::End::kExited && outcome.exit_code == 44) {
          return done(Fail(
              ErrorKind::kNotFound,
              fmt::format("nothing is kept of what pilot {} of pool {} wrote", pilot.value, pool),
              SeeAlso("pool info", pool)));
        }
        done(Fail(ErrorKind::kUnavailable, WordsOf(file + " cannot be read", outcome)));
      });
}

void BatchCaller::Try(const PoolPolicy& policy, bool test,
                      std::function<void(Result<PoolTrial>)> done) {
  auto driver = DriverOf(policy.settings);
  if (!driver) return done(std::unexpected(driver.error()));
  pool::PilotSpec spec = SpecOf(policy, PilotId(1));
  auto call = (*driver)->Submit(spec);
  if (!call) return done(std::unexpected(call.error()));
  PoolTrial trial;
  trial.pool = policy.name;
  trial.command = Joined(call->argv);
  trial.script = call->file ? call->file->text : call->input;
  if (call->file) trial.description = call->input;
  trial.passed = true;
  auto tries = test ? (*driver)->Test(spec) : std::nullopt;
  if (!tries) return done(std::move(trial));
  pool::CommandLine tried = *tries;
  Run(std::move(*tries), policy, kQueryPatience,
      [trial = std::move(trial), tried = std::move(tried), done = std::move(done),
       driver = std::shared_ptr<pool::PoolDriver>(std::move(*driver))](
          const pool::Outcome& outcome) mutable {
        auto took = pool::CheckOutcome(tried, outcome);
        const pool::Submitted read = driver->ReadSubmit(outcome);
        if (!took && !read && read.error().kind == pool::SubmitFailure::Kind::kLimit) {
          return done(Fail(ErrorKind::kExhausted,
                           fmt::format("the batch system accepts no more jobs for now, so the "
                                       "options were not tested; try again later, or use "
                                       "--no-test: {}",
                                       took.error().message)));
        }
        trial.passed = took.has_value();
        trial.words =
            took ? (outcome.err.empty() ? outcome.out : outcome.err) : took.error().message;
        done(std::move(trial));
      });
}

}  // namespace spate::hub
