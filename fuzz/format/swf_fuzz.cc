// Any trace is read, or refused in words that a terminal takes; where it is cut changes nothing,
// and what is left of it can run. What begins like a file of gzip's is unzipped first.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "doors/simulate/formats/swf.h"
#include "format/gzip/gunzip.h"

namespace {

using namespace spate::format;

spate::Result<SwfTrace> Read(std::string_view text, size_t piece) {
  SwfReader reader;
  while (!text.empty()) {
    if (auto fed = reader.Feed(text.substr(0, piece)); !fed) return std::unexpected(fed.error());
    text.remove_prefix(std::min(piece, text.size()));
  }
  return reader.Finish();
}

void CheckText(std::string_view text) {
  CHECK(text.size() < 2'000);
  for (char c : text) CHECK(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

void CheckWorkload(const SwfTrace& trace, SwfFilter filter) {
  auto workload = WorkloadOf(trace, filter);
  if (!workload) return CheckText(workload.error().message);
  CHECK(!workload->jobs.empty());
  uint64_t all = workload->jobs.size();
  for (uint64_t dropped : workload->dropped) all += dropped;
  CHECK(all == trace.jobs.size());
  for (const RigidJob& job : workload->jobs) {
    CHECK(job.processors > 0 && job.processors <= workload->processors);
    CHECK(job.submit >= 0 && job.run > 0 && job.run <= job.estimate);
    CHECK(job.estimate <= kSwfNumber && job.submit <= kSwfNumber);
  }
}

void CheckTrace(std::string_view text, size_t piece) {
  auto trace = Read(text, SIZE_MAX);
  auto other = Read(text, piece);
  CHECK(trace.has_value() == other.has_value());
  if (!trace) return CheckText(trace.error().message);
  CHECK(trace->jobs.size() == other->jobs.size() && trace->broken_lines == other->broken_lines);
  CHECK(trace->header.max_procs == other->header.max_procs);
  CheckWorkload(*trace, SwfFilter::kStudy);
  CheckWorkload(*trace, SwfFilter::kLoose);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A copy of its own size, so that looking beyond it shows.
  std::vector<char> copy(data, data + size);
  std::string_view text(copy.data(), copy.size());
  const size_t piece = size % 7 + 1;
  if (!IsGzip(text)) {
    CheckTrace(text, piece);
    return 0;
  }
  std::string whole;
  Gunzip gunzip([&](std::string_view some) -> spate::Status {
    whole += some;
    if (whole.size() <= 1'000'000) return {};
    return spate::Fail(spate::ErrorKind::kInvalid, "enough");
  });
  if (gunzip.Feed(text) && gunzip.Finish()) CheckTrace(whole, piece);
  return 0;
}
