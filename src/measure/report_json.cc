#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/fields.h"
#include "base/json.h"
#include "base/shown.h"
#include "measure/report.h"

namespace coli {
namespace {

constexpr IntRange kCount{0, int64_t{1} << 62};
// Above 0, so that speeds can be divided by each other.
constexpr FloatRange kSpeed{std::numeric_limits<double>::min(), std::numeric_limits<double>::max()};

OrderedJson ParametersJson(const Parameters& params) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [name, value] : params) {
    std::visit([&](const auto& written) { json[name] = written; }, value);
  }
  return json;
}

OrderedJson MeasurementJson(const Measurement& m) {
  OrderedJson limit;
  if (m.limit) {
    limit = {{"what", m.limit->what}, {"value", m.limit->value}, {"unit", m.limit->unit}};
  }
  OrderedJson share;
  if (m.share_of_limit) {
    share = *m.share_of_limit;
  }
  return {{"scenario", m.scenario},
          {"params", ParametersJson(m.params)},
          {"value", m.value},
          {"unit", m.unit},
          {"limit", std::move(limit)},
          {"share_of_limit", std::move(share)},
          {"runs", m.runs},
          {"spread", m.spread}};
}

Result<uint64_t> ReadCount(const Fields& object, const char* name) {
  COLI_ASSIGN_OR_RETURN(const int64_t count, object.Int(name, kCount));
  return static_cast<uint64_t>(count);
}

Result<HostFacts> ReadHost(const Fields& host) {
  HostFacts facts;
  COLI_ASSIGN_OR_RETURN(facts.cpu, host.String("cpu"));
  COLI_ASSIGN_OR_RETURN(facts.cores, ReadCount(host, "cores"));
  COLI_ASSIGN_OR_RETURN(facts.memory_bytes, ReadCount(host, "memory_bytes"));
  COLI_ASSIGN_OR_RETURN(facts.isa, host.String("isa"));
  COLI_ASSIGN_OR_RETURN(facts.version, host.String("version"));
  return facts;
}

// Every line of a table is as wide as its longest name.
constexpr size_t kLongestName = 200;
constexpr size_t kMostParameters = 20;

Result<std::string> ReadName(const Fields& fields, const char* key) {
  COLI_ASSIGN_OR_RETURN(std::string name, fields.String(key));
  if (name.size() > kLongestName) {
    return tl::unexpected(fields.Mismatch(key, fmt::format("at most {} bytes", kLongestName)));
  }
  return name;
}

Result<std::optional<Limit>> ReadLimit(const Fields& result) {
  COLI_ASSIGN_OR_RETURN(const std::optional<Fields> object, result.MaybeObject("limit"));
  if (!object) {
    return std::nullopt;
  }
  Limit limit;
  COLI_ASSIGN_OR_RETURN(limit.what, ReadName(*object, "what"));
  COLI_ASSIGN_OR_RETURN(limit.value, object->Float("value", kSpeed));
  COLI_ASSIGN_OR_RETURN(limit.unit, ReadName(*object, "unit"));
  return limit;
}

// `where` is the place for errors.
Result<Parameters> ReadParameters(const Json* params, const std::string& where) {
  if (params == nullptr || !params->is_object()) {
    return Fail(ErrorCode::kCorrupt, "{}: expected an object, found {}", where, Shown(params));
  }
  Parameters read;
  for (const auto& [name, value] : params->get_ref<const Json::object_t&>()) {
    const size_t bytes =
        name.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
    if (bytes > kLongestName || read.size() == kMostParameters) {
      return Fail(ErrorCode::kCorrupt,
                  "{}: expected at most {} parameters of {} bytes, found {} and one of {}", where,
                  kMostParameters, kLongestName, params->size(), bytes);
    }
    if (value.is_string()) {
      read.emplace_back(name, value.get<std::string>());
    } else if (value.is_number_unsigned()) {
      read.emplace_back(name, value.get<uint64_t>());
    } else {
      return Fail(ErrorCode::kCorrupt, "{}.{}: expected a text or a count, found {}", where, name,
                  Shown(&value));
    }
  }
  return read;
}

Result<Measurement> ReadMeasurement(const Json& value, std::string_view source,
                                    const std::string& place) {
  COLI_ASSIGN_OR_RETURN(const Fields result, Fields::Of(value, source, place + "."));
  Measurement m;
  COLI_ASSIGN_OR_RETURN(m.scenario, ReadName(result, "scenario"));
  COLI_ASSIGN_OR_RETURN(m.params, ReadParameters(FindMember(value, "params"),
                                                 fmt::format("{}: {}.params", source, place)));
  COLI_ASSIGN_OR_RETURN(m.value, result.Float("value", kSpeed));
  COLI_ASSIGN_OR_RETURN(m.unit, ReadName(result, "unit"));
  COLI_ASSIGN_OR_RETURN(m.limit, ReadLimit(result));
  COLI_ASSIGN_OR_RETURN(m.share_of_limit, result.MaybeFloat("share_of_limit", kSpeed));
  COLI_ASSIGN_OR_RETURN(m.runs, ReadCount(result, "runs"));
  COLI_ASSIGN_OR_RETURN(m.spread, result.Float("spread", {0, 1}));
  if (m.limit.has_value() != m.share_of_limit.has_value()) {
    return tl::unexpected(result.Mismatch(
        "share_of_limit", m.limit ? "a number, as there is a limit" : "null, as the limit is"));
  }
  return m;
}

}  // namespace

std::string ReportJson(const BenchReport& report) {
  const HostFacts& host = report.host;
  OrderedJson results = OrderedJson::array();
  for (const Measurement& m : report.results) {
    results.push_back(MeasurementJson(m));
  }
  const OrderedJson json = {{"host",
                             {{"cpu", host.cpu},
                              {"cores", host.cores},
                              {"memory_bytes", host.memory_bytes},
                              {"isa", host.isa},
                              {"version", host.version}}},
                            {"results", std::move(results)}};
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

Result<BenchReport> ParseReport(std::string_view text, std::string_view source) {
  COLI_ASSIGN_OR_RETURN(const Json json, ParseJson(text, source));
  COLI_ASSIGN_OR_RETURN(const Fields fields, Fields::Of(json, source));
  COLI_ASSIGN_OR_RETURN(const std::optional<Fields> host, fields.MaybeObject("host"));
  if (!host) {
    return tl::unexpected(fields.Mismatch("host", "an object"));
  }
  BenchReport report;
  COLI_ASSIGN_OR_RETURN(report.host, ReadHost(*host));
  const Json* const results = FindMember(json, "results");
  if (results == nullptr || !results->is_array()) {
    return tl::unexpected(fields.Mismatch("results", "an array"));
  }
  for (size_t i = 0; i < results->size(); ++i) {
    COLI_ASSIGN_OR_RETURN(Measurement m,
                          ReadMeasurement((*results)[i], source, fmt::format("results[{}]", i)));
    report.results.push_back(std::move(m));
  }
  return report;
}

}  // namespace coli
