// The tensors of the known questions (known_answer.h), as tests/server/known_answers.py makes them
// too. Pure functions; safe from any thread.
#ifndef WARPFOLD_SERVER_CORE_SELF_TEST_KNOWN_DATA_H_
#define WARPFOLD_SERVER_CORE_SELF_TEST_KNOWN_DATA_H_

#include <cstdint>
#include <string>

#include "kernels/types.h"

namespace warpfold::known {

inline constexpr int kRows = 2;

enum class Kind {
  kBalanced,  // pairs at the same distance from the mean: the variance is a square; of floats of 8
              // bits any finite elements
  kOmit,      // the same with pairs of NaN, which the question leaves out
  kProduct,   // mostly 1, a few of 2 (of floats 1/2), 3 and their negatives
  kExtremes,  // all bits of the dtype; finite
  kSpecial    // NaN, infinities, zeros
};

// Where the elements of a row of kBalanced begin: what the generator starts from, and the distances
// of the first four pairs, which make the variance a square.
struct Balance {
  std::int64_t columns;
  int row;
  bool has_holes;
  std::uint64_t seed;
  int first_distances[4];
};

// The answers to one question: of each op, of each row, the bytes in hexadecimal.
struct AnswerLine {
  DType dtype;
  Kind kind;
  std::int64_t columns;
  const char* answers;
};

// The bytes of kRows rows of `columns` elements. `find` gives the Balance of a row.
std::string Elements(DType dtype, Kind kind, std::int64_t columns,
                     const Balance& (*find)(std::int64_t columns, int row, bool has_holes));

}  // namespace warpfold::known

#endif  // WARPFOLD_SERVER_CORE_SELF_TEST_KNOWN_DATA_H_
