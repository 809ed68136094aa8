// A machine whose nodes run gangs alone, for whoever knows of arrivals and ends and has no engine:
// the simulator, and tests. What starts, and where, is what a hub's pass over gangs gives.
//
// A single task is a gang of one process here, so it is tried in the order of the gangs' policy; a
// hub gives single tasks out in an order of their own (decide.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/engine/place/board.h"
#include "core/engine/place/gangs.h"

namespace spate::engine::place {

class GangMachine {
 public:
  static constexpr uint32_t kMostCpus = 1'000'000;  // of a node
  // Cpus of each node. It has as many slots, so that none is without one.
  GangMachine(GangPolicy policy, const std::vector<uint32_t>& cpus);
  GangMachine(const GangMachine&) = delete;
  GangMachine& operator=(const GangMachine&) = delete;

  // A job whose classes are all gangs. In the order of submission, which is that of their numbers.
  void AddJob(JobId id, const std::string& user, std::vector<TaskClass> classes);
  // The next task of this class of the job waits from now on. Returns its number, from 1: tasks of
  // a class start in the order in which they arrive.
  uint64_t Arrive(JobId job, uint32_t request);
  // One that was started has ended.
  void End(uint64_t task);
  // Nothing more comes of it, and nothing of it waits or runs.
  void DropJob(JobId id);

  struct Started {
    uint64_t task = 0;
    bool overtakes = false;  // one that came earlier still waits
    std::vector<GangPlace> places;
  };
  // Those who start now. `now` never goes back. Without effect where nothing could have come to
  // start since the last pass.
  const std::vector<Started>& Pass(Instant now);

  size_t waiting() const { return waiting_.size(); }
  const std::vector<GangPromise>& promises() const { return gangs_.promises(); }
  const Board& board() const { return board_; }

 private:
  struct Kept {
    std::vector<TaskClass> classes;
    std::vector<std::deque<uint64_t>> waiting;  // by class
    uint32_t queued = 0;
    uint32_t leased = 0;
  };
  struct Task {
    JobId job;
    uint32_t request = 0;
    std::vector<GangPlace> places;
  };
  static PartKey KeyOf(JobId job, uint64_t task) { return {job, static_cast<TaskIndex>(task)}; }
  void UpdateBoard(Job& job, Kept& kept, uint32_t request);
  bool Start(const GangStart& start, Instant now);

  Board board_;
  Gangs gangs_;
  std::map<JobId, Kept> jobs_;
  std::map<uint64_t, Task> running_;
  std::set<uint64_t> waiting_;
  std::optional<ClassKey> head_;
  uint64_t last_ = 0;
  bool changed_ = false;  // since the last pass
  std::vector<Started> started_;
};

}  // namespace spate::engine::place
