// Place of a journal and the outputs of its jobs: the folder of a run's one job, or that of a hub
// with many.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"
#include "store/history.h"

namespace spate::store {

class OwnerFile;

struct JournalPlace {
  std::string folder;  // STATE/jobs/N or STATE/hub
  bool is_hub = false;
  // The file of the writer, where other machines use the folder too.
  std::shared_ptr<OwnerFile> owner_file = nullptr;

  std::string DbPath() const { return folder + (is_hub ? "/hub.db" : "/job.db"); }
  // The number of the newest durable record: a journal that ends before it has lost its end. A
  // hub's folder has this file once it has had a journal, or was about to get one: a hub that has
  // lost its journal must not start with an empty one.
  std::string BeganPath() const { return folder + "/began"; }
  // A file that takes room which a hub's journal has when its disk is full.
  std::string ReservePath() const { return folder + "/reserve"; }
  // The state of a job's replay (store/replay_file.h). May be removed at any time.
  std::string ReplayPath(JobId job) const {
    return is_hub ? folder + "/replay/" + std::to_string(job.value) : folder + "/replay";
  }
  std::string OutputPath(JobId job) const {
    return is_hub ? folder + "/output/" + std::to_string(job.value) : folder + "/output";
  }
};

inline JournalPlace JournalOf(const JobPlace& place, uint32_t job) {
  if (place.is_hub) return {place.dir, true};
  return {place.dir + "/jobs/" + std::to_string(job), false};
}

}  // namespace spate::store
