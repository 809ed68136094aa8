#include "wire/pieces.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "wire/limits.h"

namespace spate::wire {
namespace {

// Says when the next item of some size begins a new piece.
class Cutter {
 public:
  explicit Cutter(size_t most_items) : most_items_(most_items) {}
  bool Begins(size_t bytes, bool apart = false) {
    bool begins =
        items_ == 0 || items_ == most_items_ || bytes_ + bytes > kPieceBytes || (apart && apart_);
    if (begins) items_ = bytes_ = 0, apart_ = false;
    ++items_;
    bytes_ += bytes;
    apart_ |= apart;
    return begins;
  }

 private:
  size_t most_items_;
  size_t items_ = 0;
  size_t bytes_ = 0;
  bool apart_ = false;  // one of the items has output apart
};

// Upper bounds of what an end and a process take at the most.
constexpr size_t kEndBytes = 160;
constexpr size_t kProcessBytes = 36;

size_t SizeOf(const AttemptEnd& end, const TaskOutputPtr& output) {
  size_t size = kEndBytes + end.note.size() + end.processes.size() * kProcessBytes;
  if (!output) return size;
  for (const OutputStream* stream : output->streams()) {
    if (!stream->IsApart()) size += stream->bytes.size();
  }
  return size;
}

bool IsApart(const TaskOutputPtr& output) {
  return output && std::ranges::any_of(output->streams(), [](const OutputStream* stream) {
           return stream->IsApart();
         });
}

bool Fits(const Lease& lease) {
  size_t size = 0;
  for (const std::string& row : lease.rows) size += row.size();
  return lease.rows.size() <= kWireLimits.lease_tasks && size <= kPieceBytes;
}

bool Fits(const Ends& ends) {
  size_t size = 0;
  for (size_t i = 0; i < ends.ends.size(); ++i) size += SizeOf(ends.ends[i], ends.outputs[i]);
  return ends.ends.size() <= kWireLimits.ends && size <= kPieceBytes &&
         std::ranges::count_if(ends.outputs, IsApart) <= 1;
}

std::vector<ToNode> Cut(Lease lease) {
  std::vector<ToNode> pieces;
  Cutter cutter(kWireLimits.lease_tasks);
  size_t row = 0;
  for (TaskRange range : lease.tasks) {
    for (uint32_t k = 0; k < range.count; ++k, ++row) {
      TaskIndex index = range.first + k;
      if (cutter.Begins(lease.rows[row].size())) {
        pieces.push_back(Lease{lease.epoch, lease.job, lease.attempt, lease.needs, {}, {}});
      }
      auto& piece = std::get<Lease>(pieces.back());
      if (k == 0 || piece.tasks.empty()) piece.tasks.push_back({.first = index, .count = 0});
      ++piece.tasks.back().count;
      piece.rows.push_back(std::move(lease.rows[row]));
    }
  }
  return pieces;
}

std::vector<ToHub> Cut(Ends ends) {
  std::vector<ToHub> pieces;
  Cutter cutter(kWireLimits.ends);
  for (size_t i = 0; i < ends.ends.size(); ++i) {
    if (cutter.Begins(SizeOf(ends.ends[i], ends.outputs[i]), IsApart(ends.outputs[i]))) {
      pieces.emplace_back(Ends{.number = ends.number == 0 ? 0 : ends.number - 1});
    }
    auto& piece = std::get<Ends>(pieces.back());
    piece.ends.push_back(std::move(ends.ends[i]));
    piece.outputs.push_back(std::move(ends.outputs[i]));
  }
  std::get<Ends>(pieces.back()).number = ends.number;
  return pieces;
}

template <typename Message>
std::vector<Message> Whole(Message message) {
  std::vector<Message> whole;
  whole.push_back(std::move(message));
  return whole;
}

}  // namespace

std::vector<ToNode> Split(ToNode message) {
  auto* lease = std::get_if<Lease>(&message);
  if (lease == nullptr || Fits(*lease)) return Whole(std::move(message));
  return Cut(std::move(*lease));
}

std::vector<ToHub> Split(ToHub message) {
  auto* ends = std::get_if<Ends>(&message);
  if (ends == nullptr) return Whole(std::move(message));
  CHECK(ends->outputs.size() == ends->ends.size());
  if (Fits(*ends)) return Whole(std::move(message));
  return Cut(std::move(*ends));
}

}  // namespace spate::wire
