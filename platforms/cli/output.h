// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <system_error>
#include <vector>

/// What commands print.
namespace weft::platforms {

/// Nobody reads standard output any more, as behind `head`: the command ends without a message.
class OutputClosed : public std::system_error {
 public:
  using std::system_error::system_error;
};

/// On standard output, whatever it is made of (traces::printable). Throws OutputClosed, or std::system_error if that
/// cannot be written.
void print(const std::string& text);
/// An object begins with what made it, version_json().
void print_json(const nlohmann::ordered_json& json);
/// From now on print() and print_json() write to stderr: standard output is one of the command's results.
void keep_standard_output();
/// On stderr, a line each, made printable as well.
void print_warnings(const std::vector<std::string>& lines);
void print_error(const std::string& text);

}  // namespace weft::platforms
