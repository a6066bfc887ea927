// How an engine really runs, for people.
#pragma once

#include <cstdint>
#include <string>

namespace coli {

struct EngineMode {
  std::string io;                // how experts are read
  uint64_t budget_bytes = 0;     // for the whole process
  uint64_t experts = 0;          // of the model
  uint64_t fitting_experts = 0;  // that memory has room for
  uint32_t threads = 0;
  std::string isa;
};

}  // namespace coli
