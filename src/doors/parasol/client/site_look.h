// SiteLook: what there is on a hub and what it does, as `parasol` tells it.
//
// A job that runs here is what a node has told to run, if the hub knows of no end; the others that
// have not ended wait. So each job is in one of these, and in no results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/asker.h"
#include "doors/parasol/formats/hub_report.h"
#include "doors/parasol/formats/site_facts.h"

namespace spate::parasol {

struct SiteLook {
  HubFacts hub;
  std::vector<NodeFacts> nodes;
  std::optional<ParasolSite> site;   // where paraHub started the hub
  std::vector<std::string> missing;  // machines of its list that never had a node
  std::vector<JobWork> jobs;         // each once, by number

  // How much of the jobs is asked for.
  struct Depth {
    bool tasks = false;  // which ones are left
    bool reset = false;  // ended jobs, too, whose counts were reset
  };
  static Result<SiteLook> At(client::Asker& hub, Depth depth);

  // A job without -ram is shown with this much memory, in bytes: as paraHub has it; else a CPU's
  // part of the first machine.
  uint64_t RamUnit() const;
  uint64_t BusyCpus() const;
  // Users with jobs that have not ended.
  std::set<std::string> Users() const;
  // Machines that the hub has set aside, and those that all users with jobs avoid.
  std::vector<std::string> SickHosts() const;
};

// One line, and nothing that a terminal obeys.
std::string OneLine(std::string text);

bool IsUp(const NodeFacts& node);
uint64_t CpusOf(const NodeFacts& node);
uint64_t WaitingCount(const JobWork& job);
// The tasks of it that wait, ascending.
std::vector<TaskRange> WaitingTasks(const JobWork& job);

// Fetches the commands of tasks, for the texts. Others' jobs come without their commands, unless
// they are Parasol's.
using TakeJobs = std::function<Status(std::vector<HubJob>)>;
Status AskForJobs(client::Asker& hub, const std::vector<wire::RangesOfJob>& tasks,
                  const TakeJobs& take);
// Those that run, by id.
Result<std::vector<HubJob>> RunningJobs(client::Asker& hub, const std::vector<JobWork>& jobs);
// Those that wait, piece by piece.
Status AskForWaiting(client::Asker& hub, const std::vector<JobWork>& jobs, const TakeJobs& take);

}  // namespace spate::parasol
