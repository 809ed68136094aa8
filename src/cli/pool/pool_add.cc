// `spate pool add`. Of ssh each host is a pool: one that fails its test keeps no other out, is told
// with what to do, and makes the exit code 1.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/pool/pool_options.h"
#include "cli/pool/pool_text.h"
#include "cli/pool/pool_verbs.h"
#include "cli/text/end_text.h"
#include "cli/text/reach.h"
#include "cli/view/json_fields.h"
#include "wire/question_checks.h"

namespace spate::cli {
namespace {

Result<PoolTrial> AddOne(const HubScreen& screen, const wire::AddPool& question) {
  if (auto sound = wire::CheckSound(question); !sound) {
    return Fail(ErrorKind::kInvalid, "no hub takes such a pool: " + sound.error().message);
  }
  return client::AskOne(screen.hub, question);
}

Result<int> Write(const HubScreen& screen, std::string_view text) {
  if (auto written = screen.write_out(text); !written) return std::unexpected(written.error());
  return kExitSuccess;
}

// As the output's form wants one that was added, or tried.
std::string DataOf(const HubScreen& screen, const NewPool& pool, const PoolTrial& trial) {
  if (screen.form == OutputForm::kJson) return JsonOf("pool_trial", trial);
  if (screen.form == OutputForm::kQuiet) return pool.dry_run ? "" : trial.pool + "\n";
  return pool.dry_run ? TrialText(trial, pool.test) : "";
}

void SayNext(const HubScreen& screen, const std::string& name) {
  std::string submit = fmt::format("spate submit{}", ReachOfHub(screen.reach));
  screen.Say(Reaching(fmt::format("tasks for it alone: {} --pool {} ...; how it is: spate pool "
                                  "info {}",
                                  submit, name, name),
                      screen.reach));
}

// What the hub made of the wish; nothing when it does not say.
std::vector<PoolFacts> Look(const HubScreen& screen, const std::string& name) {
  std::vector<PoolFacts> pools;
  (void)client::Ask(screen.hub, wire::LookAtPools{{name}, false},
                    [&](PoolFacts pool) { pools.push_back(std::move(pool)); });
  return pools;
}

// Of a batch system whose pilots have an end that nobody knows.
bool LacksTimeLimit(const NewPool& pool) {
  return pool.system != "ssh" && pool.system != "local" && !pool.wish.time_limit;
}

Result<int> AddAlone(const HubScreen& screen, const NewPool& pool) {
  auto trial = AddOne(screen, {pool.name, pool.system, pool.wish, pool.test, pool.dry_run});
  if (!trial) return std::unexpected(trial.error());
  trial->pool = pool.name;
  if (auto written = Write(screen, DataOf(screen, pool, *trial)); !written) return written;
  if (pool.dry_run) {
    bool failed = pool.test && !trial->passed;
    if (failed) screen.Say(fmt::format("{} would refuse it", pool.system));
    return failed ? kExitTasksFailed : kExitSuccess;
  }
  auto known = Look(screen, pool.name);
  screen.Say(known.empty() ? fmt::format("pool {} is there", pool.name)
                           : fmt::format("pool {} is there: {}", pool.name, PlanOf(known[0])));
  if (LacksTimeLimit(pool)) {
    screen.Say(Reaching(fmt::format("how long a pilot may run is not known; to say it: spate pool "
                                    "set {} --time-limit 1h",
                                    pool.name),
                        screen.reach));
  }
  SayNext(screen, pool.name);
  return kExitSuccess;
}

// ---- Hosts -------------------------------------------------------------------------------------

struct Refused {
  std::string host, why;
};

// Whether the hub itself is gone, or lets us add nothing: the next host would fare no better.
bool IsForAll(const HubScreen& screen, const Error& error) {
  if (error.kind == ErrorKind::kPermission || error.kind == ErrorKind::kExhausted) return true;
  if (error.kind != ErrorKind::kUnavailable) return false;
  return !client::AskOne(screen.hub, wire::LookAtHub());
}

std::string SummaryOf(const NewPool& pool, const std::vector<Refused>& refused) {
  size_t added = pool.hosts.size() - refused.size();
  std::string text = fmt::format("{}: {} {}", pool.name, CountOf(added, "host"),
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
  std::string text = fmt::format("{}: not added: {}", host.host, error.message);
  bool is_there = error.kind == ErrorKind::kExists || error.kind == ErrorKind::kBusy;
  if (!is_there) {
    text += fmt::format(
        "\n  when that is put right: spate pool add ssh {} --hosts {}; as it is: "
        "the same with --no-test",
        pool.name, ShellQuote(TypedHost(host)));
  }
  screen.Say(Reaching(text, screen.reach));
}

Result<int> AddHosts(const HubScreen& screen, const NewPool& pool) {
  std::vector<std::string> names = PoolNamesOf(pool.name, pool.hosts);
  std::vector<Refused> refused;
  for (size_t i = 0; i < pool.hosts.size(); ++i) {
    const PoolHost& host = pool.hosts[i];
    wire::AddPool question{names[i], pool.system, pool.wish, pool.test, pool.dry_run};
    question.wish.host = host.host;
    question.wish.group = pool.name;
    if (host.slots > 0) question.wish.slots = host.slots;
    auto trial = AddOne(screen, question);
    if (!trial && IsForAll(screen, trial.error())) return std::unexpected(trial.error());
    if (trial && pool.dry_run && pool.test && !trial->passed) {
      trial = Fail(ErrorKind::kInvalid, trial->words);
    }
    PoolTrial told = trial.value_or(PoolTrial{});
    told.pool = names[i];
    if (!trial) {
      told.words = trial.error().message;
      refused.push_back({host.host, told.words});
      SayRefused(screen, pool, host, trial.error());
    } else if (pool.hosts.size() > 1 && !pool.dry_run) {
      screen.Say(
          fmt::format("{}: added as {} ({} of {})", host.host, names[i], i + 1, pool.hosts.size()));
    }
    if (!trial && screen.form != OutputForm::kJson) continue;
    if (auto written = Write(screen, DataOf(screen, pool, told)); !written) return written;
  }
  screen.Say(SummaryOf(pool, refused));
  if (!pool.dry_run && refused.size() < pool.hosts.size()) SayNext(screen, pool.name);
  return refused.empty() ? kExitSuccess : kExitTasksFailed;
}

}  // namespace

Result<int> AddPools(const HubScreen& screen) {
  auto pool = MakeNewPool(screen.words);
  if (!pool) return std::unexpected(pool.error());
  return pool->hosts.empty() ? AddAlone(screen, *pool) : AddHosts(screen, *pool);
}

}  // namespace spate::cli
