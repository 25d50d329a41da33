"""All processes of the job run the same tests in the same order, as they would run a script. The first that fails ends
the job: the other processes would wait for that one in vain.
"""

import os

import numpy
import pytest
import trireme

_status = 0


def pytest_configure():
    trireme.start(["pytest"])
    assert trireme.pe_count() == int(os.environ["EXPECTED_PES"])
    assert trireme.host_count() == int(os.environ.get("TRIREME_HOSTS", "1"))


def pytest_sessionfinish(exitstatus):
    global _status
    _status = int(exitstatus)


def pytest_unconfigure():
    if _status != 0 and trireme.is_running():
        trireme.fail(f"tests failed on PE {trireme.pe()}")


@pytest.fixture
def random():
    """The same numbers on all PEs."""
    return numpy.random.default_rng(1)


@pytest.fixture(autouse=True)
def together():
    yield
    trireme.barrier()
