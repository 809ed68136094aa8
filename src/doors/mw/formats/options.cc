#include "doors/mw/formats/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/number.h"
#include "base/units.h"
#include "doors/mw/formats/lisp_text.h"

namespace spate::mw {
namespace {

// Counts of tasks in a packet; larger ones make no difference.
constexpr uint64_t kGroupMost = 65'536;
constexpr uint64_t kResultMemoryLeast = 1 << 20;
constexpr uint64_t kSecondsMost = 10 * 365 * 86'400;

using Taker = std::function<bool(Options&, const std::string&)>;
struct Known {
  std::string_view name;
  std::string_view value;  // what stands for it in the usage
  std::string_view help;
  Taker take;  // false: the value is wrong
};

std::optional<uint64_t> Number(std::string_view text, uint64_t least, uint64_t most) {
  auto number = ReadNumber<uint64_t>(text);
  if (!number || *number < least || *number > most) return std::nullopt;
  return *number;
}

Taker Seconds(Duration Options::* field, uint64_t least) {
  return [field, least](Options& options, const std::string& text) {
    auto seconds = Number(text, least, kSecondsMost);
    if (seconds) options.*field = Duration::Seconds(static_cast<int64_t>(*seconds));
    return seconds.has_value();
  };
}

Taker Text(std::string Options::* field) {
  return [field](Options& options, const std::string& text) {
    options.*field = text;
    return !text.empty();
  };
}

Taker Buffer() {
  return [](Options&, const std::string& text) { return Number(text, 1, UINT32_MAX).has_value(); };
}

bool TakeResultMemory(Options& options, const std::string& text) {
  auto bytes = ParseSize(text);
  if (!bytes || *bytes < kResultMemoryLeast) return false;
  options.result_memory = *bytes;
  return true;
}

bool TakePort(Options& options, const std::string& text) {
  auto port = Number(text, 0, 65'535);
  if (port) options.where.push_back(MasterPort{static_cast<uint16_t>(*port)});
  return port.has_value();
}

bool TakeHost(Options& options, const std::string& text) {
  options.host = text;
  options.where.push_back(MasterHost{text});
  return !text.empty();
}

bool TakeMember(Options& options, const std::string& text) {
  options.member_id = text;
  options.where.push_back(MemberId{text});
  return true;
}

bool TakeFile(Options& options, const std::string& text) {
  options.resource_file = text;
  options.where.push_back(FromFile{text});
  return !text.empty();
}

bool TakeTaskGroup(Options& options, const std::string& text) {
  auto count = Number(text, 1, kGroupMost);
  if (count) options.task_group = static_cast<uint32_t>(*count);
  return count.has_value();
}

bool TakeResultGroup(Options& options, const std::string& text) {
  auto count = Number(text, 1, kGroupMost);
  if (count) options.result_group = static_cast<uint32_t>(*count);
  return count.has_value();
}

bool TakeSlots(Options& options, const std::string& text) {
  auto count = Number(text, 1, kSlotsMost);
  if (count) options.slots = static_cast<uint32_t>(*count);
  return count.has_value();
}

bool TakeMemory(Options& options, const std::string& text) {
  auto bytes = ParseSize(text);
  if (!bytes || *bytes == 0 || *bytes > kMemoryMost) return false;
  options.memory = *bytes;
  return true;
}

// The last word about a resource counts.
bool TakeResource(Options& options, const std::string& text) {
  auto pieces = ParsePieces(text);
  if (!pieces) return false;
  std::vector<Pieces>& all = options.resources;
  std::erase_if(all, [&](const Pieces& each) { return each.name == pieces->name; });
  if (all.size() == kNamesMost) return false;
  all.insert(std::ranges::upper_bound(all, pieces->name, {}, &Pieces::name), std::move(*pieces));
  return true;
}

bool TakeLabel(Options& options, const std::string& text) {
  std::vector<std::string>& all = options.labels;
  if (!IsLabel(text)) return false;
  if (std::ranges::find(all, text) != all.end()) return true;
  if (all.size() == kNamesMost) return false;
  all.insert(std::ranges::upper_bound(all, text), text);
  return true;
}

constexpr std::string_view kOffers[] = {"--mw-slots", "--mw-memory", "--mw-resource", "--mw-label"};

const std::vector<Known>& AllOptions() {
  static const std::vector<Known> kAll = {
      {"--mw-master-host", "HOST",
       "master: the address that slaves connect to, also the one to listen at (default: this "
       "machine's name); slave: where the master is",
       TakeHost},
      {"--mw-master-port", "PORT",
       "slave: the master's port; a master uses a free one and writes it to its resource file",
       TakePort},
      {"--mw-member-id", "TEXT", "must be the same at master and slaves (default-member-id)",
       TakeMember},
      {"--mw-resource-file", "FILE",
       "resource file: a master writes its address and the number of slaves that it needs; a slave "
       "reads it",
       TakeFile},
      {"--mw-resource-file-update-interval", "SECONDS",
       "seconds between two writes of the resource file (300)",
       Seconds(&Options::update_interval, 1)},
      {"--mw-slave-task-group", "N", "tasks that go to a slave together (1)", TakeTaskGroup},
      {"--mw-slave-result-group", "N",
       "results that come back together (as many as tasks went, at most)", TakeResultGroup},
      {"--mw-result-memory", "SIZE",
       "memory of a master for results that it has not taken, such as 2G (256M); above it, slaves "
       "get no new tasks, and further results go to files in $TMPDIR",
       TakeResultMemory},
      {"--mw-slots", "N",
       "slave: tasks that it computes at once, on as many threads (1); algorithms must be safe for "
       "that",
       TakeSlots},
      {"--mw-memory", "SIZE",
       "slave: memory for tasks that need some, such as 16G (default: any task fits)", TakeMemory},
      {"--mw-resource", "NAME=N|NAME=A,B,...",
       "slave: pieces of a resource for tasks that need it, such as gpus=2; again for another one",
       TakeResource},
      {"--mw-label", "LABEL", "slave: a label that tasks may need; again for another one",
       TakeLabel},
      {"--mw-client-timeout", "SECONDS",
       "seconds of silence after which a slave is lost (60); tasks may run for any time",
       Seconds(&Options::client_timeout, 1)},
      {"--mw-shutdown-timeout", "SECONDS",
       "seconds that an ended master waits for its slaves to be informed (60)",
       Seconds(&Options::shutdown_timeout, 0)},
      {"--mw-audit-file", "FILE",
       "append one line for each event to FILE (master: standard error, slave: standard output)",
       Text(&Options::audit_file)},
      {"--mw-slave-executable", "PATH",
       "what slaves are to run, for the resource file (this program)", Text(&Options::executable)},
      {"--mw-access", "FILE",
       "the credential by which slaves prove themselves; a master makes it when it is missing "
       "(default: a new one in each resource file)",
       Text(&Options::access_file)},
      {"--mw-master-bind", "ADDRESS", "listen there instead: *, an IPv4 or IPv6 address, or a name",
       Text(&Options::bind)},
      {"--mw-state", "DIR",
       "folder for the master's checkpoints; after a kill, the same command resumes",
       Text(&Options::state_dir)},
      {"--mw-max-write-buffer-size", "BYTES", "accepted, without effect", Buffer()},
      {"--mw-max-read-buffer-size", "BYTES", "accepted, without effect", Buffer()},
  };
  return kAll;
}

bool IsOurs(std::string_view arg) {
  constexpr std::string_view kPrefix = "--mw-";
  return arg.size() >= kPrefix.size() && SameSymbol(arg.substr(0, kPrefix.size()), kPrefix);
}

std::unexpected<Ending> Wrong(std::string_view program, std::string text) {
  return std::unexpected(
      Ending{fmt::format("{}: {}; see {} --mw-help\n", program, text, program), true});
}

// Checks that need all options.
std::expected<void, Ending> Check(const Options& options) {
  if (options.is_master) return {};
  bool host = false, port = false, file = false;
  for (const Where& each : options.where) {
    host = host || std::holds_alternative<MasterHost>(each);
    port = port || std::holds_alternative<MasterPort>(each);
    file = file || std::holds_alternative<FromFile>(each);
  }
  if (file || (host && port)) return {};
  return Wrong(options.rest.front(),
               "a slave needs --mw-master-host and --mw-master-port, or --mw-resource-file");
}

}  // namespace

std::string Usage(std::string_view program) {
  std::string text = fmt::format(
      "usage: {0} --mw-master [OPTION VALUE]... [ARGUMENT]...\n"
      "       {0} --mw-slave [OPTION VALUE]... [ARGUMENT]...\n\n"
      "--mw-master or --mw-slave comes first. What does not begin with --mw- reaches the "
      "program.\n\n",
      program);
  for (const Known& each : AllOptions()) {
    text += fmt::format("  {} {}\n      {}\n", each.name, each.value, each.help);
  }
  text += "  --mw-help, --mw-version-string\n      print this, or the version, and exit with 1\n";
  return text;
}

bool IsOffer(std::string_view option) {
  return std::ranges::any_of(kOffers,
                             [option](std::string_view each) { return SameSymbol(each, option); });
}

std::expected<Options, Ending> ReadOptions(std::span<const std::string> args,
                                           std::string_view version) {
  const std::string program = args.empty() ? "program" : args[0];
  for (const std::string& arg : args) {
    if (SameSymbol(arg, "--mw-help")) return std::unexpected(Ending{Usage(program)});
    if (SameSymbol(arg, "--mw-version-string")) {
      return std::unexpected(Ending{std::string(version) + "\n"});
    }
  }
  Options options;
  options.rest.push_back(program);
  const bool is_slave = args.size() > 1 && SameSymbol(args[1], "--mw-slave");
  options.is_master = args.size() > 1 && SameSymbol(args[1], "--mw-master");
  if (!is_slave && !options.is_master) return std::unexpected(Ending{Usage(program), true});
  for (size_t i = 2; i < args.size(); ++i) {
    if (!IsOurs(args[i])) {
      options.rest.push_back(args[i]);
      continue;
    }
    auto known = std::ranges::find_if(
        AllOptions(), [&](const Known& each) { return SameSymbol(each.name, args[i]); });
    if (known == AllOptions().end()) {
      return Wrong(program, fmt::format("there is no option {}", args[i]));
    }
    if (i + 1 == args.size()) return Wrong(program, fmt::format("{} needs a value", known->name));
    if (options.is_master && IsOffer(known->name)) {
      return Wrong(program, fmt::format("{} is for slaves: give it to --mw-slave", known->name));
    }
    if (!known->take(options, args[++i])) {
      return Wrong(program, fmt::format("{} cannot be '{}'", known->name, args[i]));
    }
  }
  TRY(Check(options));
  return options;
}

}  // namespace spate::mw
