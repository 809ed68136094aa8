#include "cli/pool/pool_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/number.h"
#include "base/units.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "core/model/limits.h"
#include "core/model/name.h"
#include "pool/own_options.h"

namespace spate::cli {
namespace {

constexpr std::array<std::string_view, 6> kSystems = {"slurm",    "gridengine", "pbs",
                                                      "htcondor", "ssh",        "local"};

// Nodes are started once, and stay.
bool Stays(std::string_view system) { return system == "ssh" || system == "local"; }

Result<std::string> DrainText(std::string_view value) {
  if (value.empty()) return Fail(ErrorKind::kInvalid, "the value is empty");
  return std::string(value);
}

Result<std::string> TakePath(std::string_view value) {
  if (value.starts_with('/')) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' does not begin with a /; write an absolute path, because the hub "
                          "and the nodes have no common current folder",
                          EscapeForScreen(value)));
}

Result<std::string> TakeLabel(std::string_view value) {
  if (!value.starts_with(kPoolLabel)) return ReadName(value, "label", kAlsoInLabels);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a label; those that begin with {} are the hub's own",
                          EscapeForScreen(value), kPoolLabel));
}

Result<Duration> TimeOrNever(std::string_view value) {
  if (value == "never") return kPoolNever;
  auto time = ParseDuration(value);
  if (!time) return Fail(time.error().kind, time.error().message + ", or never");
  return *time;
}

Result<Duration> SomeTime(std::string_view value) {
  auto time = ParseDuration(value);
  if (time && time->ns == 0) return Fail(ErrorKind::kInvalid, "write a time above 0");
  return time;
}

auto CountFrom1(uint32_t most) {
  return [most](std::string_view value) -> Result<uint32_t> {
    auto count = ParseCountUpTo(value, most);
    if (count && *count == 0) return Fail(ErrorKind::kInvalid, "write 1 or more");
    return count;
  };
}

// Reads options into a wish: what is not typed stays absent.
class WishReader {
 public:
  explicit WishReader(const Words& words) : words_(words), in_(words) {}

  Result<PoolWish> Read() {
    ReadPilots();
    ReadNodes();
    ReadStart();
    ReadWatch();
    TRY(in_.status());
    return std::move(wish_);
  }

 private:
  template <typename T, typename Parse>
  void Take(const Option& opt, std::optional<T>& target, Parse parse) {
    T value{};
    if (in_.Read(opt, value, parse)) target = std::move(value);
  }
  template <typename Parse>
  void TakeAll(const Option& opt, std::optional<std::vector<std::string>>& target, Parse parse) {
    in_.ReadAll(opt, parse, [&](std::string value) {
      if (!target) target.emplace();
      target->push_back(std::move(value));
    });
  }
  std::optional<bool> Switch(const Option& opt) const {
    auto value = words_.Last(opt);
    return value ? std::optional(*value == "true") : std::nullopt;
  }

