// OutputWriter: the tasks' own output on its way to the screen: grouped by task, in order
// (--keep-order), tagged (--tag), or line by line as it comes (--line-buffer).
//
// Output held back for its turn stays in memory up to kHeldMemory bytes, then in a file.
// Output of an attempt that will be tried again is shown only line by line.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "view/output_pieces.h"
#include "view/run_view.h"
#include "view/screen.h"

namespace spate::cli {

class OutputWriter {
 public:
  static constexpr uint64_t kHeldMemory = 64u << 20;

  struct Options {
    bool keep_order = false;
    bool tag = false;
    std::function<std::string(TaskIndex)> tag_text = nullptr;  // null: the values
    bool line_buffer = false;
    std::string spill_folder;
    uint64_t held_memory = kHeldMemory;
  };
  OutputWriter(Screen& screen, Options options,
               std::function<std::vector<std::string>(TaskIndex)> values);

  void OnStart(const std::vector<TaskRange>& ended);
  void OnLive(const AttemptRef& ref, int stream, std::string_view bytes);
  void OnEnded(const TaskEnded& ended);
  // Output that is still held comes out, in order.
  void OnFinish();

 private:
  struct LiveTask {
    Attempt attempt;
    bool shown = false;                  // decided when its first bytes come
    std::array<std::string, 2> partial;  // a line without its end
    std::array<bool, 2> mid_line = {};   // its start is on the screen already
    std::array<uint64_t, 2> seen = {};   // bytes that came
  };
  struct Held {
    TaskOutputPtr output;  // or, when null:
    std::array<FilePart, 2> parts;
  };

  void Emit(TaskIndex index, const TaskOutputPtr& output, const std::array<uint64_t, 2>& from,
            bool mid_line_out, bool mid_line_err);
  void EmitStream(TaskIndex index, Stream stream, const OutputStream& bytes, uint64_t from,
                  const std::shared_ptr<const void>& owner, bool mid_line);
  void EmitHeld(TaskIndex index, Held held);
  void EndLive(TaskIndex index, LiveTask& live);
  void Hold(TaskIndex index, const TaskOutputPtr& output);
  // Moves inline output into the spill file; false when that is impossible.
  bool Spill(TaskIndex index, const TaskOutputPtr& output);
  void MarkEnded(TaskIndex index);
  void AdvanceHead();
  std::string TagOf(TaskIndex index) const;

  Screen& screen_;
  const Options options_;
  const std::function<std::vector<std::string>(TaskIndex)> values_;
  std::map<TaskIndex, LiveTask> live_;

  // --keep-order.
  TaskIndex head_ = 0;  // the first task that has not ended
  std::vector<bool> has_ended_;
  std::map<TaskIndex, Held> held_;
  uint64_t held_bytes_ = 0;  // in memory
  std::shared_ptr<SpillFile> spill_;
};

// `bytes` with `tag` at the start of each line; the first one has it only unless `mid_line`.
// *mid_line tells afterwards whether the last line is open.
std::string Tagged(std::string_view bytes, std::string_view tag, bool* mid_line);

}  // namespace spate::cli
