// The module trireme._trireme: the runtime's calls as Python sees them. The package trireme (python/trireme) makes
// NumPy's notation of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "any_array.hpp"
#include "collectives.hpp"
#include "files.hpp"
#include "session.hpp"
#include "tile_memory.hpp"
#include "transfer.hpp"
#include "trireme/detail/arena/allocate.hpp"
#include "trireme/global_lock.hpp"
#include "typed_array.hpp"

namespace nb = nanobind;

namespace tri::python {
namespace {

/// Of a call that may wait, or needs the buffers of transfers.
void begin_wait() {
  session::check_running();
  transfer::finish_dropped();
}

/// The position that a key names, if it consists of integers only: negative ones count from the end. Throws
/// nanobind::index_error outside of the array.
std::optional<numbers> position_in(const any_array& array, nb::handle key) {
  const bool is_tuple = PyTuple_Check(key.ptr());
  if ((is_tuple ? PyTuple_Size(key.ptr()) : 1) != array.dimensions()) return std::nullopt;
  numbers at;
  for (int d = 0; d < array.dimensions(); ++d) {
    PyObject* const one = is_tuple ? PyTuple_GetItem(key.ptr(), d) : key.ptr();
    if (!PyIndex_Check(one) || PyBool_Check(one)) return std::nullopt;
    const Py_ssize_t index = PyNumber_AsSsize_t(one, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
    const std::int64_t extent = array.extents()[static_cast<std::size_t>(d)];
    at.push_back(index < 0 ? index + extent : index);
    if (at.back() < 0 || at.back() >= extent)
      throw nb::index_error(("index " + std::to_string(index) + " is out of bounds for axis " + std::to_string(d) +
                             " with size " + std::to_string(extent))
                                .c_str());
  }
  return at;
}
numbers required_position(const any_array& array, nb::handle key) {
  std::optional<numbers> at = position_in(array, key);
  if (!at)
    throw nb::type_error(("a single element is named by " + std::to_string(array.dimensions()) +
                          " integers, one for each dimension of the array")
                             .c_str());
  return std::move(*at);
}

std::size_t bytes_of(const any_array& array, const numbers& first, const numbers& last) {
  std::size_t bytes = array.bytes_of_element();
  for (std::size_t d = 0; d < first.size(); ++d) bytes *= static_cast<std::size_t>(last[d] - first[d]);
  return bytes;
}
enum class direction { get, put, accumulate };
transfer start_transfer(any_array& array, direction way, const numbers& first, const numbers& last, nb::handle buffer) {
  begin_wait();
  held_buffer held(buffer, bytes_of(array, first, last), way == direction::get);
  future<void> done = way == direction::get   ? array.get(first, last, held.data())
                      : way == direction::put ? array.put(first, last, held.data())
                                              : array.accumulate(first, last, held.data());
  return {std::move(done), std::move(held)};
}

nb::list tiles_of(const std::shared_ptr<any_array>& array, int pe) {
  session::check_running();
  if (pe < 0 || pe >= pe_count())
    throw nb::index_error(
        ("there is no PE " + std::to_string(pe) + "; there are PEs 0 to " + std::to_string(pe_count() - 1)).c_str());
  nb::list tiles;
  for (tile_in_memory& tile : array->tiles_of(pe)) tiles.append(nb::cast(tile_memory(array, std::move(tile))));
  return tiles;
}

void bind_arrays(nb::module_& module) {
  nb::enum_<arrays::update>(module, "Update")
      .value("ADD", arrays::update::add)
      .value("AND", arrays::update::bit_and)
      .value("OR", arrays::update::bit_or)
      .value("XOR", arrays::update::bit_xor)
      .value("MIN", arrays::update::minimum)
      .value("MAX", arrays::update::maximum)
      .value("EXCHANGE", arrays::update::exchange);
  nb::enum_<direction>(module, "Direction")
      .value("GET", direction::get)
      .value("PUT", direction::put)
      .value("ACCUMULATE", direction::accumulate);

  PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&tile_memory::get_buffer)},
                         {Py_bf_releasebuffer, reinterpret_cast<void*>(&tile_memory::release_buffer)},
                         {0, nullptr}};
  nb::class_<tile_memory>(module, "TileMemory", nb::type_slots(slots))
      .def_prop_ro("array", &tile_memory::array)
      .def_prop_ro("first", &tile_memory::first)
      .def_prop_ro("last", &tile_memory::last)
      .def("with_halo", &tile_memory::with_halo);
  nb::class_<transfer>(module, "Transfer").def("ready", &transfer::ready).def("wait", &transfer::wait);

