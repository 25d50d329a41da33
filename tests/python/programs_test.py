"""Whole Python programs under the launcher: how they begin and end, and what users see of their faults.

Run by ctest with the interpreter that the package was built for: --trireme COMMAND [unittest's arguments].
"""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

TRIREME = ""


def run(program, *arguments, processes=2, options=(), launched=True):
    """Its exit status, output and errors."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(textwrap.dedent(program), encoding="utf-8")
        launcher = [TRIREME, "run", "-n", str(processes), *options] if launched else []
        # Lines of several processes are whole when each is written at once.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run([*launcher, sys.executable, script, *arguments], capture_output=True, text=True,
                              timeout=120, env=environment)
        return done.returncode, done.stdout, done.stderr


class Beginning(unittest.TestCase):
    maxDiff = None

    def test_without_a_launcher_there_is_one_pe(self):
        done = run("import trireme; print(trireme.pe(), trireme.pe_count())", launched=False)
        self.assertEqual(done, (0, "0 1\n", ""))

    def test_the_first_call_starts(self):
        status, output, errors = run("""
            import trireme
            print(trireme.is_running())
            a = trireme.global_array(4)
            print(trireme.is_running())
            """)
        self.assertEqual((status, sorted(output.split()), errors), (0, ["False", "False", "True", "True"], ""))

    def test_an_import_alone_joins_no_job(self):
        self.assertEqual(run("import trireme"), (0, "", ""))

    def test_options_of_the_runtime_are_removed(self):
        status, output, errors = run("""
            import sys, trireme
            trireme.start()
            if trireme.pe() == 0: print(sys.argv[1:], trireme.host_count())
            """, "--tri-hosts=2", "data.txt", "-n", "5")
        self.assertEqual((status, output, errors), (0, "['data.txt', '-n', '5'] 2\n", ""))

    def test_a_wrong_option_is_an_error_of_start(self):
        status, output, errors = run("""
            import trireme
            try:
                trireme.start()
            except RuntimeError as error:
                print(error)
            """, "--tri-hots=2", launched=False)
        self.assertEqual((status, output), (0, "trireme could not join its job: the reason is in the line above, on "
                                               "stderr\n"))
        self.assertIn("hots", errors)

    def test_more_pes_than_processes_are_refused(self):
        status, _, errors = run("import trireme; trireme.pe()", options=["--pes", "2"])
        self.assertNotEqual(status, 0)
        self.assertIn("a Python program has one PE in each process, but --pes (or TRIREME_PES) asks for 2", errors)

    def test_other_threads_do_not_start(self):
        status, output, _ = run("""
            import threading, trireme
            def use():
                try:
                    trireme.start()
                except RuntimeError as error:
                    print(error)
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
            print(trireme.pe_count())
            """, launched=False)
        self.assertEqual((status, output.splitlines()),
                         (0, ["trireme is started by the main thread of the interpreter, which ends it, too", "1"]))


class End(unittest.TestCase):
    maxDiff = None

    def test_pes_wait_for_each_other_at_the_end(self):
        status, output, errors = run("""
            import trireme
            a = trireme.global_array(3, "i8", tiles=1)
            trireme.barrier()
            if trireme.pe() != 0:  # PE 0 has come to its end
                for _ in range(100): a.fetch_add(0, 1)
            if trireme.pe() == 2: print(a[1], "served")
            """, processes=3, options=["--tri-hosts=3"])
        self.assertEqual((status, output, errors), (0, "0 served\n", ""))

    def test_an_exception_on_one_pe_ends_the_job(self):
        status, _, errors = run("""
            import trireme
            if trireme.pe() == 1: raise KeyError("gone")
            trireme.barrier()
            """)
        self.assertEqual(status, 1)
        self.assertIn("Traceback", errors)
        self.assertIn("PE 1 ends with an exception: KeyError: 'gone'", errors)

    def test_what_was_printed_before_a_fault_is_shown(self):
        _, output, _ = run("""
            import trireme
            if trireme.pe() == 0:
                print("before")
                trireme.fail("no way on")
            trireme.barrier()
            """)
        self.assertEqual(output, "before\n")

    def test_fail_says_why(self):
        status, _, errors = run("""
            import trireme
            if trireme.pe() == 0: trireme.fail("no way on")
            trireme.barrier()
            """)
        self.assertEqual(status, 1)
        self.assertIn("no way on", errors)

    def test_exit_ends_those_that_wait(self):
        for pe in (0, 1):
            status, output, _ = run(f"""
                import trireme
                try:
                    if trireme.pe() == {pe}: trireme.exit(3)
                    trireme.barrier()
                finally:
                    print("unwound")
                print("never")
                """)
            self.assertEqual((status, output), (3, "unwound\n" * 2))

    def test_arrays_live_while_a_stop_unwinds(self):
        for options in ([], ["--tri-hosts=2"]):
            for pe in (0, 1):
                status, output, errors = run(f"""
                    import trireme
                    a = trireme.global_array(1000 * trireme.pe_count(), "i8", tiles=1000)
                    view = a.own_tiles()[0].array
                    view[...] = trireme.pe() + 1
                    trireme.barrier()
                    try:
                        if trireme.pe() == {pe}: trireme.exit(3)
                        trireme.barrier()
                    finally:
                        print(trireme.pe(), view.sum(), a[1000 * trireme.pe()], trireme.is_running())
                    """, options=options)
                self.assertEqual((status, sorted(output.splitlines()), errors),
                                 (3, ["0 1000 1 True", "1 2000 2 True"], ""))

    def test_a_stop_ends_each_call_that_waits(self):
        for pe in (0, 1):
            status, output, errors = run(f"""
                import trireme
                a = trireme.global_array(2000, "i8", tiles=1000)
                trireme.barrier()
                if trireme.pe() == {pe}: trireme.exit(3)
                transfer = a.get(...)  # of which no answer may come, so that it never ends
                for _ in range(2):
                    try:
                        trireme.barrier()
                    except SystemExit as end:
                        print(end.code)
                try:
                    transfer.wait()
                except SystemExit:
                    try:
                        transfer.wait()
                        print("has ended without its elements")
                    except SystemExit:
                        pass
                """, options=["--tri-hosts=2"])
            self.assertEqual((status, output, errors), (3, "3\n3\n", ""))

    def test_an_exception_after_a_stop_ends_the_job(self):
        status, _, errors = run("""
            import trireme
            trireme.barrier()
            try:
                if trireme.pe() == 1: trireme.exit(0)
                trireme.barrier()
            finally:
                if trireme.pe() == 0: raise OSError("the disk is full")
            """)
        self.assertEqual(status, 1)
        self.assertIn("PE 0 ends with an exception: OSError: the disk is full", errors)

    def test_sys_exit_gives_the_status(self):
        status, _, _ = run("""
            import sys, trireme
            trireme.barrier()
            sys.exit(5)
            """)
        self.assertEqual(status, 5)

    def test_arrays_and_views_may_be_left(self):
        status, output, errors = run("""
            import trireme
            a = trireme.global_array((100, 100))
            views = [tile.array for tile in a.own_tiles()]
            half = [view[1:] for view in views]
            transfer = a.get(...)
            trireme.barrier()
            """, options=["--tri-hosts=2"])
        self.assertEqual((status, output, errors), (0, "", ""))

    def test_calls_after_the_end_are_refused(self):
        status, output, _ = run("""
            import atexit, trireme

            def late():  # runs after what was registered later
                for call in (lambda: a[0], lambda: a[1:], trireme.pe, trireme.barrier, a.own_tiles, lambda: tile.array,
                             lambda: trireme.global_array(3)):
                    try:
                        call()
                        print("done")
                    except (RuntimeError, BufferError) as error:
                        print(error)

            atexit.register(late)
            a = trireme.global_array(4)
            tile = a.own_tiles()[0]
            """, launched=False)
        lines = output.splitlines()
        self.assertEqual((status, len(lines)), (0, 7))
        for line in lines:
            self.assertIn("trireme has ended in this process", line)

    def test_children_made_by_fork_leave_the_job_alone(self):
        status, output, errors = run("""
            import os, sys, trireme
            trireme.barrier()
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                sys.exit(0)
            os.waitpid(child, 0)
            trireme.barrier()
            if trireme.pe() == 0: print("both")
            """)
        self.assertEqual((status, output), (0, "both\n"), errors)

    def test_children_made_by_fork_leave_transfers_alone(self):
        status, output, errors = run("""
            import os, sys, trireme
            a = trireme.global_array(2000, "i8", tiles=1000)
            a.fill(trireme.pe() + 1)
            trireme.barrier()
            transfers = [a.get(...), a.get(...)]
            child = os.fork()
            if child == 0:
                transfers.pop()
                sys.exit(0)
            status = os.waitpid(child, 0)[1]
            print(status, transfers[0].wait().sum(), transfers[1].wait().sum())
            """, options=["--tri-hosts=2"])
        self.assertEqual((status, output, errors), (0, "0 3000 3000\n" * 2, ""))

    def test_pools_of_processes_work_beside_it(self):
        for method in ("spawn", "fork"):
            status, output, errors = run(f"""
                import multiprocessing, trireme
                def square(x): return x * x
                if __name__ == "__main__":
                    trireme.barrier()
                    with multiprocessing.get_context("{method}").Pool(2) as pool:
                        print(sum(pool.map(square, range(10))))
                    trireme.barrier()
                """)
            self.assertEqual((status, output.split()), (0, ["285", "285"]), errors)

    def test_one_that_never_comes_is_reported(self):
        status, _, errors = run("""
            import trireme
            trireme.pe()
            if trireme.pe() == 0: trireme.barrier()
            """, options=["--tri-stall-report-s=1"])
        self.assertEqual(status, 1)
        self.assertIn("waits for a result that cannot come", errors)


if __name__ == "__main__":
    where = sys.argv.index("--trireme")
    TRIREME = sys.argv[where + 1]
    del sys.argv[where:where + 2]
    unittest.main()
