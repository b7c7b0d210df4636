import pytest

from tagloom.errors import InvalidInputError
from tagloom.vision import CombinedEncoders, load_encoder
from tagloom.vision.encoders.registry import rebuild_encoder


def test_names_become_encoders():
    assert load_encoder(["lite0"]).name == "efficientnet-lite0"
    both = load_encoder(["lite0", "lite1"])
    assert both.name == "efficientnet-lite0+efficientnet-lite1"
    assert len(both.concepts) == len(set(both.concepts)) == 2000
    with pytest.raises(InvalidInputError, match=r"no encoder 'vgg'\. Available: lite0"):
        load_encoder(["vgg"])


def test_combined_encoders_describe_their_members_and_need_all_of_them(make_toy):
    both = CombinedEncoders([make_toy("a"), make_toy("b")], visual="all")
    metadata = both.metadata()
    assert [member["name"] for member in metadata["members"]] == ["a", "b"]
    with pytest.raises(InvalidInputError, match="encoded by a with"):
        rebuild_encoder(metadata)
