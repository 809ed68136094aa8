// The end of the output of a pilot's batch job.
#include "hub/answers/question.h"

namespace spate::hub {
namespace {

Status Answer(const AnswerParts& hub, Asking& asking, const wire::ReadPilotOutput& asked) {
  hub.pools.ReadOutput(
      asking.caller(), asked.name, provision::PilotId(asked.pilot),
      [give = asking.GiveLater<wire::ReadPilotOutput::Answer>()](Result<std::string> text) {
        if (!text) return give(std::unexpected(text.error()));
        give(wire::ReadPilotOutput::Answer{std::move(*text)});
      });
  return {};
}

}  // namespace

extern const HubQuestion kReadPilotOutput =
    QuestionOf<wire::ReadPilotOutput, Answer>({.who = kOwner, .cost = kOneJob});

}  // namespace spate::hub