  using cell = nb::handle;  // an array of NumPy with one element of the right type
  const auto in = [](any_array& array, cell of) { return held_buffer(of, array.bytes_of_element(), false); };
  const auto out = [](any_array& array, cell of) { return held_buffer(of, array.bytes_of_element(), true); };
  nb::class_<any_array>(module, "Array")
      .def_prop_ro("kind", &any_array::kind)
      .def_prop_ro("extents", &any_array::extents)
      .def_prop_ro("tile", &any_array::tile)
      .def_prop_ro("grid", &any_array::grid)
      .def_prop_ro("halo", &any_array::halo)
      .def_prop_ro("periodic", &any_array::periodic)
      .def_prop_ro("views", [](const any_array& array) { return array.views; })
      .def_prop_ro("is_freed", &any_array::is_freed)
      .def("read",
           [out](any_array& array, nb::handle key, cell value) {
             const std::optional<numbers> at = position_in(array, key);
             if (!at) return false;
             begin_wait();
             array.read(*at, out(array, value).data());
             return true;
           })
      .def("write",
           [in](any_array& array, nb::handle key, cell value) {
             session::check_running();
             array.write(required_position(array, key), in(array, value).data());
           })
      .def("is_element", [](const any_array& array, nb::handle key) { return position_in(array, key).has_value(); })
      .def("owner",
           [](any_array& array, nb::handle key) {
             session::check_running();
             return array.owner(required_position(array, key));
           })
      .def("is_local",
           [](any_array& array, nb::handle key) {
             session::check_running();
             return array.is_local(required_position(array, key));
           })
      .def("update",
           [in](any_array& array, arrays::update what, nb::handle key, cell value) {
             session::check_running();
             array.update(what, required_position(array, key), in(array, value).data());
           })
      .def("fetch",
           [in, out](any_array& array, arrays::update what, nb::handle key, cell value, cell before) {
             begin_wait();
             array.fetch(what, required_position(array, key), in(array, value).data(), out(array, before).data());
           })
      .def("compare_exchange",
           [in, out](any_array& array, nb::handle key, cell expected, cell desired, cell before) {
             begin_wait();
             array.compare_exchange(required_position(array, key), in(array, expected).data(),
                                    in(array, desired).data(), out(array, before).data());
           })
      .def("start", &start_transfer)
      .def("exchange_halo",
           [](any_array& array, std::optional<int> width) {
             begin_wait();
             return transfer(array.exchange_halo(width), held_buffer());
           })
      .def("get_halo",
           [](any_array& array) {
             begin_wait();
             return transfer(array.get_halo(), held_buffer());
           })
      .def("tiles_of", [](const std::shared_ptr<any_array>& array, int pe) { return tiles_of(array, pe); })
      .def("tile_at",
           [](const std::shared_ptr<any_array>& array, nb::handle key) {
             session::check_running();
             return tile_memory(array, array->tile_at(required_position(*array, key)));
           })
      .def("redistribute",
           [](any_array& array, numbers tile, numbers grid, numbers host_tile, numbers halo, numbers periodic) {
             begin_wait();
             return array.redistribute(
                 {std::move(tile), std::move(grid), std::move(host_tile), std::move(halo), std::move(periodic)});
           })
      .def("free", [](any_array& array) {
        begin_wait();
        if (array.views != 0)
          throw nb::buffer_error((std::to_string(array.views) +
                                  " NumPy views of its tiles are in use: delete them, or copy what they show, before "
                                  "the array is freed")
                                     .c_str());
        array.free();
      });
  module.def("make_array", [](const std::string& kind, const numbers& extents, numbers tile, numbers grid,
                              numbers host_tile, numbers halo, numbers periodic) {
    begin_wait();
    return make_array(kind, extents,
                      {std::move(tile), std::move(grid), std::move(host_tile), std::move(halo), std::move(periodic)});
  });
}

