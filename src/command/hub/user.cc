// `spate hub user`
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "core/model/limits.h"
#include "present/json/json_fields.h"
#include "present/table/table.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kWeight = {.names = "weight",
                            .argument = "N",
                            .heading = Heading::kHub,
                            .help = "share relative to other users or groups (default: 1)"};

constexpr Option kMaxQueued = {.names = "max-queued",
                               .argument = "N",
                               .heading = Heading::kHub,
                               .help = "limit of unfinished tasks of all jobs (0: no limit)"};

constexpr Option kGroup = {
    .names = "group",
    .argument = "@NAME",
    .heading = Heading::kHub,
    .help = "group of the user ('none': none)",
    .more =
        "The members of a group have one share and common limits: those of 'hub user @NAME'. "
        "Within the group they share by their own weights."};

constexpr Option kMaxOutput = {
    .names = "max-output",
    .argument = "SIZE",
    .heading = Heading::kHub,
    .help = "limit for all bytes kept for the user (0: none)",
    .more =
        "Output, files that jobs bring along (--put), commands and graphs of tasks, command lines "
        "and environments count. A job that would exceed the limit is refused while it arrives; "
        "otherwise it can keep as much output as is left. Forgotten jobs no longer count."};

constexpr Option kMay = {
    .names = "may",
    .argument = "WHAT",
    .heading = Heading::kHub,
    .help = "what else the user may do: pools, nothing",
    .more =
        "pools: add pools, whose commands (sbatch, qsub, ...) then run on the hub's machine as the "
        "user. Administrators may always. spate hub user ann --may pools",
    .complete = Complete::kWords,
    .words = "pools nothing"};

struct UserOptions {
  std::string user;  // empty: all of them
  UserChange change;
};
Result<std::string> ParseGroup(std::string_view text) {
  if (text == "none") return std::string();
  if (IsGroup(text) && text.size() > 1) return std::string(text);
  return Fail(ErrorKind::kInvalid, fmt::format("a group is written with '@' before its name: @{}",
                                               IsGroup(text) ? "NAME" : text));
}

Result<bool> ParseMay(std::string_view text) {
  if (text == "pools") return true;
  if (text == "nothing") return false;
  return Fail(ErrorKind::kInvalid, "write pools, or nothing");
}

Result<UserOptions> MakeUserOptions(const Words& words) {
  UserOptions options;
  OptionReader in(words);
  if (!words.words.empty()) options.user = words.words.front();
  UserChange& change = options.change;
  auto read = [&](const Option& option, auto& field, const auto& parse) {
    auto value = field;
    if (in.Read(option, value, parse)) change.Set(field, std::move(value));
  };
  read(kWeight, change.values.weight, CountUpTo(1'000'000));
  read(opt::kMaxRunning, change.values.max_running, CountUpTo(kLimits.tasks_per_job));
  read(kMaxQueued, change.values.max_queued, CountUpTo(UINT32_MAX));
  read(kMaxOutput, change.values.max_output, ParseSize);
  read(kGroup, change.values.group, ParseGroup);
  read(kMay, change.values.may_add_pools, ParseMay);
  TRY(in.status());
  if (change.values.weight == 0) return Fail(ErrorKind::kInvalid, "--weight: write 1 or more");
  if (options.user == "@") return Fail(ErrorKind::kInvalid, "the group's name is missing: @NAME");
  if (!change.empty() && options.user.empty()) {
    return Fail(ErrorKind::kInvalid,
                "the user is missing; write for example: spate hub user ada --weight 2");
  }
  return options;
}

std::string BoundText(uint32_t bound) { return bound == 0 ? "any" : fmt::format("{}", bound); }
std::string SizeBoundText(uint64_t bound) { return bound == 0 ? "any" : FormatSize(bound); }

