// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/pictures/timeline_picture.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::platforms {
namespace {

using namespace weft::literals;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The path of a colour: a bar starts with M.
std::size_t bars(const std::string& svg, const std::string& colour) {
  const std::size_t from = svg.find("<path fill=\"" + colour);
  if (from == std::string::npos) return 0;
  return count(svg.substr(from, svg.find("/>", from) - from), "M");
}

constexpr const char* kComputing = "#4a78b5";
constexpr const char* kIdle = "#d02020";

TEST(TimelinePicture, ShowsWhenTheFirstRowIsIdle) {
  TimelinePicture picture("a title");
  const std::size_t compute = picture.add_row("compute");
  const std::size_t gather = picture.add_row("allgather");
  picture.add_slice(compute, 10_us, 20_us);
  picture.add_slice(compute, 20_us, 30_us);
  picture.add_slice(compute, 60_us, 80_us);
  picture.add_slice(gather, 0_us, 100_us);
  const std::string svg = picture.svg();
  EXPECT_EQ(count(svg, "a title"), 1U);
  EXPECT_EQ(count(svg, ">compute<"), 1U);
  EXPECT_EQ(count(svg, ">allgather<"), 1U);
  EXPECT_EQ(bars(svg, kComputing), 3U);
  EXPECT_EQ(bars(svg, kIdle), 3U);  // 0 to 10, 30 to 60, 80 to 100
  EXPECT_EQ(picture.busy(compute), 40_us);
  EXPECT_EQ(picture.busy(gather), 100_us);
  EXPECT_EQ(count(svg, ">40 us<"), 1U) << "a tick of the axis";
}

TEST(TimelinePicture, JoinsWhatOneCouldNotTellApart) {
  TimelinePicture picture("");
  const std::size_t row = picture.add_row("compute");
  for (int i = 0; i < 200'000; ++i) picture.add_slice(row, 2_ns * i, 2_ns * i + 1_ns);
  const std::string svg = picture.svg();
  EXPECT_EQ(bars(svg, kComputing), 1U);
  EXPECT_LT(svg.size(), 50'000U);
  EXPECT_EQ(picture.busy(row), 200_us);
}

TEST(TimelinePicture, CountsOverlappingSlicesOnce) {
  TimelinePicture picture("");
  const std::size_t row = picture.add_row("NIC");
  picture.add_slice(row, 50_us, 70_us);
  picture.add_slice(row, 10_us, 60_us);
  picture.add_slice(row, 20_us, 30_us);
  EXPECT_EQ(picture.busy(row), 60_us);
}

TEST(TimelinePicture, TakesAnyName) {
  TimelinePicture picture("R&D");
  picture.add_row("fifo<0>");
  const std::string svg = picture.svg();
  EXPECT_EQ(count(svg, ">R&amp;D<"), 1U);
  EXPECT_EQ(count(svg, ">fifo&lt;0&gt;<"), 1U);
}

TEST(TimelinePicture, OfNothingIsAPicture) {
  TimelinePicture picture("nothing ran");
  picture.add_row("compute");
  EXPECT_NE(picture.svg().find("nothing ran"), std::string::npos);
}

}  // namespace
}  // namespace weft::platforms
