#include "store/store.h"

#include "core/model/memory.h"

namespace spate::store {
namespace {

constexpr uint64_t kRecordBytes = 256;  // the variant, and its share of the vector's slack

}  // namespace

uint64_t BundleBytes(const Bundle& bundle) {
  uint64_t bytes = sizeof(Bundle);
  for (const RowChunk& chunk : bundle.rows) {
    bytes += sizeof(chunk) + chunk.rows.size() * sizeof(std::string);
    for (const std::string& row : chunk.rows) bytes += row.size();
  }
  for (const engine::Record& record : bundle.records) {
    bytes += kRecordBytes + std::visit([](const auto& each) { return MemoryOf(each); }, record);
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