/// Paths are bytes: they need not be UTF-8.
void bind_files(nb::module_& module) {
  const auto text_of = [](const nb::bytes& path) { return std::string(path.c_str(), path.size()); };
  nb::enum_<file_format>(module, "FileFormat")
      .value("BY_NAME", file_format::by_name)
      .value("NPY", file_format::npy)
      .value("TEXT", file_format::text)
      .value("HDF5", file_format::hdf5);
  nb::enum_<progress_line>(module, "ProgressLine")
      .value("ON_TERMINALS", progress_line::on_terminals)
      .value("ALWAYS", progress_line::always)
      .value("NEVER", progress_line::never);
  nb::class_<file_options>(module, "FileOptions")
      .def("__init__", [](file_options* made, file_format format, std::string data_set, std::int64_t bytes_at_once,
                          progress_line progress) {
        new (made) file_options{format, std::move(data_set), bytes_at_once, progress};
      });
  module.def("dump", [text_of](any_array& array, const nb::bytes& path, const file_options& options) {
    begin_wait();
    array.dump(text_of(path), options);
  });
  module.def("load", [text_of](any_array& array, const nb::bytes& path, const file_options& options) {
    begin_wait();
    array.load(text_of(path), options);
  });
  module.def("inspect_file", [text_of](const nb::bytes& path, const file_options& options) {
    begin_wait();
    return inspect_file(text_of(path), options);
  });
}

void bind_locks(nb::module_& module) {
  nb::class_<global_lock>(module, "Lock")
      .def("acquire",
           [](const global_lock& lock) {
             begin_wait();
             lock_request request = lock.acquire();
             const interpreter_released released;
             (void)request.get().detach();
           })
      .def("release",
           [](const global_lock& lock) {
             session::check_running();
             lock.release();
           })
      .def("home",
           [](const global_lock& lock) {
             session::check_running();
             return lock.home();
           })
      .def("free", [](const global_lock& lock) {
        begin_wait();
        future<void> done = lock.free();
        wait_for(done);
      });
  module.def("make_lock", [] {
    session::check_running();
    return global_lock::made_by_all();
  });
}

void bind_job(nb::module_& module) {
  const auto on_pe = [](auto f) {
    return [f] {
      session::check_running();
      return f();
    };
  };
  module.def("start", [](std::vector<std::string> arguments) {
    session::start(arguments);
    return arguments;
  });
  module.def("is_running", &session::is_running);
  module.def("end", [](int status) {
    const int status_of_job = session::end(status);
    if (session::has_ended()) transfer::finish_dropped();
    return status_of_job;
  });
  module.def("request_stop", [](int status) {
    session::check_running();
    tri::exit(status);
  });
  module.def("fail", [](const std::string& message) {
    session::check_running();
    tri::fail(message);
  });
  module.def("pe", on_pe([] { return this_pe(); }));
  module.def("pe_count", on_pe([] { return pe_count(); }));
  module.def("host", on_pe([] { return sched::this_pe().job().host(); }));
  module.def("host_count", on_pe([] { return sched::this_pe().job().hosts(); }));
  module.def("host_of", [](int pe) {
    session::check_running();
    if (pe < 0 || pe >= pe_count()) throw nb::index_error(("there is no PE " + std::to_string(pe)).c_str());
    return sched::this_pe().job().host_of(pe);
  });
  module.def("fence", [] {
    begin_wait();
    future<void> done = fence();
    wait_for(done);
  });
  module.def("barrier", [] {
    begin_wait();
    future<void> done = barrier();
    wait_for(done);
  });
  module.def("progress", on_pe([] { progress(); }));
  module.def("allreduce", [](const std::string& kind, const std::string& operation, const nb::bytes& value) {
    begin_wait();
    const std::string reduced = allreduce(kind, operation, std::string(value.c_str(), value.size()));
    return nb::bytes(reduced.data(), reduced.size());
  });
  module.def("broadcast", [](const nb::bytes& value, int root) {
    begin_wait();
    const std::string come = broadcast(std::string(value.c_str(), value.size()), root);
    return nb::bytes(come.data(), come.size());
  });
  module.def("allgather", [](const nb::bytes& value) {
    begin_wait();
    nb::list all;
    for (const std::string& one : allgather(std::string(value.c_str(), value.size())))
      all.append(nb::bytes(one.data(), one.size()));
    return all;
  });
}

// What C++ throws and nanobind does not know: the job was stopped, its memory is used up, or a file is not as it must
// be.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const sched::stop_unwinding&) {
    PyErr_SetObject(PyExc_SystemExit, nb::int_(session::status_of_stop()).ptr());
  } catch (const arena::arena_exhausted& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const file_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  }
}

}  // namespace
}  // namespace tri::python

NB_MODULE(_trireme, module) {
  nb::register_exception_translator(&tri::python::translate);
  tri::python::bind_job(module);
  tri::python::bind_arrays(module);
  tri::python::bind_files(module);
  tri::python::bind_locks(module);
}
