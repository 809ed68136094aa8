// `spate pool add`. Of ssh each host is a pool: one that fails its test keeps no other out, is told
// with what to do, and makes the exit code 1.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/pool_options.h"
#include "cli/options/run_options.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "command/pool/pool_text.h"
#include "os/environment.h"
#include "os/find_program.h"
#include "pool/environment.h"
#include "present/advice.h"
#include "present/json/json_fields.h"
#include "present/text/end_text.h"
#include "wire/question_checks.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

Result<PoolTrial> AddOne(const HubScreen& screen, const wire::AddPool& question) {
  if (auto sound = wire::CheckBeforeSending(question); !sound) {
    return Fail(ErrorKind::kInvalid, "no hub accepts such a pool: " + sound.error().message);
  }
  return client::QueryOne(screen.hub, question);
}

// An added or tried pool, in the output's form.
std::string DataOf(const HubScreen& screen, const NewPool& pool, const PoolTrial& trial) {
  if (screen.form == OutputForm::kJson) return present::JsonOf("pool_trial", trial);
  if (screen.form == OutputForm::kQuiet) return pool.dry_run ? "" : trial.pool + "\n";
  return pool.dry_run ? TrialText(trial, pool.test) : "";
}

void SayNext(const HubScreen& screen, const std::string& name) {
  screen.Report(fmt::format("to run tasks only there: {}; to see its status: {}",
                            present::TextOf(Advice("submit", "--pool", name, "..."), screen.reach),
                            present::TextOf(Advice("pool info", name), screen.reach)));
}

