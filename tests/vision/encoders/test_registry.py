import numpy as np
import pytest

from tagloom.errors import InvalidInputError
from tagloom.vision import CombinedEncoders, Features, Framing, decode, load_encoder
from tagloom.vision.encoders import registry
from tagloom.vision.encoders.base import PretrainedEncoder, fingerprint
from tagloom.vision.encoders.registry import pretrained_view, rebuild_encoder, resolve_encoder


class Grey(PretrainedEncoder):
    """Stands for an encoder that is added later."""

    family = "grey"
    variants = ("grey4", "grey8")
    width = 1
    concepts = ("bright",)

    def __init__(self, variant, *, view="centre"):
        super().__init__(variant, view=view)
        self.framing = Framing(int(variant[-1]), view=view)
        self.side_needed = self.framing.size
        self.identity = fingerprint({"grey": variant, "view": view})

    def encode(self, prepared):
        mean = np.float32([prepared.mean() / 255])
        return mean, mean


@pytest.fixture
def grey(monkeypatch):
    monkeypatch.setattr(registry, "PRETRAINED", (*registry.PRETRAINED, Grey))


def test_names_become_encoders():
    assert load_encoder(["lite0"]).name == "efficientnet-lite0"
    both = load_encoder(["lite0", "lite1"])
    assert both.width == 4 * 1280
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


@pytest.mark.usefixtures("grey")
def test_a_new_family_is_loaded_by_name_and_rebuilt_from_metadata(make_toy):
    encoder = load_encoder(["grey8"], view="whole")
    assert (encoder.name, encoder.framing.size) == ("grey-grey8", 8)
    assert rebuild_encoder(encoder.metadata()).identity == encoder.identity
    both = CombinedEncoders([encoder, load_encoder(["grey4"])], visual="all")
    assert rebuild_encoder(both.metadata()).identity == both.identity
    with pytest.raises(InvalidInputError, match="Available: lite0, lite1, lite2, grey4, grey8"):
        load_encoder(["grey2"])
    with pytest.raises(InvalidInputError, match="Available: grey4, grey8"):
        Grey("grey2")


@pytest.mark.usefixtures("grey")
def test_both_views_are_joined_by_default(picture_bytes):
    both = load_encoder(["grey8"])
    whole, centre = (load_encoder(["grey8"], view=view) for view in ("whole", "centre"))
    assert [one.identity for one in both.members] == [whole.identity, centre.identity]
    assert (both.name, both.width, both.concepts) == ("grey-grey8", 2, ("bright",))
    picture = decode(picture_bytes(size=(60, 20)))
    seen = [one.encode(one.prepare(picture))[0] for one in (whole, centre)]
    assert seen[0] != seen[1]
    visual, posteriors = both.encode(both.prepare(picture))
    np.testing.assert_array_equal(visual, np.concatenate(seen))
    np.testing.assert_allclose(posteriors, np.mean(seen, axis=0))
    alone = [Features(["a"], one[None], one[None], ["bright"]) for one in seen]
    joined = both.join(alone)
    np.testing.assert_array_equal(joined.visual[0], visual)
    np.testing.assert_array_equal(joined.posteriors[0], posteriors)
    # Joining leaves the features of the views as they were.
    np.testing.assert_array_equal(alone[0].posteriors[0], seen[0])


@pytest.mark.usefixtures("grey")
@pytest.mark.parametrize("view", ["both", "centre", "whole"])
def test_a_saved_model_finds_its_view_again(make_toy, view):
    encoder = load_encoder(["grey8"], view=view)
    assert encoder.metadata()["view"] == view
    assert rebuild_encoder(encoder.metadata()).identity == encoder.identity
    assert pretrained_view(encoder.metadata()) == view
    beside = CombinedEncoders([make_toy(), encoder])
    assert pretrained_view(beside.metadata()) == view


@pytest.mark.usefixtures("grey")
def test_the_encoder_must_be_the_one_of_the_earlier_pictures(make_toy):
    toy, metadata = make_toy(), Grey("grey4").metadata()
    assert resolve_encoder(None, None) is None
    assert resolve_encoder(toy, None) is toy
    assert resolve_encoder(toy, toy.metadata()) is toy
    assert resolve_encoder(None, metadata).identity == metadata["identity"]
    with pytest.raises(InvalidInputError, match=r"encoded by grey-grey4 .* gives other numbers"):
        resolve_encoder(toy, metadata)
