// JournalAsker: answers from a journal in this process, for those who need no hub.
#pragma once

#include <utility>

#include "client/asker.h"
#include "history/reader.h"
#include "history/source.h"

namespace spate::history {

class JournalAsker final : public client::Asker {
 public:
  explicit JournalAsker(Source source) : source_(std::move(source)) {}
  Status Query(wire::Question question, const AcceptAnswer& take) override {
    return Answer(source_, question, take);
  }

 private:
  const Source source_;
};

}  // namespace spate::history