  void ReadPilots() {
    Take(opt::kMaxPilots, wish_.max_pilots, CountFrom1(kLimits.pilots));
    Take(opt::kMinPilots, wish_.min_pilots, CountUpTo(kLimits.pilots));
    Take(opt::kPilotBacklog, wish_.backlog, CountFrom1(kLimits.pilots));
    Take(opt::kPilotNodes, wish_.nodes_per_pilot, CountFrom1(100'000));
    Take(opt::kPilotTimeLimit, wish_.time_limit, SomeTime);
    Take(opt::kPilotLifetime, wish_.lifetime, SomeTime);
    Take(opt::kPilotIdleExit, wish_.idle_exit, TimeOrNever);
    Take(opt::kSubmitRate, wish_.submit_interval, ParseSubmitRate);
    Take(opt::kPoolUser, wish_.user, DrainText);
    wish_.chain = Switch(opt::kChain);
    wish_.spread = Switch(opt::kSpread);
  }

  void ReadNodes() {
    Take(opt::kPoolSlots, wish_.slots, CountFrom1(kLimits.slots));
    Take(opt::kPoolCpus, wish_.milli_cpus, ParseMilliCpus);
    Take(opt::kPoolMemory, wish_.memory, ParseMemory);
    in_.ReadAll(opt::kPoolResource, ParseNamedNeed,
                [&](NamedNeed named) { Put(std::move(named)); });
    uint32_t gpus = 0;
    if (in_.Read(opt::kPoolGpus, gpus, CountUpTo(1024))) Put({"gpus", gpus});
    TakeAll(opt::kPoolLabel, wish_.labels, TakeLabel);
    if (wish_.labels) {
      std::ranges::sort(*wish_.labels);
      auto doubles = std::ranges::unique(*wish_.labels);
      wish_.labels->erase(doubles.begin(), doubles.end());
    }
    TakeAll(opt::kPoolNodeOption, wish_.node_options, DrainText);
  }

  void Put(NamedNeed named) {
    if (!wish_.named) wish_.named.emplace();
    std::erase_if(*wish_.named, [&](const NamedNeed& known) { return known.name == named.name; });
    if (named.count > 0) wish_.named->push_back(std::move(named));
    std::ranges::sort(*wish_.named, {}, &NamedNeed::name);
  }

  void ReadStart() {
    Take(opt::kPrologue, wish_.prologue,
         [](std::string_view v) -> Result<std::string> { return std::string(v); });
    Take(opt::kEpilogue, wish_.epilogue,
         [](std::string_view v) -> Result<std::string> { return std::string(v); });
    Take(opt::kWrapper, wish_.wrapper, DrainText);
    Take(opt::kSubmitCommand, wish_.submit_command, DrainText);
    Take(opt::kQueryCommand, wish_.query_command, DrainText);
    Take(opt::kCancelCommand, wish_.cancel_command, DrainText);
    Take(opt::kSelectCommand, wish_.select_command, DrainText);
    TakeAll(opt::kCommandWord, wish_.everywhere, DrainText);
    TakeAll(opt::kPoolAddress, wish_.addresses, DrainText);
    Take(opt::kPoolFolder, wish_.folder, TakePath);
    Take(opt::kPoolProgram, wish_.program, TakePath);
    if (auto apart = Switch(opt::kNoSharedFiles)) wish_.shared_files = !*apart;
  }

  void ReadWatch() {
    Take(opt::kWatchUnknown, wish_.watch_init, TimeOrNever);
    Take(opt::kWatchError, wish_.watch_error, TimeOrNever);
    Take(opt::kWatchSilent, wish_.watch_silent, TimeOrNever);
    Take(opt::kWatchJoining, wish_.watch_joining, TimeOrNever);
    TimeSpan suspended;
    if (!in_.Read(opt::kWatchSuspended, suspended, ParseTimeSpan)) return;
    wish_.watch_suspended_from = suspended.from;
    wish_.watch_suspended_until = suspended.to;
  }

  const Words& words_;
  OptionReader in_;
  PoolWish wish_;
};

Status CheckWish(const PoolWish& wish) {
  if (wish.min_pilots && wish.max_pilots && *wish.min_pilots > *wish.max_pilots) {
    return Fail(ErrorKind::kInvalid, fmt::format("--min-pilots {} is above --max-pilots {}",
                                                 *wish.min_pilots, *wish.max_pilots));
  }
  return {};
}

// The words behind `--`, and the time limit that they set.
Status TakeOwnOptions(const Words& words, std::string_view system, PoolWish& wish) {
  if (!words.has_rest) return {};
  pool::OwnOptions own = pool::ReadOwnOptions(system, words.rest);
  if (own.limit && wish.time_limit && *own.limit != *wish.time_limit) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--time-limit is {}, but '{}' after -- is {}; write only one of them",
                            FormatDuration(*wish.time_limit), EscapeForScreen(own.limit_word),
                            FormatDuration(*own.limit)));
  }
  if (own.limit) wish.time_limit = own.limit;
  wish.options = std::move(own.words);
  return {};
}

Status TakeHosts(const Words& words, NewPool& pool) {
  auto typed = words.Last(opt::kHosts);
  if (pool.system != "ssh") {
    if (!typed) return {};
    return Fail(ErrorKind::kInvalid,
                fmt::format("--hosts is only for ssh pools; {} has its own hosts", pool.system));
  }
  if (!typed) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("the hosts are missing; write for example: spate pool add ssh {} "
                            "--hosts pc1,pc2:4, or name a file",
                            pool.name));
  }
  if (pool.name.size() > kGroupNameBytes) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("'{}' is too long; names of ssh pools begin with it, so write up to {} bytes",
                    pool.name, kGroupNameBytes));
  }
  auto hosts = ReadHosts(std::string(*typed));
  if (!hosts) return Within("--hosts", hosts.error());
  pool.hosts = std::move(*hosts);
  return {};
}

