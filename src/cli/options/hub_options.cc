#include "cli/options/hub_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/number.h"
#include "base/units.h"
#include "cli/options/option_reader.h"
#include "core/model/limits.h"

namespace spate::cli {
namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(','), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<std::vector<std::string>> ParseGpus(std::string_view value) {
  if (value == "none") return std::vector<std::string>();
  std::vector<std::string> gpus = SplitAtCommas(value);
  if (gpus.empty()) {
    return Fail(ErrorKind::kInvalid, "the value is empty; write auto, none or for example 0,1");
  }
  return gpus;
}

Result<std::string> ParseLabel(std::string_view value) {
  bool fits = !value.empty() && value.size() <= 256 &&
              value.find_first_of(" \t\n,") == std::string_view::npos;
  if (fits) return std::string(value);
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a label; write a word without blanks and commas",
                          EscapeForScreen(value)));
}

Result<uint64_t> ParseSerial(std::string_view word) {
  if (auto serial = ReadNumber<uint64_t>(word); serial && *serial > 0) return *serial;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not the serial of an access; see: spate hub access list",
                          EscapeForScreen(word)));
}

// 0: none.
Result<uint16_t> ParseGangPort(std::string_view word) {
  if (word == "none") return uint16_t{0};
  if (auto port = ReadNumber<uint16_t>(word); port && *port > 0) return *port;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a port; write 1 to 65535, or none", EscapeForScreen(word)));
}

Result<GangPolicy> ParseGangPolicy(std::string_view word) {
  if (auto policy = GangPolicyOf(word)) return *policy;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is no policy; write fair, fcfs, easy, easy-sjbf or conservative",
                          EscapeForScreen(word)));
}

}  // namespace

Result<HubOptions> MakeHubOptions(const Words& words) {
  HubOptions options;
  OptionReader in(words);
  options.listen = words.All(Opt::kListen);
  if (options.listen.empty()) options.listen.push_back(fmt::format("*:{}", kHubPort));
  if (options.listen.size() == 1 && options.listen.front() == "none") options.listen.clear();
  in.Text(Opt::kMetrics, options.metrics);
  bool port_alone = options.metrics.find_first_not_of("0123456789") == std::string::npos;
  if (!options.metrics.empty() && port_alone) options.metrics = "127.0.0.1:" + options.metrics;
  in.Text(Opt::kState, options.state_dir);
  options.daemon = in.Has(Opt::kDaemon);
  options.allow_root = in.Has(Opt::kAllowRoot);
  in.Read(Opt::kSuspectAfter, options.suspect_after, ParseDuration);
  in.Read(Opt::kLostAfter, options.lost_after, ParseDuration);
  in.Read(Opt::kForgetNodes, options.forget_nodes, ParseDuration);
  GangPolicy policy = GangPolicy::kFair;
  if (in.Read(Opt::kGangPolicy, policy, ParseGangPolicy)) options.policy = policy;
  in.ReadAll(
      Opt::kKeep,
      [&](std::string_view value) -> Result<bool> {
        if (auto ok = ParseHistoryBound(value, options.keep); !ok) {
          return std::unexpected(ok.error());
        }
        return true;
      },
      [](bool) {});
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  if (options.suspect_after < Duration::Seconds(1) ||
      options.suspect_after > Duration::Seconds(86'400)) {
    return Fail(ErrorKind::kInvalid, "--suspect-after: from 1s to 1d");
  }
  if (options.lost_after < options.suspect_after) {
    return Fail(ErrorKind::kInvalid, "--lost-after: at least the time of --suspect-after");
  }
  return options;
}

Result<HubChange> MakeHubChange(const Words& words) {
  HubChange change;
  OptionReader in(words);
  const bool is_there = in.Read(Opt::kGangPolicy, change.policy, ParseGangPolicy);
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  if (!is_there) {
    return Fail(ErrorKind::kInvalid, "what? write for example: spate hub set --policy easy");
  }
  return change;
}

Result<AccessOptions> MakeAccessOptions(const Words& words) {
  AccessOptions options;
  OptionReader in(words);
  const std::string& verb = words.words.front();
  if (verb == "add") {
    options.verb = AccessOptions::Verb::kAdd;
  } else if (verb == "list") {
    options.verb = AccessOptions::Verb::kList;
  } else if (verb == "revoke") {
    options.verb = AccessOptions::Verb::kRevoke;
  } else {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}': spate hub access is followed by add, list or revoke",
                            EscapeForScreen(verb)));
  }
  in.Choice<AccessRole>(Opt::kRole, options.role,
                        {{"client", AccessRole::kClient},
                         {"node", AccessRole::kNode},
                         {"admin", AccessRole::kAdmin}});
  in.Text(Opt::kUser, options.user);
  Duration lifetime;
  if (in.Read(Opt::kExpires, lifetime, ParseDuration)) options.lifetime = lifetime;
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  bool revoke = options.verb == AccessOptions::Verb::kRevoke;
  if (revoke != (words.words.size() > 1)) {
    return Fail(ErrorKind::kInvalid, revoke ? "which one? write its serial, as spate hub access "
                                              "list shows it: spate hub access revoke 3"
                                            : "one word too many after " + verb);
  }
  for (size_t i = 1; i < words.words.size(); ++i) {
    auto serial = ParseSerial(words.words[i]);
    if (!serial) return std::unexpected(serial.error());
    options.serials.push_back(*serial);
  }
  return options;
}

