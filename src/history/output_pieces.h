// Pieces of the output of tasks, as answers have them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/job_facts.h"
#include "history/question.h"
#include "store/history.h"

namespace spate::history {

bool Wants(wire::Streams streams, store::Stream stream);
OutputFacts PieceOf(const AttemptEnd& end, store::Stream stream,
                    OutputFacts::What what = OutputFacts::What::kBytes);
// Gives the bytes in pieces that are a message each, the first one behind `skipped` lost bytes.
Status PutBytes(const Asking& call, const AttemptEnd& end, store::Stream stream,
                std::string_view bytes, uint64_t skipped = 0);

}  // namespace spate::history
