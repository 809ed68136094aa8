// Where a journal and the outputs of its jobs lie: the folder of a run's one job, or that of a hub
// with many.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace spate::store {

struct JournalPlace {
  std::string folder;  // STATE/jobs/N or STATE/hub
  bool is_hub = false;

  std::string DbPath() const { return folder + (is_hub ? "/hub.db" : "/job.db"); }
  // A file that a hub's folder has once it has had a journal, or was to have one: a hub that has
  // lost it must not begin anew.
  std::string BeganPath() const { return folder + "/began"; }
  // A file that takes room which a hub's journal has when its disk is full.
  std::string ReservePath() const { return folder + "/reserve"; }
  std::string OutputPath(JobId job) const {
    return is_hub ? folder + "/output/" + std::to_string(job.value) : folder + "/output";
  }
};

// Where people look for jobs: the state folder of their runs, or the folder of a hub.
struct JobPlace {
  JobPlace(std::string state_dir) : dir(std::move(state_dir)) {}  // NOLINT: of runs, the usual case
  static JobPlace Hub(std::string hub_dir) {
    JobPlace place(std::move(hub_dir));
    place.is_hub = true;
    return place;
  }

  std::string dir;
  bool is_hub = false;

  JournalPlace JournalOf(uint32_t job) const {
    if (is_hub) return {dir, true};
    return {dir + "/jobs/" + std::to_string(job), false};
  }
};

}  // namespace spate::store