Result<UserOptions> MakeUserOptions(const Words& words) {
  UserOptions options;
  OptionReader in(words);
  if (!words.words.empty()) options.user = words.words.front();
  uint32_t number = 0;
  if (in.Read(Opt::kWeight, number, CountUpTo(1'000'000))) options.weight = number;
  if (in.Read(Opt::kMaxRunning, number, CountUpTo(kLimits.tasks_per_job))) {
    options.max_running = number;
  }
  if (in.Read(Opt::kMaxQueued, number, CountUpTo(UINT32_MAX))) options.max_queued = number;
  uint64_t bytes = 0;
  if (in.Read(Opt::kMaxOutput, bytes, ParseSize)) options.max_output = bytes;
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  if (options.weight == 0u) return Fail(ErrorKind::kInvalid, "--weight: write 1 or more");
  if (options.changes() && options.user.empty()) {
    return Fail(ErrorKind::kInvalid, "whose? write for example: spate hub user ada --weight 2");
  }
  return options;
}

Result<NodeOptions> MakeNodeOptions(const Words& words) {
  NodeOptions options;
  OptionReader in(words);
  in.Text(Opt::kAccess, options.access);
  in.Text(Opt::kState, options.state_dir);
  options.daemon = in.Has(Opt::kDaemon);
  in.Read(Opt::kNodeName, options.name, ParseLabel);
  in.Read(Opt::kNodeSlots, options.slots, ParseSlotRule);
  uint32_t cpus = 0;
  if (in.Read(Opt::kNodeCpus, cpus, ParseMilliCpus)) options.milli_cpus = cpus;
  in.Choice<BindTo>(Opt::kNodeBind, options.bind,
                    {{"core", BindTo::kCore}, {"numa", BindTo::kNuma}, {"none", BindTo::kNone}});
  uint64_t memory = 0;
  if (in.Read(Opt::kNodeMemory, memory, ParseSize)) options.memory = memory;
  std::vector<std::string> gpus;
  if (words.Last(Opt::kNodeGpus) != "auto" && in.Read(Opt::kNodeGpus, gpus, ParseGpus)) {
    options.gpus = gpus;
  }
  in.ReadAll(Opt::kNodeResource, ParseNamedOffer, [&](NamedOffer offer) {
    std::erase_if(options.offers, [&](const NamedOffer& o) { return o.name == offer.name; });
    options.offers.push_back(std::move(offer));
  });
  std::sort(options.offers.begin(), options.offers.end(),
            [](const NamedOffer& a, const NamedOffer& b) { return a.name < b.name; });
  in.ReadAll(Opt::kNodeLabel, ParseLabel,
             [&](std::string label) { options.labels.push_back(std::move(label)); });
  std::sort(options.labels.begin(), options.labels.end());
  options.labels.erase(std::unique(options.labels.begin(), options.labels.end()),
                       options.labels.end());
  Duration time;
  if (in.Read(Opt::kLifetime, time, ParseDuration)) options.lifetime = time;
  if (in.Read(Opt::kIdleExit, time, ParseDuration)) options.idle_exit = time;
  if (in.Read(Opt::kHubPatience, time, ParseDuration)) options.hub_patience = time;
  uint16_t port = 0;
  if (in.Read(Opt::kGangPort, port, ParseGangPort)) options.gang_port = port;
  options.pilot = in.Has(Opt::kPilot);
  in.Text(Opt::kTmp, options.tmp);
  if (auto users = words.Last(Opt::kUsers)) options.users = SplitAtCommas(*users);
  options.allow_root = in.Has(Opt::kAllowRoot);
  if (auto ok = in.status(); !ok) return std::unexpected(ok.error());
  return options;
}

}  // namespace spate::cli
