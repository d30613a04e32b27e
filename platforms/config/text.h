// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "traces/files/text_file.h"

/// Small helpers for messages and dotted paths.
namespace weft::platforms {

std::string join(const std::vector<std::string_view>& words, std::string_view separator);
std::string join(const std::vector<std::string>& words, std::string_view separator);

/// The text in double quotes, shortened if it is long.
std::string in_quotes(std::string_view text);

/// "1 point", "3 points"; "1 batch", "3 batches" if `several` says what more than one are called.
template <std::integral Count>
std::string counted(Count count, std::string_view one, std::string_view several = {}) {
  const std::string text = std::to_string(count) + " ";
  if (count == 1) return text + std::string(one);
  return text + (several.empty() ? std::string(one) + "s" : std::string(several));
}
/// "0 of 1 row is done", "3 of 8 rows are done"
std::string counted_done(std::size_t done, std::size_t all, std::string_view what);

/// " (in bps, Kbps, ...)", to be put behind what was expected, where a quantity's unit is what is wrong (UnknownUnit);
/// else nothing.
std::string units_in_brackets(const std::invalid_argument& error);

/// The text in a cell of a table in Markdown.
std::string markdown_cell(std::string_view text);

/// "fabric" and "link" to "fabric.link"; either may be empty.
std::string join_path(std::string_view path, std::string_view key);

/// What a JSON value is, for the "got" of an error: a scalar as it is written, "an object", "an array".
std::string got_text(const nlohmann::json& value);

/// The text as a whole number of 0 or more; none if it is anything else.
std::optional<std::uint64_t> whole_number(std::string_view text);

/// The candidate nearest to `word` by edit distance, or empty if none is near enough to be a slip of the pen.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// "expected one of ring, tree, got "rng"; did you mean "ring"?", or nothing if it is one of them.
std::string not_one_of(const std::vector<std::string>& names, const std::string& text);

/// `text` as JSON of Weft's own (traces::parse_own_json). Throws InputError with line and column if it is not, and with
/// the path of a key that stands twice.
nlohmann::json parse_own_json(const std::string& text, const std::string& file);

/// Kinds of file that can be JSON, and those of them that are nothing else than a platform, or a patch of one, can be.
bool may_be_json(traces::FileKind kind);
bool may_be_platform(traces::FileKind kind);

/// The text of the file, which may be packed with gzip. Throws InputError, with `expected`, if it cannot be read or is
/// of a kind that `takes` has not.
std::string load_document(const std::string& file, std::string_view expected, traces::KindFilter takes = may_be_json);

/// The file as JSON of Weft's own, which may be packed with gzip. Throws InputError, with `expected`, if it cannot be
/// read, is of a kind that `takes` has not, or is not JSON.
nlohmann::json load_own_json(const std::string& file, std::string_view expected,
                             traces::KindFilter takes = may_be_json);
/// The same, of an object; `what` says what it should be ("a platform").
nlohmann::json load_own_object(const std::string& file, std::string_view what, traces::KindFilter takes = may_be_json);
/// An object of another program, in plain JSON.
nlohmann::json load_json_object(const std::string& file, std::string_view what, traces::KindFilter takes = may_be_json);

}  // namespace weft::platforms
