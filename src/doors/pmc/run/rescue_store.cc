#include "doors/pmc/run/rescue_store.h"

#include <utility>

#include "doors/pmc/formats/rescue.h"
#include "os/file.h"

namespace spate::pmc {

RescueStore::RescueStore(os::Loop& loop, Parts parts)
    : TransientStore(loop),
      parts_(std::make_shared<const Parts>(std::move(parts))),
      // A delivery may hang (docs/design/051-where-calls-block.md), the program must not.
      writer_(loop, [parts = parts_](std::span<Ends> group) { return Write(*parts, group); },
              {.finishes = false}) {}

void RescueStore::Append(store::Bundle bundle, std::function<void(Status)> done) {
  Ends ends;
  uint64_t bytes = 0;
  size_t outputs = 0;
  for (engine::Record& record : bundle.records) {
    auto* ended = std::get_if<engine::AttemptEnded>(&record);
    if (ended == nullptr) continue;
    TaskOutputPtr output = outputs < bundle.outputs.size() ? bundle.outputs[outputs] : nullptr;
    ++outputs;
    bytes += 100 + (output ? output->out.bytes.size() + output->err.bytes.size() : 0);
    ends.push_back({std::move(*ended), std::move(output)});
  }
  writer_.Add(std::move(ends), bytes, bundle.urgent,
              [done = std::move(done)](Status status, const Ends&) {
                if (done) done(std::move(status));
              });
}

Result<std::vector<std::string>> RescueStore::Rows(JobId, TaskIndex first, uint32_t count) {
  std::vector<std::string> rows;
  rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) rows.push_back(parts_->row(first + i));
  return rows;
}

Status RescueStore::Write(const Parts& parts, std::span<const Ends> group) {
  std::string records;
  for (const Ends& ends : group) {
    for (const Ended& ended : ends) {
      TRY(parts.deliver(ended.record, ended.output));
      if (ended.record.verdict != Verdict::kSucceeded) continue;
      records += RescueRecord(parts.name(ended.record.end.ref.index));
    }
  }
  if (records.empty()) return {};
  TRY(os::WriteAll(parts.file.get(), records, parts.path));
  return parts.syncs ? os::Fsync(parts.file.get(), parts.path) : Status();
}

}  // namespace spate::pmc
