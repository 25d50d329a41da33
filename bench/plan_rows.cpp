// What it takes a rank to generate its plan of a collective: in each one that finds none in its communicator.
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "coll/request.hpp"
#include "suites.hpp"

namespace tri::bench {
namespace {

constexpr int hosts = 64;
constexpr int ranks_of_a_host = 16;
constexpr int rank = 500;  // in the middle: no root, and not the first of its host

measurement generate_plan(const coll::algorithm& by, context& tools) {
  coll::request asked;
  asked.what = by.what;
  asked.hosts = coll::shape::uniform(hosts, ranks_of_a_host);
  asked.blocks = coll::block_layout::uniform(512);
  asked.extent = 8;
  const std::size_t steps = coll::generate(by, asked, rank).steps.size();
  return {.samples = tools.runner().time([&](std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i)
              if (coll::generate(by, asked, rank).steps.size() != steps)
                throw std::logic_error("two plans of one request differ");
          }),
          .counts = {{"steps", static_cast<double>(steps)}}};
}

}  // namespace

std::vector<row_definition> plan_rows() {
  std::vector<row_definition> rows;
  for (const coll::algorithm& by : coll::all_algorithms())
    rows.push_back(
        {.name = fmt::format("plan/{}/{}", coll::name_of(by.what), by.name),
         .unit = "us",
         .target = 50,
         .description = fmt::format("the plan of one of {} ranks of {} hosts", hosts * ranks_of_a_host, hosts),
         .measure = [&by](context& tools) { return generate_plan(by, tools); }});
  return rows;
}

}  // namespace tri::bench
