// A part of what an attempt brought home: the files of --get, or what it forwards. Names are those
// that the submitter has given: a node cannot bring anything else.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/model/task_files.h"
#include "history/task_texts.h"
#include "store/attempt_entry.h"

namespace spate::history {

class PackPart {
 public:
  enum class Of : uint8_t { kGets, kForwards };
  // The part goes to `put`, as a pack.
  PackPart(TaskTexts& texts, const store::AttemptEntry& attempt, Of part,
           std::function<void(std::string_view)> put);
  // Takes the next bytes of the whole pack.
  void Feed(std::string_view bytes);
  // kCorrupt: it was no pack, or holds what nobody asked for.
  Status Finish() const;

 private:
  Status Begin(const PackedFile& file);

  std::set<std::string, std::less<>> names_;
  const Of part_;
  const std::function<void(std::string_view)> put_;
  bool passes_ = false;  // the file that comes now
  PackReader pack_;
  Status status_;
};

}  // namespace spate::history