// A pool whose nodes stay has one pilot from the beginning.
void SetDefaults(NewPool& pool) {
  if (!Stays(pool.system)) return;
  PoolWish& wish = pool.wish;
  if (!wish.max_pilots) wish.max_pilots = std::max(1u, wish.min_pilots.value_or(1));
  if (!wish.min_pilots) wish.min_pilots = 1;
  if (!wish.idle_exit) wish.idle_exit = kPoolNever;
}

}  // namespace

Result<Duration> ParseSubmitRate(std::string_view text) {
  constexpr double kDay = 86'400, kMost = 1000;
  std::string_view number = text.substr(0, text.find('/'));
  std::string_view per = text.substr(std::min(number.size() + 1, text.size()));
  double seconds = per == "h" ? 3600 : per == "m" || per == "min" ? 60 : 1;
  bool known = per == "h" || per == "m" || per == "min" || per == "s" ||
               (per.empty() && number.size() == text.size());
  bool plain = number.find_first_not_of("0123456789.") == std::string_view::npos;
  auto count = plain ? ReadNumber<double>(number) : std::nullopt;
  if (!known || !count || *count <= 0 || *count / seconds > kMost || seconds / *count > kDay) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a rate; write for example 0.5, 2/s, 10/m or 100/h",
                            EscapeForScreen(text)));
  }
  return Duration::SecondsF(seconds / *count);
}

Result<TimeSpan> ParseTimeSpan(std::string_view text) {
  size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    auto from = ParseDuration(text.substr(0, dash));
    auto to = TimeOrNever(text.substr(dash + 1));
    if (from && to && *from <= *to) return TimeSpan{*from, *to};
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not FROM-TO; write for example 10m-2h or 0s-never",
                          EscapeForScreen(text)));
}

std::optional<std::string> OwnOptionHint(std::string_view typed) {
  // One letter: none of ours is one here. The others: of Slurm, Grid Engine, PBS and ssh.
  constexpr std::string_view kLong[] = {
      "--partition",     "--account",     "--qos",       "--time",     "--constraint",
      "--gres",          "--ntasks",      "--nodes",     "--export",   "--mail-type",
      "--cpus-per-task", "--mem-per-cpu", "--exclusive", "--nodelist", "--reservation"};
  const bool is_letter = typed.size() == 2 && typed[0] == '-' && typed[1] != '-' &&
                         std::string_view("pAtnNcCqlPwxMGmdLsr").contains(typed[1]);
  if (!is_letter && std::ranges::find(kLong, typed) == std::end(kLong)) return std::nullopt;
  return "an option of the batch system; write those at the end, after --: spate pool add slurm "
         "NAME -- -p short -t 1h";
}

bool HasOwnOptions(const Words& words) { return words.has_rest && !words.rest.empty(); }

Result<NewPool> MakeNewPool(const Words& words) {
  NewPool pool{.system = words.words.at(0), .name = words.words.at(1)};
  if (std::ranges::find(kSystems, pool.system) == kSystems.end()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a batch system that spate supports; write one of {}, "
                            "followed by the pool's name",
                            EscapeForScreen(pool.system), fmt::join(kSystems, ", ")));
  }
  TRY(CheckPoolName(pool.name));
  auto wish = TRY(WishReader(words).Read());
  pool.wish = std::move(wish);
  SetDefaults(pool);
  TRY(CheckWish(pool.wish));
  TRY(TakeOwnOptions(words, pool.system, pool.wish));
  TRY(TakeHosts(words, pool));
  pool.test = !words.Has(opt::kNoTest);
  pool.dry_run = words.Has(opt::kPoolDryRun);
  return pool;
}

Result<PoolWish> MakePoolChange(const Words& words, std::string_view system) {
  constexpr const Option* kOthers[] = {&opt::kOutput, &opt::kAccess, &opt::kState};
  bool changes = words.has_rest || std::ranges::any_of(words.options, [&](const TypedOption& o) {
                   return std::ranges::find(kOthers, o.opt) == std::end(kOthers);
                 });
  if (!changes) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("nothing to change; write for example: spate pool set {} --max-pilots 20",
                    EscapeForScreen(words.words.front())));
  }
  auto wish = WishReader(words).Read();
  if (!wish) return wish;
  TRY(CheckWish(*wish));
  TRY(TakeOwnOptions(words, system, *wish));
  return wish;
}

}  // namespace spate::cli
