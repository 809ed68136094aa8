// SimBatch: see sim_batch.h. A job waits (Wait), begins (Start), and is over (End); timers of an
// earlier run of a job that was requeued see by `runs` that they are late.
#include "sim/sim_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace spate::sim {
namespace {

constexpr Duration kQuick = Duration::Seconds(2);
// Three answers in a row without a pilot, over 20 s, say that it is gone.
constexpr Duration kLeftOutMost = Duration::Seconds(15);
constexpr Duration kToldAgain = Duration::Seconds(120);
constexpr Duration kRemembered = Duration::Seconds(300);

pool::Outcome Fails(std::string words, int code = 1) {
  return {pool::Outcome::End::kExited, code, "", std::move(words) + "\n"};
}

// The word that begins with `option`, without it.
std::string OptionOf(const pool::CommandLine& call, std::string_view option) {
  for (const std::string& word : call.argv) {
    if (word.starts_with(option)) return word.substr(option.size());
  }
  return "";
}

// The name after --name in the pilot's script.
std::string NodeOf(const pool::CommandLine& call) {
  constexpr std::string_view kName = "--name ";
  size_t at = call.input.find(kName);
  CHECK(at != std::string::npos);
  std::string name = call.input.substr(at + kName.size());
  name.resize(std::min(name.find_first_of(" \n"), name.size()));
  std::erase(name, '\'');
  return name;
}

}  // namespace

SimBatch::SimBatch(Parts parts) : parts_(std::move(parts)), prng_(parts_.seed) {}

Duration SimBatch::Random(Duration most) {
  return Duration{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(most.ns) + 1))};
}

void SimBatch::After(Duration wait, std::function<void()> fn) {
  parts_.loop.At(parts_.loop.Now() + wait, [alive = alive_, fn = std::move(fn)] {
    if (*alive) fn();
  });
}

bool SimBatch::Trouble(unsigned percent) {
  if (troubles_left_ == 0 || !prng_.Chance(percent)) return false;
  --troubles_left_;
  return true;
}

void SimBatch::MakePeace() {
  troubles_left_ = 0;
  for (auto& [id, job] : jobs_) job.forgotten = false;
}

uint32_t SimBatch::Alive(const std::string& pool) const {
  return static_cast<uint32_t>(std::ranges::count_if(
      jobs_, [&](const auto& each) { return !each.second.over && each.second.pool == pool; }));
}

bool SimBatch::IsAlive(const std::string& name) const {
  return std::ranges::any_of(
      jobs_, [&](const auto& each) { return !each.second.over && each.second.node == name; });
}

// ---- Commands ----------------------------------------------------------------------------------

void SimCommands::Run(pool::CommandLine call, const std::string&, Duration patience, Done done) {
  if (!faults_.Alive()) return;
  batch_.Run(call, patience, [this, alive = alive_, done = std::move(done)](pool::Outcome outcome) {
    if (!*alive) return;
    loop_.Post([this, done, outcome = std::move(outcome)] {
      if (faults_.Alive()) done(outcome);
    });
  });
}

void SimBatch::Run(const pool::CommandLine& call, Duration patience, Answer answer) {
  Duration doing = Random(kQuick);
  Duration telling = Random(kQuick);
  bool carried_out = true;
  if (Trouble(parts_.options.batch_slow_percent)) {
    // Too late, or late; before or after it is carried out, if it is at all.
    Duration late = Random(patience * 2);
    (prng_.Chance(50) ? doing : telling) = late;
    doing = std::min(doing, patience + Duration::Seconds(10));
    carried_out = prng_.Chance(70);
  }
  bool in_time = doing + telling < patience;
  bool submits = call.argv.front() == "sbatch";
  if (!in_time) {
    After(patience, [answer] { answer({pool::Outcome::End::kTimedOut, 0, "", ""}); });
    if (!carried_out) return;
  }
  After(doing, [this, call, telling, in_time, submits, answer = std::move(answer)] {
    uint64_t before = parts_.report.pilots;
    pool::Outcome outcome = Do(call);
    if (submits && !in_time) parts_.report.unanswered += parts_.report.pilots - before;
    if (in_time) After(telling, [answer, outcome] { answer(outcome); });
  });
}

pool::Outcome SimBatch::Do(const pool::CommandLine& call) {
  const std::string& program = call.argv.front();
  if (program == "sbatch") return Submit(call);
  if (program == "squeue") return List();
  if (program == "scancel") return Cancel(call);
  CHECK(program == "/bin/sh");
  pool::Outcome outcome;
  const std::string& script = call.argv.at(2);
  if (script.find("tail") == std::string::npos) return outcome;
  for (size_t i = 5; i < call.argv.size(); ++i) {
    outcome.out += "last words\n";
    auto failed = failed_.find(call.argv[i].substr(0, call.argv[i].rfind('.')));
    if (failed != failed_.end()) {
      outcome.out +=
          fmt::format("spate: the pilot ended with exit status 1 on host h{}\n", failed->second);
    }
    outcome.out += '\0';
  }
  return outcome;
}

