import pytest

from tagloom.errors import MissingExtraError, TagloomError, import_extra


def test_an_optional_dependency_is_imported():
    assert import_extra("json", purpose="Reading").loads("[1]") == [1]


def test_a_missing_dependency_names_the_extra():
    message = (
        "Drawing figures needs no_such_library, which is not installed. "
        r"Install it with: pip install 'tagloom\[figures\]'"
    )
    with pytest.raises(MissingExtraError, match=message) as caught:
        import_extra("no_such_library", purpose="Drawing figures", extra="figures")
    assert isinstance(caught.value, TagloomError)
    assert isinstance(caught.value, ImportError)
