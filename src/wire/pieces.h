// Cuts what is too long for one message. Ends and leases mean the same in pieces as in one, as
// long as the order stays. No piece has more than one end with output in spool files, so that a
// receiver has to keep the output of one attempt only until its end comes.
//
// Only the last piece of a report has its number. Those before it have the number of the report
// before: ReportsTaken must never cover what has not come whole.
#pragma once

#include <vector>

#include "wire/messages.h"

namespace spate::wire {

// A piece is at most about this long; a task's row and one end with its output may be longer.
inline constexpr size_t kPieceBytes = 1u << 20;

// All others come back as they are.
std::vector<ToNode> Split(ToNode message);
std::vector<ToHub> Split(ToHub message);

}  // namespace spate::wire
