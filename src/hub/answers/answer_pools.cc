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

// The client may be gone by then.
Pools::Tried GiveTrial(Asking& asking) {
  auto answer = std::make_shared<Result<PoolTrial>>();
  auto give = asking.client.Guarded([client = &asking.client, answer] {
    if (!*answer) return client->Fail(answer->error());
    client->Give(**answer);
    client->End();
  });
  return [answer, give = std::move(give)](Result<PoolTrial> trial) {
    *answer = std::move(trial);
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

Status Answer(Asking& asking, Pools& pools, const wire::TryPool& asked) {
  pools.Try(asking.caller(), asked.name, GiveTrial(asking));
  return {};
}

Status Answer(Asking& asking, Pools& pools, const wire::AddPool& asked) {
  pools.Add(asking.caller(), asked, GiveTrial(asking));
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
