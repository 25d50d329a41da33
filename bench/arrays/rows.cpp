#include "arrays/rows.hpp"

#include <iterator>

namespace tri::bench {

std::vector<row_definition> array_rows() {
  std::vector<row_definition> rows = array_access_rows();
  for (auto part : {array_size_rows(), array_busy_rows(), array_local_rows()})
    rows.insert(rows.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  return rows;
}

}  // namespace tri::bench
