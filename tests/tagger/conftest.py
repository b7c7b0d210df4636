import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hinted_scenes import KNOWN, TRAIN, features_of

from tagloom.models import APGGraph
from tagloom.tagger import SemanticTagger


@pytest.fixture(scope="session")
def tagger():
    learner = APGGraph(lam=1.0, gamma=0.01, ridge=1.0)
    return SemanticTagger(learner).fit(features_of(TRAIN), KNOWN)


@pytest.fixture(scope="session")
def default():
    return SemanticTagger().fit(features_of(TRAIN), KNOWN)


@pytest.fixture(params=["tagger", "default"])
def either(request):
    return request.getfixturevalue(request.param)
