// Order of events for one task: OnLive (maybe often), then OnEnded for each attempt. A task is
// shown line by line from its first byte or not at all: with --keep-order only the head is.
// Invariant: has_ended_[i] for all i < head_, and held_ has no key below head_.
#include "view/output_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "os/file.h"

namespace spate::cli {
namespace {

constexpr size_t kPartialLine = 64 * 1024;  // a longer one is shown without its end

constexpr Stream kStreams[2] = {Stream::kOut, Stream::kErr};

uint64_t InlineBytes(const TaskOutputPtr& output) {
  return output ? output->out.bytes.size() + output->err.bytes.size() : 0;
}

bool WroteNothing(const TaskOutputPtr& output) {
  return !output || (output->out.total == 0 && output->err.total == 0);
}

}  // namespace

std::string Tagged(std::string_view bytes, std::string_view tag, bool* mid_line) {
  std::string out;
  out.reserve(bytes.size() + tag.size());
  while (!bytes.empty()) {
    size_t newline = bytes.find('\n');
    size_t end = newline == std::string_view::npos ? bytes.size() : newline + 1;
    if (!*mid_line) out += tag;
    out += bytes.substr(0, end);
    *mid_line = newline == std::string_view::npos;
    bytes.remove_prefix(end);
  }
  return out;
}

OutputWriter::OutputWriter(Screen& screen, Options options,
                           std::function<std::vector<std::string>(TaskIndex)> values)
    : screen_(screen), options_(std::move(options)), values_(std::move(values)) {}

void OutputWriter::OnStart(const std::vector<TaskRange>& ended) {
  if (!options_.keep_order) return;
  for (const TaskRange& range : ended) {
    if (has_ended_.size() < range.first + range.count) has_ended_.resize(range.first + range.count);
    std::fill_n(has_ended_.begin() + range.first, range.count, true);
  }
  AdvanceHead();
}

void OutputWriter::OnLive(const AttemptRef& ref, int stream, std::string_view bytes) {
  if (!options_.line_buffer) return;
  CHECK(stream == 1 || stream == 2);
  LiveTask& live = live_[ref.index];
  if (live.attempt != ref.attempt) {  // a new one, or another attempt
    live = LiveTask{.attempt = ref.attempt};
    live.shown = !options_.keep_order || ref.index == head_;
  }
  if (!live.shown) return;
  auto s = static_cast<size_t>(stream - 1);
  live.seen[s] += bytes.size();
  size_t newline = bytes.rfind('\n');
  std::string& partial = live.partial[s];
  if (newline == std::string_view::npos && partial.size() + bytes.size() < kPartialLine) {
    partial += bytes;
    return;
  }
  size_t end = newline == std::string_view::npos ? bytes.size() : newline + 1;
  partial += bytes.substr(0, end);
  if (options_.tag) {
    screen_.Write(kStreams[s], Tagged(partial, TagOf(ref.index), &live.mid_line[s]));
  } else {
    screen_.Write(kStreams[s], partial);
  }
  partial.assign(bytes.substr(end));
}

void OutputWriter::OnEnded(const TaskEnded& ended) {
  TaskIndex index = ended.end.ref.index;
  auto found = live_.find(index);
  LiveTask live;
  if (found != live_.end()) {
    if (found->second.attempt == ended.end.ref.attempt) live = std::move(found->second);
    live_.erase(found);
  }
  if (live.shown) EndLive(index, live);
  if (ended.verdict == engine::Verdict::kRetry) return;
  if (live.shown || !options_.keep_order || index <= head_) {
    Emit(index, ended.output, live.seen, live.mid_line[0], live.mid_line[1]);
  } else if (!WroteNothing(ended.output)) {
    Hold(index, ended.output);
  }
  if (!options_.keep_order || !EndsTask(ended.verdict)) return;
  MarkEnded(index);
  AdvanceHead();
}

void OutputWriter::OnFinish() {
  for (auto& [index, live] : live_) {
    if (live.shown) EndLive(index, live);
  }
  live_.clear();
  for (auto& [index, held] : held_) EmitHeld(index, std::move(held));
  held_.clear();
  held_bytes_ = 0;
  spill_.reset();
}

// Lines without an end come out as they are.
void OutputWriter::EndLive(TaskIndex index, LiveTask& live) {
  for (size_t s = 0; s < 2; ++s) {
    if (live.partial[s].empty()) continue;
    bool mid_line = live.mid_line[s];
    screen_.Write(kStreams[s], options_.tag ? Tagged(live.partial[s], TagOf(index), &mid_line)
                                            : live.partial[s]);
    live.partial[s].clear();
    live.mid_line[s] = true;
  }
}

void OutputWriter::Emit(TaskIndex index, const TaskOutputPtr& output,
                        const std::array<uint64_t, 2>& from, bool mid_line_out, bool mid_line_err) {
  if (!output) return;
  EmitStream(index, Stream::kOut, output->out, from[0], output, mid_line_out);
  EmitStream(index, Stream::kErr, output->err, from[1], output, mid_line_err);
}

void OutputWriter::EmitStream(TaskIndex index, Stream stream, const OutputStream& bytes,
                              uint64_t from, const std::shared_ptr<const void>& owner,
                              bool mid_line) {
  if (bytes.total <= from) return;
  if (!options_.tag) {
    if (bytes.spool.empty()) {
      screen_.Write(stream, std::string_view(bytes.bytes).substr(from));
    } else {
      screen_.WriteFile(stream, {bytes.spool, from, bytes.total - from, owner});
    }
    return;
  }
  std::string tag = TagOf(index);
  if (bytes.spool.empty()) {
    screen_.Write(stream, Tagged(std::string_view(bytes.bytes).substr(from), tag, &mid_line));
    return;
  }
  // A long one is tagged into a file, so that it never lies in memory.
  auto file = SpillFile::Make(options_.spill_folder);
  Status ok = file ? Status() : std::unexpected(file.error());
  auto read = ForEachPiece(bytes, from, [&](std::string_view piece) {
    std::string tagged = Tagged(piece, tag, &mid_line);
    if (ok) ok = (*file)->Append(tagged);
  });
  if (ok && read) {
    screen_.WriteFile(stream, PartOf(*file, 0));
  } else {  // no room for a second copy: rather without tags than not at all
    screen_.WriteFile(stream, {bytes.spool, from, bytes.total - from, owner});
  }
}

void OutputWriter::Hold(TaskIndex index, const TaskOutputPtr& output) {
  uint64_t bytes = InlineBytes(output);
  if (held_bytes_ + bytes > options_.held_memory && bytes > 0 && Spill(index, output)) return;
  held_[index] = Held{.output = output};
  held_bytes_ += bytes;
}

bool OutputWriter::Spill(TaskIndex index, const TaskOutputPtr& output) {
  // A stream that lies in a file already stays there.
  if (!output->out.spool.empty() || !output->err.spool.empty()) return false;
  if (!spill_) {
    auto made = SpillFile::Make(options_.spill_folder);
    if (!made) return false;
    spill_ = *made;
  }
  Held held;
  const OutputStream* streams[2] = {&output->out, &output->err};
  for (size_t s = 0; s < 2; ++s) {
    uint64_t from = spill_->size();
    if (!spill_->Append(streams[s]->bytes)) {
      spill_.reset();  // what it holds for others stays with them; it is not appended to again
      return false;
    }
    held.parts[s] = PartOf(spill_, from);
  }
  held_[index] = std::move(held);
  return true;
}

void OutputWriter::EmitHeld(TaskIndex index, Held held) {
  if (held.output) {
    held_bytes_ -= InlineBytes(held.output);
    Emit(index, held.output, {0, 0}, false, false);
    return;
  }
  for (size_t s = 0; s < 2; ++s) {
    FilePart& part = held.parts[s];
    if (part.length == 0) continue;
    if (!options_.tag) {
      screen_.WriteFile(kStreams[s], std::move(part));
      continue;
    }
    // It was inline once, so it is small.
    auto file = os::OpenRead(part.path);
    auto bytes = file ? os::ReadAt(file->get(), part.offset, part.length, part.path)
                      : std::unexpected(file.error());
    bool mid_line = false;
    if (bytes) screen_.Write(kStreams[s], Tagged(*bytes, TagOf(index), &mid_line));
  }
}

void OutputWriter::MarkEnded(TaskIndex index) {
  if (has_ended_.size() <= index)
    has_ended_.resize(std::max<size_t>(index + 1, has_ended_.size() * 2));
  has_ended_[index] = true;
}

void OutputWriter::AdvanceHead() {
  while (head_ < has_ended_.size() && has_ended_[head_]) {
    auto held = held_.find(head_);
    if (held != held_.end()) {
      EmitHeld(head_, std::move(held->second));
      held_.erase(held);
    }
    ++head_;
  }
  if (held_.empty()) spill_.reset();
}

std::string OutputWriter::TagOf(TaskIndex index) const {
  if (options_.tag_text) return options_.tag_text(index) + '\t';
  return fmt::format("{}\t", fmt::join(values_(index), " "));
}

}  // namespace spate::cli
