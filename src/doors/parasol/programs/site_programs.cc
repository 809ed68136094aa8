#include "doors/parasol/programs/site_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/units.h"
#include "doors/parasol/formats/job_list.h"
#include "doors/parasol/programs/parasol_options.h"
#include "format/lines.h"

namespace spate::parasol {
namespace {

using enum ParasolType;

constexpr ParasolOptionDef kHubKnown[] = {
    {"spokes", kInt},        {"jobCheckPeriod", kInt}, {"machineCheckPeriod", kInt},
    {"subnet", kText},       {"nextJobId", kInt},      {"logFacility", kText},
    {"log", kText},          {"logFlush", kSwitch},    {"logMinPriority", kText},
    {"debug", kSwitch},      {"noResume", kSwitch},    {"ramUnit", kText},
    {"defaultJobRam", kInt}, {"port", kInt},
};
constexpr ParasolOptionDef kNodeKnown[] = {
    {"cpu", kInt},
    {"ram", kInt},
    {"hub", kText},
    {"node", kText},
    {"umask", kText},
    {"userPath", kText},
    {"sysPath", kText},
    {"env", kText},
    {"tempDir", kText},
    {"errKeep", kFloat},
    {"randomDelay", kInt},
    {"logFacility", kText},
    {"logMinPriority", kText},
    {"log", kText},
    {"debug", kSwitch},
    {"localhost", kSwitch},
    {"port", kInt},
    {"access", kText},
};
constexpr ParasolOptionDef kNodeStartKnown[] = {
    {"exe", kText},
    {"rsh", kText},
    {"hub", kText},
    {"port", kInt},
    {"log", kText},
    {"umask", kText},
    {"userPath", kText},
    {"sysPath", kText},
    {"env", kText},
    {"errKeep", kFloat},
    {"randomDelay", kInt},
    {"logFacility", kText},
    {"logMinPriority", kText},
};
// Options that paraNodeStart passes on.
constexpr std::string_view kPassed[] = {"log",      "logFacility", "logMinPriority", "umask",
                                        "userPath", "sysPath",     "randomDelay",    "errKeep"};

// A host that does not answer must not hold up the others, and nobody is there for questions.
constexpr std::string_view kSsh = "ssh -o BatchMode=yes -o ConnectTimeout=15";

Status WantOneWord(const ParasolOptions& options, const cli::Program& program,
                   ptrdiff_t without_effect = 0) {
  if (std::ssize(options.words()) == 1 + without_effect) return {};
  return Fail(ErrorKind::kInvalid, std::string(program.usage));
}

std::string TextOf(const ParasolOptions& options, std::string_view name,
                   std::string_view otherwise = "") {
  return std::string(options.Text(name).value_or(otherwise));
}

Result<uint64_t> NumberOf(const ParasolOptions& options, std::string_view name, uint64_t least,
                          uint64_t most, uint64_t otherwise) {
  auto number = TRY(options.Int(name, static_cast<int64_t>(otherwise)));
  if (number >= static_cast<int64_t>(least) && number <= static_cast<int64_t>(most)) {
    return static_cast<uint64_t>(number);
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("-{}={}: must be from {} to {}", name, number, least, most));
}

Result<std::optional<uint16_t>> PortOf(const ParasolOptions& options) {
  if (!options.Has("port")) return std::nullopt;
  auto port = TRY(NumberOf(options, "port", 0, UINT16_MAX, 0));
  return static_cast<uint16_t>(port);
}

Result<uint32_t> ParseUmask(std::string_view text) {
  uint32_t mask = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mask, 8);
  if (error == std::errc() && end == text.data() + text.size() && mask <= 0777) return mask;
  return Fail(ErrorKind::kInvalid,
              fmt::format("-umask={}: write octal digits, such as 022", EscapeForScreen(text)));
}

Status CheckVariable(std::string_view variable) {
  size_t equals = variable.find('=');
  if (equals != std::string_view::npos && equals > 0) return {};
  return Fail(ErrorKind::kInvalid,
              fmt::format("-env={}: write -env=NAME=VALUE", EscapeForScreen(variable)));
}

Result<Duration> KeepOf(const ParasolOptions& options, Duration otherwise) {
  constexpr double kMostDays = 36'500;
  if (!options.Has("errKeep")) return otherwise;
  auto days = TRY(options.Float("errKeep", 0));
  if (days >= 0 && days <= kMostDays) {
    return Duration::Seconds(static_cast<int64_t>(days * 86400));
  }
  return Fail(ErrorKind::kInvalid,
              fmt::format("-errKeep={}: must be from 0 to {} days", days, kMostDays));
}

}  // namespace

