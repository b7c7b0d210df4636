"""Pictures are read where they lie in the collection, and nowhere else."""

import pytest

SECRET = b"a secret that lies outside"


@pytest.fixture(autouse=True)
def secret(home):
    (home / "secret.jpg").write_bytes(SECRET)


def test_a_link_that_leads_out_is_not_followed(page, home):
    names = page.get("/api/collection").json["images"]
    assert page.get("/thumb/5").status == 200
    picture = home / "photos" / names[5]
    outside = home / "outside.jpg"
    picture.rename(outside)
    picture.symlink_to(outside)
    for address in ("/thumb/5", "/thumb/5?size=320", "/picture/5"):
        assert page.get(address).status == 404
    assert "width" not in page.get("/api/pictures/5").json


def test_a_folder_that_was_replaced_by_a_link_is_not_followed(page, home, review):
    name = "folder/picture.jpg"
    review.collection.images[5] = name
    (home / "elsewhere").mkdir()
    (home / "elsewhere" / "picture.jpg").write_bytes(
        (home / "photos" / "scene-00001.jpg").read_bytes()
    )
    (home / "photos" / "folder").symlink_to(home / "elsewhere")
    assert page.get("/thumb/5").status == 404


def test_a_link_within_the_collection_is_followed(page, home):
    names = page.get("/api/collection").json["images"]
    picture = home / "photos" / names[5]
    picture.rename(home / "photos" / "moved.jpg")
    picture.symlink_to(home / "photos" / "moved.jpg")
    assert page.get("/picture/5").headers["content-type"] == "image/jpeg"


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "a\0b", "x/../../secret.jpg"])
def test_a_model_that_names_files_outside_gets_none(page, review, name):
    review.collection.images[5] = name
    answer = page.get("/picture/5")
    assert answer.status == 404 or b"cannot be read" in answer.content
    assert SECRET not in answer.content
