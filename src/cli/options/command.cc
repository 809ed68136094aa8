#include "cli/options/command.h"

#include <algorithm>

#include "cli/options/shared.h"

namespace spate::cli {
namespace {

// The command lines that a command of this kind may be.
std::vector<Way> WaysOf(Makes makes) {
  switch (makes) {
    case Makes::kRun:
      return {Way::kResume, Way::kHub, Way::kPool};
    case Makes::kRetry:
      return {Way::kRetry, Way::kHubRetry};
    case Makes::kSubmission:
      return {Way::kSubmit};
    case Makes::kAddition:
      return {Way::kAdd};
    case Makes::kNoJob:
      break;
  }
  return {};
}

void Append(OptionList list, const std::vector<Way>& ways, std::vector<const Option*>& options) {
  for (const OptionRef& ref : list) {
    if (ref.option != nullptr) options.push_back(ref.option);
    if (ref.group != nullptr) Append(ref.group->options, ways, options);
    for (const Option& row : ref.rows) {
      auto has_it = [&](Way way) { return row.job.use[way] != Use::kNone; };
      if (std::ranges::any_of(ways, has_it)) options.push_back(&row);
    }
  }
}

}  // namespace

std::string_view TitleOf(Heading heading) {
  constexpr std::array<std::string_view, kHeadingCount> kTitles = {"Sources",
                                                                   "Needs of one task",
                                                                   "Number of tasks at once",
                                                                   "Time, failures and retries",
                                                                   "Environment of the tasks",
                                                                   "Output",
                                                                   "History",
                                                                   "Selection",
                                                                   "Hub and nodes",
                                                                   "Number and lifetime of pilots",
                                                                   "Resources of the nodes",
                                                                   "Starting pilots",
                                                                   "Help"};
  return kTitles[static_cast<size_t>(heading)];
}

std::string_view TitleOf(CommandGroup group) {
  constexpr std::array<std::string_view, kCommandGroupCount> kTitles = {
      "One machine",
      "A hub",
      "Nodes of a hub",
      "Pools of a hub: nodes that the hub starts itself",
      "Unfinished jobs, local or on a hub",
      "History, local or on a hub",
      "Help"};
  return kTitles[static_cast<size_t>(group)];
}

std::string DashedName(const Option& option) { return "--" + std::string(option.name()); }

std::vector<const Option*> OptionsOf(const Command& command) {
  std::vector<const Option*> options;
  Append(command.options, WaysOf(command.makes), options);
  options.push_back(&opt::kHelp);
  options.push_back(&opt::kHelpAll);
  return options;
}

bool Takes(const Command& command, const Option& option) {
  auto options = OptionsOf(command);
  return std::ranges::find(options, &option) != options.end();
}

std::span<const Example> ExamplesOf(const Command& command) {
  auto end = std::ranges::find(command.examples, std::string_view(), &Example::command);
  return {command.examples.begin(), end};
}

const Command& MeantBy(const Command& command) {
  return command.same_as != nullptr ? *command.same_as : command;
}

const Command* FindNamed(CommandList commands, std::string_view name) {
  auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : *found;
}

}  // namespace spate::cli
