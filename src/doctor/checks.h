// What `coli doctor` says: one judgement for each thing that can be wrong, from facts alone. Pure.
// Another check is one function and one line in the table of checks.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.h"

namespace coli {

enum class Verdict : uint8_t {
  kOk,
  kWarn,  // it runs, slower or with less than it could
  kFail,  // it does not run
};
std::string_view NameOf(Verdict verdict);  // "ok", "warn", "fail"

struct Finding {
  std::string_view check;  // its name, "model.files"
  Verdict verdict = Verdict::kOk;
  std::string found;
  std::string advice;  // what to do; empty where nothing is to be done
};

// In the order of the table. Checks that say nothing about these facts leave no finding.
std::vector<Finding> Examine(const DoctorFacts& facts);

}  // namespace coli
