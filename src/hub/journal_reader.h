// JournalReader: answers requests from the hub's journal beside the loop, so that the hub never
// waits for a disk or a long list. The owner of a service brings one: a process for each answer
// (hub/door/reader_process.h), or code that reads its own store.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "hub/caller.h"
#include "wire/client_messages.h"
#include "wire/question_row.h"

namespace spate::hub {

// An answer on its way. Its end cuts the answer off: no event is called any more.
class JournalAnswer {
 public:
  virtual ~JournalAnswer() = default;
  // True: the client takes nothing at the moment, so the answer should wait.
  virtual void Pause(bool paused) = 0;
};

class JournalReader {
 public:
  // How a whole answer ended.
  struct End {
    // For wire::ReadEnds: position to ask from when there is news; nullopt: there is nothing more.
    std::optional<uint64_t> position;
  };
  struct Events {
    std::function<void(std::string_view)> reply;  // one encoded wire::Reply
    // The last call; nullopt: the answer is not whole. May destroy the answer.
    std::function<void(std::optional<End>)> ended;
  };
  virtual ~JournalReader() = default;
  // The row of a question that it answers. nullptr: it knows none, and says so in its answer.
  virtual const wire::QuestionRow* RowOf(uint32_t) const { return nullptr; }
  // `request` is a wire::ReadEnds, or a wire::Query of the journal (wire::IsOfJournal). Events are
  // called later, by the loop. kInvalid: the request is too long. kExhausted: no process or
  // descriptor is left.
  virtual Result<std::unique_ptr<JournalAnswer>> Start(const Caller& caller,
                                                       const wire::Request& request,
                                                       Events events) = 0;
};

}  // namespace spate::hub
