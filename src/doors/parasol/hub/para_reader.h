// What `para` asks of a hub's journal about one batch (docs/formats/parasol.md). Runs in the hub's
// reader process, as long as that may take.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

// stream 1: what was asked for; 2: where to go on the next time.
using PrintAnswer = std::function<void(int stream, std::string_view text)>;

// `argv` is as RunParaCommand passes it on:
//   para rows JOB FIRST TOTAL                               TASK, number in the batch, submitted
//   para results JOB AFTER CREATED [NODE=TEMPDIR ...]    lines of para.results; then AFTER
//   CREATED
// CREATED names the job that AFTER is a place of; of another one all lines come.
Status AnswerPara(const std::string& hub_dir, const std::vector<std::string>& argv,
                  const PrintAnswer& print);

}  // namespace spate::parasol
