#include "store/store.h"

namespace spate::store {
namespace {

constexpr uint64_t kRecordBytes = 256;  // the variant, and its share of the vectors' slack

uint64_t Extra(const engine::JobAccepted& r) {
  return r.plan.order.size() * sizeof(TaskIndex) + r.plan.runs.size() * sizeof(RequestRun) +
         r.plan.requests.size() * sizeof(TaskClass);
}
uint64_t Extra(const engine::JobGrown& r) {
  return r.runs.size() * sizeof(RequestRun) + r.new_requests.size() * sizeof(TaskClass);
}
uint64_t Extra(const engine::AttemptEnded& r) {
  return r.end.note.size() + r.end.processes.size() * sizeof(ProcessEnd);
}
template <typename T>
uint64_t Extra(const T& r) {
  if constexpr (requires { r.tasks.size(); }) return r.tasks.size() * sizeof(TaskRange);
  return 0;
}

}  // namespace

uint64_t BundleBytes(const Bundle& bundle) {
  uint64_t bytes = sizeof(Bundle);
  for (const RowChunk& chunk : bundle.rows) {
    bytes += sizeof(chunk) + chunk.rows.size() * sizeof(std::string);
    for (const std::string& row : chunk.rows) bytes += row.size();
  }
  for (const engine::Record& record : bundle.records) {
    bytes += kRecordBytes + std::visit([](const auto& r) { return Extra(r); }, record);
  }
  for (const TaskOutputPtr& output : bundle.outputs) {
    if (output != nullptr) {
      bytes += sizeof(TaskOutput);
      for (const OutputStream* stream : output->streams()) bytes += stream->bytes.size();
    }
  }
  return bytes;
}

}  // namespace spate::store
