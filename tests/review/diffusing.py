"""A search that always diffuses, so that runs on a few drawn pictures have a graph to show."""

from contextlib import contextmanager

import pytest

from tagloom.models import SemanticDiffusion
from tagloom.models.base import alternatives


@contextmanager
def diffusing_search():
    """Leave the candidates without diffusion out; on so few pictures they may well be chosen."""
    whole_grid = SemanticDiffusion.default_param_grid

    def diffusing(*args, **inputs):
        linear_part, rest = whole_grid(*args, **inputs)
        return [linear_part, alternatives(rest)[0]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SemanticDiffusion, "default_param_grid", diffusing)
        yield
