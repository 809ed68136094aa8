// Any text is taken as each of Parasol's files; what was read is written and read again the same.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "doors/parasol/formats/batch.h"
#include "doors/parasol/formats/job_list.h"
#include "doors/parasol/formats/machine_list.h"
#include "doors/parasol/formats/results.h"

namespace {

void CheckSame(const std::vector<spate::parasol::ParasolJob>& jobs) {
  std::string written = spate::parasol::WriteBatch(jobs);
  auto read = spate::parasol::ReadBatch(written, "batch");
  CHECK(read.damage.empty());
  CHECK(read.jobs.size() == jobs.size());
  CHECK(spate::parasol::WriteBatch(read.jobs) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto jobs = spate::parasol::ReadParasolList(text, "list")) CheckSame(*jobs);
  CheckSame(spate::parasol::ReadBatch(text, "batch").jobs);
  CHECK(spate::parasol::ReadResults(text, "results").bytes <= size);
  (void)spate::parasol::ReadBookmark(text, "bookmark");
  for (size_t columns : {size_t{7}, size_t{2}, size_t{1}}) {
    (void)spate::parasol::ReadMachineList(text, "machines", columns);
  }
  return 0;
}
