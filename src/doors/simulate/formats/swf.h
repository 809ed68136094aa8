// Traces in the Standard Workload Format of the Parallel Workloads Archive (docs/formats/swf.md):
// read as a stream, and what of them can be simulated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_list.h"
#include "base/result.h"

namespace spate::format {

// A job's line, as far as it is used; times in seconds, -1 where the trace does not say.
struct SwfJob {
  int64_t number = -1;
  int64_t submit = -1;
  int64_t run = -1;
  int64_t allocated = -1;  // processors
  int64_t requested = -1;
  int64_t estimate = -1;  // of the run time, by the user
  int64_t user = -1;      // a number for each
};

struct SwfHeader {
  std::optional<uint32_t> max_procs;
  std::optional<uint32_t> max_nodes;
  // The header's own bytes, of any kind; empty: not given.
  std::string computer;
  std::string installation;
  std::string acknowledge;
  // Headers that are not as expected: "line 3: MaxProcs: ...", and what was made of them. The first
  // ones.
  std::vector<std::string> odd;
};

struct SwfBroken {
  uint64_t line = 0;
  std::string why;
};

struct SwfTrace {
  SwfHeader header;
  std::vector<SwfJob> jobs;       // in the order of the file
  uint64_t broken_lines = 0;      // are not among the jobs
  std::vector<SwfBroken> broken;  // the first of them
};

inline constexpr size_t kSwfLine = 64 * 1024;          // bytes
inline constexpr size_t kSwfJobs = 10'000'000;         // of one trace
inline constexpr int64_t kSwfNumber = 10'000'000'000;  // no field is larger
inline constexpr uint32_t kSwfProcessors = 1'000'000'000;

class SwfReader {
 public:
  // The next bytes of the trace, cut anywhere. kInvalid: not a trace, or beyond a bound above.
  Status Feed(std::string_view bytes);
  // A last line may lack its end.
  Result<SwfTrace> Finish();

 private:
  Status AcceptLine(std::string_view line);
  void AcceptComment(std::string_view line);
  void AcceptCount(std::string_view comment, std::string_view name, std::optional<uint32_t>& count,
                   uint64_t& line);
  void NoteOdd(std::string_view header, std::string_view what);
  Status AcceptJob(std::string_view line);
  void Break(std::string why);

  SwfTrace trace_;
  uint64_t line_ = 0;
  uint64_t procs_line_ = 0;  // where the header's number is from; 0: none
  uint64_t nodes_line_ = 0;
  std::string rest_;  // of a line whose end has not come
};

// Filter for the jobs that a simulation accepts.
SPATE_ENUM(SwfFilter, kStudy, "study", kLoose, "loose");
enum class SwfDrop : uint8_t { kTooLarge, kNoProcessors, kNoRunTime, kNoSubmit, kNoEstimate };
inline constexpr size_t kSwfDrops = 5;
std::string_view SwfDropText(SwfDrop why);

struct RigidJob {
  int64_t number = 0;
  int64_t submit = 0;
  int64_t run = 0;  // at least 1; of a trace at most the estimate: there it is ended
  uint32_t processors = 0;
  int64_t estimate = 0;
  int64_t user = -1;
  uint32_t request = 0;  // which of what its source knows more of (RequestTable); of a trace 0
};

struct Workload {
  uint32_t processors = 0;  // of the machine
  int64_t second = 1;       // has so many units of the jobs' times
  std::vector<RigidJob> jobs;
  std::array<uint64_t, kSwfDrops> dropped{};  // by SwfDrop
};

// Study: the rules of Gaussier, Glesser, Reis and Trystram (SC'15); broken lines are refused.
// Loose: all that can be run at all; a missing estimate is the run time, broken lines are left out.
// Both need MaxProcs, and a job that is left.
Result<Workload> WorkloadOf(const SwfTrace& trace, SwfFilter filter);

}  // namespace spate::format
