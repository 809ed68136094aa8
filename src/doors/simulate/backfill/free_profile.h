// How many processors are free, from now on, as far as estimates tell: a function of time in steps.
//
// The steps lie in blocks, which know the least and the most of theirs: a search for room passes
// over blocks that have none, or nothing else, and a change of a long time is one number for each
// block inside it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace spate::engine::place {

// A point in time, or a time's length, in a unit of the caller's: seconds of a trace, or
// nanoseconds. Sums of those that are given must fit.
using Moment = int64_t;

class FreeProfile {
 public:
  explicit FreeProfile(uint32_t processors);

  // Forgets what was before `now`, which never goes back. Nothing below may begin before it.
  void Advance(Moment now);
  // So many less, or more, in [from, to); nothing where that is empty. May fall below zero.
  void Reserve(Moment from, Moment to, int64_t processors) { Add(from, to, -processors); }
  void Release(Moment from, Moment to, int64_t processors) { Add(from, to, processors); }

  int64_t FreeAt(Moment when) const;

  // A place of whoever asks: from `at` on so many were taken for so long, and no later moment is
  // given. None before it is looked at from `behind` on.
  struct Own {
    Moment at = INT64_MAX;
    Moment behind = INT64_MAX;
  };
  // The first moment, not before `from`, from which so many are free for so long. `processors` is
  // at most what is free in the end.
  Moment EarliestFit(int64_t processors, Moment length, Moment from, const Own& own) const;
  Moment EarliestFit(int64_t processors, Moment length, Moment from) const {
    return EarliestFit(processors, length, from, Own());
  }

  // The longest rooms that begin in a time, by how many processors they have. Up to 7 processors
  // the lengths are exact; of more, kinds of four to each power of two are one, and a length may be
  // of somewhat fewer.
  class Rooms {
   public:
    void Clear() { longest_.fill(0); }
    void Add(int64_t processors, Moment length);
    // When all have been added: the longest of at least so many. Forever is INT64_MAX.
    void Finish();
    Moment LongestOf(int64_t processors) const { return longest_[KindOf(processors)]; }

   private:
    static size_t KindOf(int64_t processors);
    std::array<Moment, 256> longest_{};
  };
  // Those that begin in [from, before).
  void RoomsIn(Moment from, Moment before, Rooms& rooms) const;

  size_t steps() const;

 private:
  struct Step {
    Moment from = 0;   // the first one holds from ever on, the last one for ever
    int64_t free = 0;  // beside its block's `more`
  };
  struct Block {
    std::vector<Step> steps;  // at least one
    int64_t more = 0;
    int64_t least = 0, most = 0;  // of the steps, beside `more`
    void CountAnew();
  };
  struct StepAt {
    size_t block = 0;
    size_t step = 0;
  };

  void Add(Moment from, Moment to, int64_t processors);
  StepAt PlaceOf(Moment when) const;
  // Makes a step begin at `when`.
  void Split(Moment when);
  // Drops the step that begins at `when` if it goes on as the one before it.
  void Join(Moment when);
  Moment BeginOf(size_t block) const { return blocks_[block].steps.front().from; }
  // The first step from there on that has so many, or has less; behind the last block: none.
  StepAt NextWithRoom(StepAt at, int64_t processors) const;
  StepAt NextWithout(StepAt at, int64_t processors, Moment before) const;

  std::vector<Block> blocks_;
};

}  // namespace spate::engine::place
