// DecidedBook: what the hub has decided of every task, durable or not. A hub that dies forgets what
// was not durable.
#pragma once

#include "sim/check.h"
#include "sim/task_book.h"

namespace spate::sim {

class DecidedBook {
 public:
  void Observe(const Scene& scene, const Fact& fact) {
    if (std::holds_alternative<ReplayDone>(fact)) book_ = scene.book;
    if (const auto* decided = std::get_if<Decided>(&fact)) (void)book_.Enter(*decided->record);
  }
  TaskBook& book() { return book_; }

 private:
  TaskBook book_;
};

}  // namespace spate::sim
