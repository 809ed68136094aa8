#include "core/model/request_table.h"
#include "core/model/ranges.h"

#include <utility>

namespace spate {

RequestTable::RequestTable(std::vector<TaskClass> known) : requests_(std::move(known)) {
  for (uint32_t i = 0; i < requests_.size(); ++i) numbers_.try_emplace(requests_[i], i);
}

uint32_t RequestTable::Add(TaskIndex index, const TaskClass& request,
                           const std::function<std::string()>& place) {
  uint32_t number = 0;
  if (!runs_.empty() && requests_[runs_.back().request] == request) {
    number = runs_.back().request;
  } else {
    auto [known, fresh] = numbers_.try_emplace(request, static_cast<uint32_t>(requests_.size()));
    number = known->second;
    if (fresh) {
      requests_.push_back(request);
      places_.push_back(place());
    }
  }
  AppendRequest(runs_, index, number);
  return number;
}

}  // namespace spate
