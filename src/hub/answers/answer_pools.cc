// Answers about pools.
#include <utility>

#include "hub/answers/answers.h"

namespace spate::hub {
namespace {

template <typename T>
Status GiveAll(Asking& asking, Result<std::vector<T>> answers) {
  if (!answers) return std::unexpected(answers.error());
  for (const T& answer : *answers) asking.Give(answer);
  asking.End();
  return {};
}

// Gives what comes later; the client may be gone by then.
template <typename T>
std::function<void(Result<T>)> GiveLater(Asking& asking) {
  auto answer = std::make_shared<Result<T>>();
  auto give = asking.client.Guarded([client = &asking.client, answer] {
    if (!*answer) return client->Fail(answer->error());
    client->Give(**answer);
    client->End();
  });
  return [answer, give = std::move(give)](Result<T> told) {
    *answer = std::move(told);
    give();
  };
}

}  // namespace

Status Answer(Asking& asking, const Pools& pools, const wire::LookAtPools& asked) {
  return GiveAll(asking, pools.Look(asking.caller(), asked.names, asked.pilots));
}

Status Answer(Asking& asking, const Pools& pools, const wire::ReadPoolLog& asked) {
  return GiveAll(asking, pools.Log(asking.caller(), asked.name, asked.most));
}

Status Answer(Asking& asking, Pools& pools, const wire::ReadPilotOutput& asked) {
  pools.ReadOutput(
      asking.caller(), asked.name, provision::PilotId(asked.pilot),
      [give = GiveLater<wire::ReadPilotOutput::Answer>(asking)](Result<std::string> text) {
        if (!text) return give(std::unexpected(text.error()));
        give(wire::ReadPilotOutput::Answer{std::move(*text)});
      });
  return {};
}

Status Answer(Asking& asking, Pools& pools, const wire::TryPool& asked) {
  pools.Try(asking.caller(), asked.name, GiveLater<PoolTrial>(asking));
  return {};
}

Status Answer(Asking& asking, Pools& pools, const wire::AddPool& asked) {
  pools.Add(asking.caller(), asked, GiveLater<PoolTrial>(asking));
  return {};
}

Status Answer(Asking& asking, Pools& pools, const wire::ChangePools& asked) {
  TRY(pools.Change(asking.caller(), asked));
  pools.WhenDurable(asking.client.Guarded([client = &asking.client] {
    client->Give(wire::Done());
    client->End();
  }));
  return {};
}

}  // namespace spate::hub
