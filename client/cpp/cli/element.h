// One element of a tensor as text for people and as JSON for programs.
//
// JSON has no NaN and no infinities: they are the strings "NaN", "Infinity" and "-Infinity", which
// float() of Python and Number() of JavaScript read. Every other number is a JSON number with the
// digits that identify it: a parser that reads doubles gets an f64 back exactly, an f32 exactly
// after rounding to f32, and an i64 exactly if it reads integers.
//
// Thread safety: pure functions. REQUIRES: `data` points to one element of `dtype`, at any
// alignment.
#ifndef WARPFOLD_CLIENT_CPP_CLI_ELEMENT_H_
#define WARPFOLD_CLIENT_CPP_CLI_ELEMENT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "client/cpp/tensor.h"

namespace warpfold::client {

// As Python's repr: "0.1", "1e+16", "nan", "True", "-3".
std::string ElementText(DType dtype, const char* data);

// For a table's cell: integers whole, floats to 6 significant digits.
std::string ElementShortText(DType dtype, const char* data);

// The nearest double; an integer above 2^53 is rounded.
double ElementDouble(DType dtype, const char* data);

// Whether two elements have the same value: -0 is 0, and a NaN is nothing's equal.
bool SameElement(DType dtype, const char* a, const char* b);

nlohmann::json ElementJson(DType dtype, const char* data);

// All elements in C order, as a flat JSON list.
nlohmann::json ElementsJson(const Tensor& tensor);

// `text` with control characters written as \xNN: names come from files, and a terminal obeys what
// it is sent.
std::string Printable(const std::string& text);

}  // namespace warpfold::client

#endif  // WARPFOLD_CLIENT_CPP_CLI_ELEMENT_H_
