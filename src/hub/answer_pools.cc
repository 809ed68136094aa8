// Answers about pools.
#include <utility>

#include "hub/answers.h"
#include "hub/service.h"

namespace spate::hub {
namespace {

template <typename T>
Status GiveAll(QueryCall& call, Result<std::vector<T>> answers) {
  if (!answers) return std::unexpected(answers.error());
  for (const T& answer : *answers) call.Give(answer);
  call.End();
  return {};
}

// The client may be gone by then.
Pools::Tried GiveTrial(QueryCall& call) {
  auto answer = std::make_shared<Result<PoolTrial>>();
  auto give = call.client.Guarded([client = &call.client, answer] {
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

Status Answer(QueryCall& call, const wire::LookAtPools& asked) {
  return GiveAll(call, call.service.pools().Look(call.caller(), asked.names, asked.pilots));
}

Status Answer(QueryCall& call, const wire::ReadPoolLog& asked) {
  return GiveAll(call, call.service.pools().Log(call.caller(), asked.name, asked.most));
}

Status Answer(QueryCall& call, const wire::TryPool& asked) {
  call.service.pools().Try(call.caller(), asked.name, GiveTrial(call));
  return {};
}

Status Answer(QueryCall& call, const wire::AddPool& asked) {
  call.service.pools().Add(call.caller(), asked, GiveTrial(call));
  return {};
}

Status Answer(QueryCall& call, const wire::ChangePools& asked) {
  if (auto changed = call.service.pools().Change(call.caller(), asked); !changed) return changed;
  call.service.pools().WhenDurable(call.client.Guarded([client = &call.client] {
    client->Give(wire::Done());
    client->End();
  }));
  return {};
}

}  // namespace spate::hub
