import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test times: a busy machine is no fault of the code.
settings.register_profile("tagloom", deadline=None)
settings.load_profile("tagloom")

# One worker a core runs the tests: threads of the linear algebra would only be in the way. Its
# libraries read this when they are loaded, which no import of this file does.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

DATA = Path(os.environ.get("TAGLOOM_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder():
    """The folder with research data, which is no part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"no research data at {DATA.resolve()} (set TAGLOOM_DATA to where it lies)")
    return DATA
