#include "apps/hub_notes.h"

#include <algorithm>
#include <span>
#include <vector>

#include "apps/hub_wait.h"
#include "cli/options/words.h"
#include "cli/text/reach.h"
#include "format/selector/selector.h"
#include "hub/service.h"

namespace spate::apps {
namespace {

// Each may be a walk over the job's tasks.
constexpr size_t kNotesMost = 50;
// Jobs that are looked for; of one that has ended the journal is asked.
constexpr uint64_t kLooksMost = 1000;
// Of a list of jobs that nobody types the reasons are left out.
constexpr size_t kLongWords = 16 << 10;

// Those that the words name, as far as they are there.
std::vector<JobId> JobsOf(const hub::Service& service, const hub::Caller& caller,
                          const std::vector<std::string>& words) {
  std::vector<JobId> jobs;
  auto add = [&](JobId job) {
    if (jobs.size() < kNotesMost && service.jobs().CheckRight(caller, job)) jobs.push_back(job);
  };
  if (words.empty()) {
    if (auto newest = service.known().NewestOf(caller.user)) add(*newest);
  }
  uint64_t looked = 0;
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();
  if (bytes > kLongWords) return jobs;
  for (const std::string& word : words) {
    auto selected = format::ParseJobSelector(word);
    if (!selected) continue;  // the reader says what is wrong
    if (selected->last) {
      if (auto newest = service.known().NewestOf(caller.user)) add(*newest);
    }
    if (selected->all) {
      for (JobId job : service.known().UnfinishedOf(caller.user, caller.is_admin)) add(job);
    }
    for (const NumberRange& range : selected->ranges) {
      for (uint64_t n = range.first; n <= range.last && ++looked <= kLooksMost; n += range.step) {
        add(JobId(static_cast<uint32_t>(n)));
      }
    }
  }
  return jobs;
}

}  // namespace

void AddNotes(hub::Service& service, const hub::Caller& caller, wire::Command& command) {
  auto found = cli::FindCommand(command.argv);
  if (!found) return;
  auto words = cli::ParseWords(found->command, std::span(command.argv).subspan(found->words));
  if (!words) return;
  bool follows = words->Has(cli::Opt::kFollowOutput);
  if (!follows && found->command != cli::Command::kJobInfo) return;
  for (JobId job : JobsOf(service, caller, words->words)) {
    std::string why =
        follows ? WhyNot(service.jobs().NewsOf(job, service.nodes_joined()), command.reach)
                : cli::Reaching(service.hub().engine().WhyWaits(job, service.now()), command.reach);
    if (!why.empty()) command.notes.push_back({job, std::move(why)});
  }
}

}  // namespace spate::apps