Result<ParaHubOptions> MakeParaHubOptions(std::span<const std::string> args) {
  auto options = TRY(ParasolOptions::Parse(args, kHubKnown));
  // The manual writes these switches without a dash. They have no effect in either form.
  auto is_bare = [](std::string_view word) { return word == "logFlush" || word == "noResume"; };
  TRY(WantOneWord(options, kParaHub, std::ranges::count_if(options.words(), is_bare)));
  ParaHubOptions made;
  made.machine_list = options.words().front();
  made.subnet = TextOf(options, "subnet");
  made.log = TextOf(options, "log");
  made.debug = options.Has("debug");
  auto port = TRY(PortOf(options));
  made.port = port;
  if (auto unit = options.Text("ramUnit")) {
    auto size = ParseParasolSize(*unit);
    if (!size) return Within("-ramUnit", std::move(size.error()));
    made.ram_unit = *size;
  }
  auto units = TRY(NumberOf(options, "defaultJobRam", 1, 1'000'000, 1));
  made.default_ram_units = units;
  return made;
}

Result<ParaNodeOptions> MakeParaNodeOptions(std::span<const std::string> args) {
  constexpr uint64_t kMostMegabytes = uint64_t{1} << 30;
  auto options = TRY(ParasolOptions::Parse(args, kNodeKnown));
  TRY(WantOneWord(options, kParaNode));
  ParaNodeOptions made;
  auto cpus = TRY(NumberOf(options, "cpu", 1, UINT16_MAX, 1));
  made.cpus = static_cast<uint32_t>(cpus);
  auto ram = TRY(NumberOf(options, "ram", 1, kMostMegabytes, 1));
  if (options.Has("ram")) made.memory = ram << 20;
  auto port = TRY(PortOf(options));
  made.port = port;
  auto mask = TRY(ParseUmask(options.Text("umask").value_or("002")));
  made.umask = mask;
  auto keep = TRY(KeepOf(options, made.keep_errors));
  made.keep_errors = keep;
  for (std::string_view variable : options.All("env")) {
    TRY(CheckVariable(variable));
    made.environment.emplace_back(variable);
  }
  made.name = TextOf(options, "node", options.Has("localhost") ? "localhost" : "");
  made.hub = TextOf(options, "hub");
  made.user_path = TextOf(options, "userPath");
  made.sys_path = TextOf(options, "sysPath");
  made.temp_dir = TextOf(options, "tempDir", made.temp_dir);
  made.log = TextOf(options, "log");
  made.debug = options.Has("debug");
  if (auto access = options.Text("access")) {
    made.kit_from_stdin = *access == kStdinName;
    if (!made.kit_from_stdin) return Fail(ErrorKind::kInvalid, "-access: write -access=stdin");
  }
  return made;
}

Result<ParaNodeStartOptions> MakeParaNodeStartOptions(std::span<const std::string> args) {
  auto options = TRY(ParasolOptions::Parse(args, kNodeStartKnown));
  TRY(WantOneWord(options, kParaNodeStart));
  ParaNodeStartOptions made;
  made.machine_list = options.words().front();
  made.exe = TextOf(options, "exe", made.exe);
  made.hub = TextOf(options, "hub");
  std::string rsh = TextOf(options, "rsh", kSsh);
  std::string_view rest = rsh;
  for (std::string_view word = format::NextWord(&rest); !word.empty();
       word = format::NextWord(&rest)) {
    made.rsh.emplace_back(word);
  }
  if (made.rsh.empty() || made.exe.empty()) {
    return Fail(ErrorKind::kInvalid, "-rsh and -exe need a command");
  }
  auto port = TRY(PortOf(options));
  made.port = port;
  (void)TRY(ParseUmask(options.Text("umask").value_or("002")));
  for (std::string_view name : kPassed) {
    auto value = options.Text(name);
    if (value) made.passed.push_back(fmt::format("{}={}", name, ShellQuote(*value)));
  }
  for (std::string_view variable : options.All("env")) {
    TRY(CheckVariable(variable));
    made.passed.push_back(fmt::format("env={}", ShellQuote(variable)));
  }
  return made;
}

namespace {

Result<ParaNodeAskOptions> MakeAskOptions(std::span<const std::string> args,
                                          const cli::Program& program) {
  ParasolOptions options = ParasolOptions::ParseAny(args);
  TRY(WantOneWord(options, program));
  ParaNodeAskOptions made;
  made.machine_list = options.words().front();
  made.lengthy = options.Has("long");
  auto port = TRY(PortOf(options));
  made.port = port;
  return made;
}

}  // namespace

Result<ParaNodeAskOptions> MakeParaNodeStopOptions(std::span<const std::string> args) {
  return MakeAskOptions(args, kParaNodeStop);
}

Result<ParaNodeAskOptions> MakeParaNodeStatusOptions(std::span<const std::string> args) {
  return MakeAskOptions(args, kParaNodeStatus);
}

Status CheckParaHubStop(std::span<const std::string> args) {
  return WantOneWord(ParasolOptions::ParseAny(args), kParaHubStop);
}

}  // namespace spate::parasol
