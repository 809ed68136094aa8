// What a hub answers to the questions of its clients, and changes for them (wire/questions.h).
//
// Thread: the loop's.
#pragma once

#include <utility>

#include "hub/client_session.h"
#include "wire/client_messages.h"

namespace spate::hub {

class Service;

// The client has its answer, or gets it later.
void AnswerQuery(Service& service, ClientSession& client, wire::Query query);

// A question on its way to its answer.
struct QueryCall {
  Service& service;
  ClientSession& client;

  const Caller& caller() const { return client.caller(); }
  template <typename T>
  void Give(const T& answer) {
    client.Give(answer);
  }
  void End() { client.End(); }
  // The whole answer, when what was posted before is durable.
  template <typename T>
  void EndWhenSettled(T answer) {
    client.WhenSettled([client = &client, answer = std::move(answer)] {
      client->Give(answer);
      client->End();
    });
  }
};

// An error is the answer; without one it has been given, or comes. Of jobs (answer_jobs.cc).
Status Answer(QueryCall& call, const wire::ChangeJobs& asked);
Status Answer(QueryCall& call, const wire::Cancel& asked);
Status Answer(QueryCall& call, const wire::Forget& asked);
Status Answer(QueryCall& call, const wire::Retry& asked);
Status Answer(QueryCall& call, const wire::ExplainTasks& asked);
Status Answer(QueryCall& call, const wire::LookAtJobs& asked);
// Of pools (answer_pools.cc).
Status Answer(QueryCall& call, const wire::LookAtPools& asked);
Status Answer(QueryCall& call, const wire::ReadPoolLog& asked);
Status Answer(QueryCall& call, const wire::TryPool& asked);
Status Answer(QueryCall& call, const wire::AddPool& asked);
Status Answer(QueryCall& call, const wire::ChangePools& asked);
// Of work (answer_work.cc).
Status Answer(QueryCall& call, const wire::LookAtWork& asked);
Status Answer(QueryCall& call, const wire::AskNode& asked);
Status Answer(QueryCall& call, const wire::Withdraw& asked);
Status Answer(QueryCall& call, const wire::TrustNodes& asked);
Status Answer(QueryCall& call, const wire::ResetCounts& asked);

}  // namespace spate::hub
