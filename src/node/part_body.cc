#include "node/part_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "remote/entry.h"
#include "remote/launchers.h"

namespace spate::node {
namespace {

constexpr uint32_t kMostRanks = UINT16_MAX;  // as the ends of commands are counted

// "gpus" -> "GPUS"; what a variable's name may not hold becomes '_'.
std::string VariableName(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool digit = c >= '0' && c <= '9';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    out += letter || digit ? c : '_';
  }
  return out;
}

Status CheckGang(const TaskBody& body) {
  bool one = body.steps.size() == 1 && body.steps.front().commands.size() == 1;
  if (one && body.links.empty() && !body.resident && body.forwards.empty()) return {};
  return Fail(ErrorKind::kInvalid,
              "a gang's task must be a single command, without further steps, pipes to other "
              "commands, forwarded output or a resident process");
}

// The share of the process with this number among so many.
std::vector<NamedOffer> ShareOf(const std::vector<NamedOffer>& given, size_t number, size_t count) {
  std::vector<NamedOffer> share;
  for (const NamedOffer& each : given) {
    auto begin = each.indices.begin();
    auto at = [&](size_t k) {
      return begin + static_cast<std::ptrdiff_t>(each.indices.size() * k / count);
    };
    share.push_back({each.name, {at(number), at(number + 1)}});
  }
  return share;
}

std::string NodeList(const GangPart& part) {
  std::string names;
  for (const GangHost& host : part.hosts) names += (names.empty() ? "" : ",") + host.node;
  return names;
}

// Keeps the part there for what its first one starts in it. Its program is looked for where systems
// have it, whatever the task's PATH is.
Command WaitForever() {
  return {{"/bin/sh", "-c", "PATH=/usr/bin:/bin:$PATH; exec sleep 2147483647"}};
}

// Other members start commands in this part: by a server that is there beside its own command, or
// in its place. The program is the shepherd's own, whatever has become of its file.
void AddServer(Command& command, bool alone) {
  std::vector<std::string> argv = {"/proc/self/exe", remote::kServerArgument};
  if (!alone) {
    argv.emplace_back("--");
    std::ranges::move(command.argv, std::back_inserter(argv));
  }
  command.argv = std::move(argv);
}

// It meets the gang's other processes before it begins.
void AddMeeting(Command& command, GangPart::Meets how) {
  const bool by_pmix = how == GangPart::Meets::kPmix;
  std::vector<std::string> argv = {
      "/proc/self/exe", by_pmix ? remote::kMeetByPmixArgument : remote::kMeetArgument, "--"};
  std::ranges::move(command.argv, std::back_inserter(argv));
  command.argv = std::move(argv);
}

}  // namespace

std::vector<std::string> GivenVariables(const std::vector<NamedOffer>& given,
                                        std::string_view gpu_variable) {
  std::vector<std::string> variables;
  for (const NamedOffer& each : given) {
    std::string indices = fmt::format("{}", fmt::join(each.indices, ","));
    if (each.name == "gpus") {
      variables.push_back("SPATE_GPUS=" + indices);
      variables.push_back(fmt::format("{}={}", gpu_variable, indices));
    } else {
      variables.push_back("SPATE_RESOURCE_" + VariableName(each.name) + "=" + indices);
    }
  }
  return variables;
}

Status MakePart(TaskBody& body, const GangPart& part, const std::vector<NamedOffer>& given,
                std::string_view gpu_variable) {
  if (Status sound = CheckGang(body); !sound) return sound;
  const bool first = part.index == 0;
  const bool waits = part.start == GangShape::Start::kFirst && !first;
  const bool each = part.start == GangShape::Start::kEach;
  const uint32_t local = part.host().procs;
  if (local == 0 || local > kMostRanks) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("a node runs 1 to {} processes of a gang, not {}", kMostRanks, local));
  }
  body.first_rank = part.first_rank();
  body.shares_files = part.hosts.size() > 1;
  if (!first) {
    body.stdin_file.clear();
    body.output_checks.clear();
  }
  if (waits) body.stdout_file = body.stderr_file = "";
  body.environment.push_back(fmt::format("SPATE_RANKS={}", part.procs()));
  body.environment.push_back(fmt::format("SPATE_LOCAL_RANKS={}", local));
  body.environment.push_back(fmt::format("SPATE_PART={}", part.index));
  body.environment.push_back(fmt::format("SPATE_PARTS={}", part.hosts.size()));
  body.environment.push_back("SPATE_NODE_LIST=" + NodeList(part));
  std::vector<Command>& commands = body.steps.front().commands;
  Command command = waits ? WaitForever() : std::move(commands.front());
  const bool meets = each && part.meets != GangPart::Meets::kNot && remote::HasServer(part);
  if (meets) AddMeeting(command, part.meets);
  if (remote::HasServer(part) && !meets) AddServer(command, waits);
  commands.assign(each ? local : 1, command);
  // The first process has the server that the others come to.
  if (meets && first) AddServer(commands.front(), false);
  for (size_t number = 0; number < commands.size(); ++number) {
    std::vector<std::string>& environment = commands[number].environment;
    environment = GivenVariables(ShareOf(given, number, commands.size()), gpu_variable);
    environment.push_back(fmt::format("SPATE_RANK={}", *body.first_rank + number));
    environment.push_back(fmt::format("SPATE_LOCAL_RANK={}", number));
  }
  return {};
}

}  // namespace spate::node