// The pool that the hub made of the wish; nothing when it does not answer.
std::vector<PoolFacts> Look(const HubScreen& screen, const std::string& name) {
  std::vector<PoolFacts> pools;
  (void)client::Query(screen.hub, wire::LookAtPools{{name}, false},
                      [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  return pools;
}

// True for a batch system whose pilots have an end that nobody knows.
bool LacksTimeLimit(const NewPool& pool) {
  return pool.system != "ssh" && pool.system != "local" &&
         !pool.wish.Sets(pool.wish.values.time_limit);
}

// Settings of this process that decide which batch system is found.
std::vector<PoolVariable> VariablesHere(const std::string& system) {
  const os::Environment environment = os::Environment::OfProcess();
  std::vector<PoolVariable> variables;
  if (const std::string command(pool::SubmitCommandOf(system)); !command.empty()) {
    variables.push_back({command, os::FindProgram(command, environment.GetOr("PATH", ""))});
  }
  for (const std::string_view name : pool::DecisiveVariables(system)) {
    variables.push_back({std::string(name), std::string(environment.GetOr(name, ""))});
  }
  return variables;
}

Result<int> AddAlone(const HubScreen& screen, const NewPool& pool) {
  auto trial = TRY(AddOne(screen, {pool.name, pool.system, pool.wish, pool.test, pool.dry_run,
                                   VariablesHere(pool.system)}));
  trial.pool = pool.name;
  if (const std::string text = pool::TextOf(trial.differences); !text.empty()) {
    screen.Report(text.substr(1));
  }
  (void)TRY(screen.Write(DataOf(screen, pool, trial)));
  if (pool.dry_run) {
    bool failed = pool.test && !trial.passed;
    if (failed) screen.Report(fmt::format("{} would refuse it", pool.system));
    return failed ? kExitTasksFailed : kExitSuccess;
  }
  auto known = Look(screen, pool.name);
  screen.Report(known.empty()
                    ? fmt::format("pool {} added", pool.name)
                    : fmt::format("pool {} added: {}", pool.name, PlanOf(known[0].policy)));
  if (LacksTimeLimit(pool)) {
    screen.Report(fmt::format(
        "the time limit of a pilot is not known; to set it: {}",
        present::TextOf(Advice("pool set", pool.name, "--time-limit", "1h"), screen.reach)));
  }
  SayNext(screen, pool.name);
  return kExitSuccess;
}

// ---- Hosts -------------------------------------------------------------------------------------

struct Refused {
  std::string host, why;
};

// True if the hub itself is gone, or lets us add nothing: the next host would fare no better.
bool IsForAll(const HubScreen& screen, const Error& error) {
  if (error.kind == ErrorKind::kPermission || error.kind == ErrorKind::kExhausted) return true;
  if (error.kind == ErrorKind::kUnknown) return true;
  if (error.kind != ErrorKind::kUnavailable) return false;
  return !client::QueryOne(screen.hub, wire::LookAtHub());
}

std::string SummaryOf(const NewPool& pool, const std::vector<Refused>& refused) {
  size_t added = pool.hosts.size() - refused.size();
  std::string text = fmt::format("{}: {} {}", pool.name, present::CountOf(added, "host"),
                                 pool.dry_run ? "would be added" : "added");
  if (refused.empty()) return text;
  std::vector<std::string> hosts;
  for (const Refused& one : refused) hosts.push_back(one.host);
  return text + fmt::format(", {} refused: {}", refused.size(), fmt::join(hosts, ", "));
}

// A host with its slots, as one types it.
std::string TypedHost(const PoolHost& host) {
  if (host.slots == 0) return host.host;
  bool address = host.host.contains(':');
  size_t at = host.host.find('@') + 1;  // 0: no user
  std::string shown =
      address ? fmt::format("{}[{}]", host.host.substr(0, at), host.host.substr(at)) : host.host;
  return fmt::format("{}:{}", shown, host.slots);
}

void SayRefused(const HubScreen& screen, const NewPool& pool, const PoolHost& host,
                const Error& error) {
  std::string text =
      fmt::format("{}: not added: {}", host.host, present::TextOf(error, screen.reach));
  bool is_there = error.kind == ErrorKind::kExists || error.kind == ErrorKind::kBusy;
  if (!is_there) {
    const Advice add("pool add", "ssh", pool.name, "--hosts", TypedHost(host));
    text += fmt::format("\n  when this is fixed: {}; to add it anyway: the same with --no-test",
                        present::TextOf(add, screen.reach));
  }
  screen.Report(text);
}

Result<int> AddHosts(const HubScreen& screen, const NewPool& pool) {
  std::vector<std::string> names = PoolNamesOf(pool.name, pool.hosts);
  std::vector<Refused> refused;
  for (size_t i = 0; i < pool.hosts.size(); ++i) {
    const PoolHost& host = pool.hosts[i];
    wire::AddPool question{names[i], pool.system, pool.wish, pool.test, pool.dry_run};
    PoolPolicy& values = question.wish.values;
    question.wish.Set(values.settings.host, host.host);
    question.wish.Set(values.settings.group, pool.name);
    if (host.slots > 0) question.wish.Set(values.shape.slots, host.slots);
    auto trial = AddOne(screen, question);
    if (!trial && IsForAll(screen, trial.error())) return std::unexpected(trial.error());
    if (trial && pool.dry_run && pool.test && !trial->passed) {
      trial = Fail(ErrorKind::kInvalid, trial->words);
    }
    PoolTrial told = trial.value_or(PoolTrial{});
    told.pool = names[i];
    if (!trial) {
      told.words = present::TextOf(trial.error(), screen.reach);
      refused.push_back({host.host, told.words});
      SayRefused(screen, pool, host, trial.error());
    } else if (pool.hosts.size() > 1 && !pool.dry_run) {
      screen.Report(
          fmt::format("{}: added as {} ({} of {})", host.host, names[i], i + 1, pool.hosts.size()));
    }
    if (!trial && screen.form != OutputForm::kJson) continue;
    (void)TRY(screen.Write(DataOf(screen, pool, told)));
  }
  screen.Report(SummaryOf(pool, refused));
  if (!pool.dry_run && refused.size() < pool.hosts.size()) SayNext(screen, pool.name);
  return refused.empty() ? kExitSuccess : kExitTasksFailed;
}

Result<int> AddPools(const HubScreen& screen) {
  auto pool = TRY(MakeNewPool(screen.words));
  return pool.hosts.empty() ? AddAlone(screen, pool) : AddHosts(screen, pool);
}

}  // namespace

extern const Command kPoolAdd = {
    .order = 420,
    .group = CommandGroup::kPools,
    .name = "pool add",
    .arguments = "SYSTEM NAME [-- THE BATCH SYSTEM'S OPTIONS]",
    .completes = Completes::kSystems,
    .summary = "let the hub start nodes through a batch system or ssh",
    .details =
        "SYSTEM is slurm, gridengine, pbs, htcondor, ssh or local (the hub's machine). When enough "
        "tasks wait to keep them busy, the hub requests pilots: batch jobs that start nodes. A "
        "pool is added only if the batch system's own test accepts the pilot. Words after -- are "
        "passed to the submit command unchanged, except that a time limit may be written as 1h, "
        "which becomes 1:00:00. NAME has up to 30 letters, digits, - and _, and begins with a "
        "letter. Nodes of ssh and local stay when there is no work.",
    .examples = {{{"spate pool add slurm lab -- -p short -t 1h", "up to 10 one-hour pilots"},
                  {"spate pool add slurm lab --dry-run -- -p short", "look at the script first"},
                  {"spate pool add ssh desks --hosts pc1,pc2:4", "a node on each host"},
                  {"spate pool add local here", "a node on the hub's machine"}}},
    .words_min = 2,
    .words_max = 2,
    .takes_command = true,
    .options = {{opt::kAboutHub, opt::kHosts, opt::kPoolWishes, opt::kNoTest, opt::kPoolDryRun}},
    .hint = OwnOptionHint,
    .run = AskHub<AddPools>,
};

}  // namespace spate::cli::command