pool::Outcome SimBatch::Submit(const pool::CommandLine& call) {
  if (std::ranges::find(call.argv, "--test-only") != call.argv.end()) {
    return {pool::Outcome::End::kExited, 0, "", "sbatch: Job 1 to start at 12:00\n"};
  }
  if (Trouble(parts_.options.batch_refuses_percent)) {
    ++parts_.report.refused;
    constexpr const char* kWords[] = {
        "sbatch: error: Batch job submission failed: Invalid account",
        "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller"};
    return Fails(kWords[prng_.Below(std::size(kWords))]);
  }
  const std::string tag = OptionOf(call, "--job-name=");
  const std::string node = NodeOf(call);
  uint32_t id = Enqueue(call, tag, node);
  if (parts_.sabotage == Sabotage::kSubmitTwice) Enqueue(call, tag, node);
  if (Trouble(parts_.options.batch_garbles_percent)) {
    ++parts_.report.garbled;
    ++parts_.report.unanswered;
    switch (prng_.Below(4)) {
      case 0:
        return {pool::Outcome::End::kExited, 0, "", ""};
      case 1:
        return Fails("sbatch: error: Batch job submission failed: Socket timed out on send/recv");
      case 2:
        return {pool::Outcome::End::kExited, 137, "", "Killed\n"};
      default:
        return {pool::Outcome::End::kExited, 0, "\x01\xff queued, perhaps|\n", "warning\n"};
    }
  }
  return {pool::Outcome::End::kExited, 0, fmt::format("{};cluster\n", id), ""};
}

pool::Outcome SimBatch::Cancel(const pool::CommandLine& call) {
  const bool refused = Trouble(parts_.options.batch_garbles_percent);
  if (refused) {
    ++parts_.report.garbled;
    return Fails("scancel: error: slurm_kill_job: Unable to contact slurm controller");
  }
  for (const auto& word : call.argv) {
    auto at = std::ranges::find_if(
        jobs_, [&](const auto& each) { return std::to_string(each.first) == word; });
    if (at == jobs_.end() || at->second.over) continue;
    if (parts_.sabotage == Sabotage::kDeafToCancel) at->second.deaf = true;
    uint32_t id = at->first;
    bool running = at->second.state != "PENDING";
    Duration wait;
    if (running) wait = Random(Duration::Seconds(30));
    if (Trouble(parts_.options.batch_slow_percent)) wait = Random(Duration::Seconds(200));
    if (running) at->second.state = "COMPLETING";
    After(wait, [this, id] { End(id, "CANCELLED"); });
  }
  return {};
}

// ---- Lists -------------------------------------------------------------------------------------

bool SimBatch::MayMiss(const Job& job) const {
  Instant now = parts_.loop.Now();
  return job.forgotten || job.over || now - job.missed_first < kLeftOutMost ||
         now - job.missed_last > kToldAgain;
}

void SimBatch::Miss(Job& job) {
  Instant now = parts_.loop.Now();
  if (now - job.missed_last > kToldAgain) job.missed_first = now;
  job.missed_last = now;
}

pool::Outcome SimBatch::List() {
  const Options& o = parts_.options;
  Instant now = parts_.loop.Now();
  bool forgets = Trouble(o.batch_forgets_percent);
  std::erase_if(jobs_, [&](const auto& each) { return each.second.known_until < now; });
  bool garbles = Trouble(o.batch_garbles_percent);
  if (garbles) ++parts_.report.garbled;
  if (garbles && prng_.Chance(40)) return Fails("slurm_load_jobs error: Unable to contact slurm");
  // From here on nothing is told; or everything, where somebody was not told of too often.
  size_t cut = garbles ? prng_.Below(jobs_.size() + 1) : jobs_.size();
  for (const auto& [id, job] : jobs_) {
    if (!MayMiss(job)) cut = jobs_.size();
  }
  std::string text = "77|PENDING|Priority|another's\n78_[1-4]|PENDING|Priority|array\n";
  size_t place = 0;
  for (auto& [id, job] : jobs_) {
    bool told = place++ < cut;
    if (told && forgets && MayMiss(job) && prng_.Chance(30)) {
      told = false;
      ++parts_.report.left_out;
      if (!job.over && prng_.Chance(10)) {
        ++parts_.report.forgotten;
        job.forgotten = true;
        parts_.sink(PilotForgotten{id});
        After(Random(Duration::Seconds(3000)), [this, found = id] {
          if (auto at = jobs_.find(found); at != jobs_.end()) at->second.forgotten = false;
        });
      }
    }
    if (!told || job.forgotten) {
      Miss(job);
      continue;
    }
    const char* reason = job.state == "PENDING" ? "Priority" : "None";
    text += fmt::format("{}|{}|{}|{}\n", id, job.state, reason, job.tag);
  }
  // A line that was cut off is told of nobody.
  if (cut < jobs_.size())
    text += fmt::format("{}|RUNN", std::next(jobs_.begin(), static_cast<ptrdiff_t>(cut))->first);
  if (garbles) text += "\x02 garbage||\xfe";
  return {pool::Outcome::End::kExited, 0, std::move(text), ""};
}

