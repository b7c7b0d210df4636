import os
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

# No test times: a busy machine is no fault of the code.
settings.register_profile("tagloom", deadline=None)
settings.load_profile("tagloom")

# One worker a core runs the tests: threads of the linear algebra would only be in the way.
if "PYTEST_XDIST_WORKER" in os.environ:
    threadpool_limits(1)

DATA = Path(os.environ.get("TAGLOOM_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder():
    """The folder with research data, which is no part of the project."""
    if not DATA.is_dir():
        pytest.skip(f"no research data at {DATA.resolve()} (set TAGLOOM_DATA to where it lies)")
    return DATA
