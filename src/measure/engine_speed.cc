#include "measure/engine_figures.h"
#include "measure/scenario.h"

namespace coli {
namespace {

Parameters ParametersOf(const BenchSession& session, const EngineFigures& figures,
                        std::string_view experts) {
  return {{"model", session.options().model_name},
          {"prompt", uint64_t{figures.prompt_tokens}},
          {"answer", uint64_t{figures.answer_tokens}},
          {"experts", std::string(experts)},
          {"kv", std::string(Info(session.options().engine.kv).name)},
          {"threads", uint64_t{session.threads()}}};
}

}  // namespace

Status MeasurePrefill(BenchSession& session) {
  COLI_ASSIGN_OR_RETURN(const EngineFigures* figures, session.MeasuredEngine());
  session.Add(Summarize("prefill", ParametersOf(session, *figures, "cold"), "tok/s",
                        figures->cold_prefill));
  session.Add(Summarize("prefill", ParametersOf(session, *figures, "warm"), "tok/s",
                        figures->warm_prefill, kProductsAlone, figures->prefill_limit));
  return Ok();
}

Status MeasureDecode(BenchSession& session) {
  if (session.options().cold) {
    return MeasureColdDecode(session);
  }
  COLI_ASSIGN_OR_RETURN(const EngineFigures* figures, session.MeasuredEngine());
  session.Add(
      Summarize("decode", ParametersOf(session, *figures, "cold"), "tok/s", figures->cold_decode));
  session.Add(Summarize("decode", ParametersOf(session, *figures, "warm"), "tok/s",
                        figures->warm_decode, kMemoryRead, figures->decode_limit));
  return Ok();
}

}  // namespace coli