Result<int> SetUser(const HubScreen& screen, const UserOptions& options) {
  auto set = TRY(client::QueryOne(screen.hub, wire::SetUser{options.user, options.change}));
  const UserRule& rule = set.rule;
  std::string text = fmt::format("{}: weight {}, {} running, {} queued", options.user, rule.weight,
                                 BoundText(rule.max_running), BoundText(rule.max_queued));
  if (!IsGroup(options.user)) {
    text += fmt::format(", {} of output", SizeBoundText(rule.max_output));
  }
  text += " at most";
  if (!rule.group.empty()) text += fmt::format("; in group {}", rule.group);
  if (rule.may_add_pools) text += "; may add pools";
  screen.Report(text);
  return kExitSuccess;
}

std::vector<present::Cell> RowOf(const UserFacts& user) {
  std::string name = user.user;
  if (!user.rule.group.empty()) name += " " + user.rule.group;
  if (user.rule.may_add_pools) name += " +pools";
  return {{name},
          {fmt::format("{}", user.jobs)},
          {fmt::format("{}", user.running)},
          {fmt::format("{}", user.queued)},
          {fmt::format("{:g}", user.cpus)},
          {FormatDuration(Duration::Seconds(static_cast<int64_t>(user.use)))},
          {fmt::format("{}", user.rule.weight)},
          {BoundText(user.rule.max_running)},
          {BoundText(user.rule.max_queued)},
          {SizeBoundText(user.rule.max_output)}};
}

Result<int> HubUser(const HubScreen& screen) {
  auto options = TRY(MakeUserOptions(screen.words));
  if (!options.change.empty()) return SetUser(screen, options);
  std::string text;
  present::Table table({{"USER", present::Align::kLeft, 8},
                        {"JOBS", present::Align::kRight},
                        {"RUNNING", present::Align::kRight},
                        {"QUEUED", present::Align::kRight},
                        {"CPUS", present::Align::kRight},
                        {"USED", present::Align::kRight},
                        {"WEIGHT", present::Align::kRight},
                        {"MAX RUN", present::Align::kRight},
                        {"MAX QUEUED", present::Align::kRight},
                        {"OUTPUT", present::Align::kRight}},
                       screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  bool any = false;
  auto add = [&](const UserFacts& user) {
    any = true;
    if (screen.human()) return table.Add(RowOf(user));
    text += present::JsonOf("user", user);
  };
  TRY(client::Query(screen.hub, wire::ListUsers{options.user}, add));
  if (!any && !options.user.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{} has no unfinished jobs on this hub, and no limits there",
                            EscapeForScreen(options.user)),
                Remedy("; all who have: {}", Advice("hub user")));
  }
  table.Finish();
  return screen.Write(text);
}

}  // namespace

extern const Command kHubUser = {
    .order = 310,
    .group = CommandGroup::kHub,
    .name = "hub user",
    .arguments = "[NAME|@GROUP]",
    .summary = "show usage and limits of users and groups; set limits",
    .details =
        "Users who compete for nodes share them by weight. The name '*' sets the limits that a "
        "user without limits gets with the next job; it does not change other users' limits. "
        "A name that begins with '@' is a group: its members (--group) count as one user among "
        "the others, and its limits are for all of them together. The list shows a user's group "
        "after the name, and +pools for --may pools. USED is the processor time of late, which "
        "counts for the share: after each half-life ('hub set --half-life') half as much.",
    .examples = {{{"spate hub user ann --weight 3", "three times the share of other users"},
                  {"spate hub user '*' --max-queued 50000", "for users without limits"},
                  {"spate hub user @lab --max-running 100", "make a group, or change its limits"},
                  {"spate hub user ann --group @lab", "ann shares with the group's members"}}},
    .words_max = 1,
    .options = {{opt::kAboutHub, kWeight, kGroup, kMaxQueued, kMaxOutput, opt::kMaxRunning, kMay}},
    .run = AskHub<HubUser>,
};

}  // namespace spate::cli::command
