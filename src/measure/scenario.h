// The scenarios of `coli bench`. Each is one function that adds what it measures to a session;
// another one is a file and a line in the table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "measure/session.h"

namespace coli {

struct Scenario {
  std::string_view name;
  std::string_view what;  // that it measures, in a few words
  Status (*run)(BenchSession& session);
  size_t results;  // that it adds, at most
  bool needs_model = false;
};

std::span<const Scenario> AllScenarios();
const Scenario* FindScenario(std::string_view name);  // null: there is none
std::string ScenarioNames();                          // "memory.read, disk.read, ..."

// How fast memory can be read, by one thread and by all.
Status MeasureMemoryRead(BenchSession& session);
// Random reads of whole experts from the drive: of the model's files, or of a file made for it.
Status MeasureDiskRead(BenchSession& session);
// One row with weights of every format and expert shape, of the memory read.
Status MeasureMatVec(BenchSession& session);
// 16 rows together: multiply-adds of what the memory read would allow; gain over one by one.
Status MeasureMatMul(BenchSession& session);
// A layer's eight routed experts and the shared one: one row, of the memory read; 16 rows each, of
// the products alone.
Status MeasureMoe(BenchSession& session);
// The attention of a layer for a decoded token, indexer and projections included, at a short and a
// long context; of the memory read.
Status MeasureAttention(BenchSession& session);
// Reading prompts and writing answers through the engine: the first request after loading, and
// later ones; decode of what the memory read allows where all experts are in memory.
Status MeasurePrefill(BenchSession& session);
Status MeasureDecode(BenchSession& session);
// What MeasureDecode measures when the session is cold: the page cache is emptied of the model's
// files, and the first answer and later ones are set beside what the drive does without an engine.
Status MeasureColdDecode(BenchSession& session);
// A few tokens behind a long prompt that is known: what is read for them, of what the experts that
// were missing take, and how fast the answer goes on, of the answer before.
Status MeasureAppend(BenchSession& session);
// A layer's experts, and parallel loops, beside a thread that keeps a core busy; of the speed
// without it.
Status MeasureNeighbour(BenchSession& session);

}  // namespace coli
