#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/model/job.h"
#include "core/model/needs.h"

namespace spate {

// Gathers the requests of tasks in order as runs of distinct ones.
class RequestTable {
 public:
  explicit RequestTable(std::vector<TaskClass> known = {});
  // `place` is called when the request is new.
  uint32_t Add(TaskIndex index, const TaskClass& request,
               const std::function<std::string()>& place);
  std::vector<TaskClass>& requests() { return requests_; }
  std::vector<RequestRun>& runs() { return runs_; }
  std::vector<std::string>& places() { return places_; }

 private:
  std::vector<TaskClass> requests_;
  std::map<TaskClass, uint32_t> numbers_;  // of requests_
  std::vector<RequestRun> runs_;
  std::vector<std::string> places_;
};

}  // namespace spate
