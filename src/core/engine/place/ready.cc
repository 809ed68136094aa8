#include "core/engine/place/ready.h"

namespace spate::engine::place {

void Ready::Place(uint32_t number, Class& known, const std::optional<ClassTurn>& turn) {
  const std::optional<ClassTurn>& before = known.queued.turn;
  if (before == turn) return;
  if (before && turn) {
    // Keeps the place in memory: this is what each lease does.
    auto entry = order_.extract({*before, number});
    entry.value().turn = *turn;
    order_.insert(std::move(entry));
  } else if (turn) {
    order_.insert({*turn, number});
    kinds_ += known.kind;
  } else {
    order_.erase({*before, number});
    kinds_ -= known.kind;
    known.no_room = Instant::Never();
  }
}

void Ready::Set(uint32_t number, const Queued& queued) {
  Class& known = classes_[number];
  Place(number, known, queued.turn);
  if (known.queued.due != queued.due) {
    if (known.queued.due != Instant::Never()) dues_.erase({known.queued.due, number});
    if (queued.due != Instant::Never()) dues_.insert({queued.due, number});
  }
  known.queued = queued;
}

}  // namespace spate::engine::place