// ---- Pilots ------------------------------------------------------------------------------------

uint32_t SimBatch::Enqueue(const pool::CommandLine& call, const std::string& tag,
                           const std::string& node) {
  uint32_t id = ++last_id_;
  Job& job = jobs_[id];
  job.tag = tag;
  job.node = node;
  job.pool = node.substr(0, node.find('.'));
  job.limit = Duration::Seconds(60 * std::stoll(OptionOf(call, "--time=")));
  ++parts_.report.pilots;
  parts_.sink(PilotQueued{job.tag, job.pool, id});
  Wait(id);
  return id;
}

void SimBatch::Wait(uint32_t id) {
  Duration most = prng_.Chance(40) ? parts_.options.queue_most : Duration::Seconds(60);
  After(Random(most), [this, id] { Start(id); });
}

void SimBatch::Start(uint32_t id) {
  auto at = jobs_.find(id);
  if (at == jobs_.end() || at->second.over) return;
  Job& job = at->second;
  job.state = "RUNNING";
  const uint32_t run = ++job.runs;
  parts_.sink(PilotRuns{id});
  auto later = [this, id, run](Duration wait, auto fn) {
    After(wait, [this, id, run, fn] {
      auto found = jobs_.find(id);
      bool same = found != jobs_.end() && !found->second.over && found->second.runs == run;
      if (same && found->second.state != "PENDING") fn(found->second);
    });
  };
  const Instant end = parts_.loop.Now() + job.limit;
  later(job.limit, [this, id](Job&) { End(id, "TIMEOUT"); });
  const bool ill = Trouble(parts_.options.batch_kills_percent);
  const uint64_t how = ill ? prng_.Below(4) : 99;
  const bool never = how == 0 || parts_.sabotage == Sabotage::kLosePilots;
  if (never) ++parts_.report.never_joined;
  if (how == 1) {
    ++parts_.report.killed;
    later(Random(Duration::Seconds(10)), [this, id](Job&) { End(id, "FAILED"); });
  } else if (how == 2) {
    ++parts_.report.killed;
    later(Random(job.limit), [this, id](Job&) { End(id, "NODE_FAIL"); });
  } else if (how == 3) {
    ++parts_.report.requeued;
    later(Random(job.limit), [this, id](Job&) { Requeue(id); });
  }
  if (never) return;
  later(Random(Duration::Seconds(20)),
        [this, end](Job& found) { parts_.machines.StartPilot(found.node, end); });
}

void SimBatch::Requeue(uint32_t id) {
  Job& job = jobs_.at(id);
  parts_.machines.EndPilot(job.node);
  job.state = "PENDING";
  parts_.sink(PilotRuns{id, false});
  Wait(id);
}

void SimBatch::End(uint32_t id, const char* state) {
  auto at = jobs_.find(id);
  if (at == jobs_.end() || at->second.over || at->second.deaf) return;
  Job& job = at->second;
  job.over = true;
  job.forgotten = false;
  job.state = state;
  if (job.state == "FAILED") failed_[job.tag] = id % 3;
  bool forgets = Trouble(parts_.options.batch_forgets_percent);
  job.known_until = parts_.loop.Now() + (forgets ? Duration{} : kRemembered);
  parts_.machines.EndPilot(job.node);
  parts_.sink(PilotOver{id, job.state});
}

void SimBatch::Exited(const std::string& name) {
  for (const auto& [id, job] : jobs_) {
    if (job.node != name || job.over || job.state == "PENDING") continue;
    After(Random(Duration::Seconds(5)), [this, exited = id, run = job.runs] {
      auto at = jobs_.find(exited);
      if (at != jobs_.end() && at->second.runs == run && at->second.state != "PENDING") {
        End(exited, "COMPLETED");
      }
    });
  }
}

}  // namespace spate::sim
