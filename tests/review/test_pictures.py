"""Thumbnails, and reading pictures inside the folder of the collection only."""

import io

import pytest
from PIL import Image

TURNED = 6


@pytest.fixture
def names(page):
    return page.get("/api/collection").json["images"]


def opened(answer):
    assert answer.headers["content-type"] == "image/jpeg"
    return Image.open(io.BytesIO(answer.content))


@pytest.mark.parametrize(("address", "size"), [("", 160), ("?size=160", 160), ("?size=320", 320)])
def test_thumbnails_fit_their_size_and_are_cached_by_the_browser(page, address, size):
    answer = page.get(f"/thumb/4{address}")
    assert max(opened(answer).size) == size
    assert answer.headers["cache-control"] == "private, no-cache"
    again = page.ask(
        "GET",
        "/thumb/4",
        query=address.strip("?"),
        headers={"If-None-Match": answer.headers["etag"]},
    )
    assert (again.status, again.content) == (304, b"")


def test_thumbnails_are_made_once_and_again_when_the_picture_changes(page, home, names):
    first = page.get("/thumb/4")
    kept = list((home / "out" / ".thumbnails").rglob("*.jpg"))
    assert [path.read_bytes() for path in kept] == [first.content]
    assert page.get("/thumb/4").content == first.content
    Image.new("RGB", (50, 400), "red").save(home / "photos" / names[4])
    changed = page.get("/thumb/4")
    assert opened(changed).size == (20, 160)
    assert changed.headers["etag"] != first.headers["etag"]


def test_the_mark_of_a_picture_follows_its_content_and_not_its_number(page, home, names):
    before = page.get("/api/collection").json["marks"]
    assert len(set(before)) == len(names)
    assert page.get(f"/thumb/4?size=160&v={before[4]}").content == page.get("/thumb/4").content
    Image.new("RGB", (50, 400), "red").save(home / "photos" / names[4])
    (home / "photos" / names[5]).unlink()
    after = page.get("/api/collection").json["marks"]
    assert after[4] not in before
    assert after[5] == ""
    assert after[6:] == before[6:]


def test_pictures_are_turned_upright(page, home, names):
    picture = Image.new("RGB", (300, 100), "blue")
    exif = picture.getexif()
    exif[0x0112] = TURNED
    picture.save(home / "photos" / names[4], exif=exif)
    assert opened(page.get("/picture/4")).size == (100, 300)
    picture_json = page.get("/api/pictures/4").json
    assert (picture_json["width"], picture_json["height"]) == (100, 300)


def test_large_pictures_are_scaled_to_the_size_of_a_screen(page, home, names):
    Image.new("RGB", (4000, 1000), "blue").save(home / "photos" / names[4])
    assert opened(page.get("/picture/4")).size == (1600, 400)


@pytest.mark.parametrize("content", [b"", b"no picture", b"\xff\xd8\xff\xe0 cut short", None])
def test_unreadable_files_have_a_placeholder(page, home, names, content):
    picture = home / "photos" / names[4]
    picture.unlink()
    if content is not None:
        picture.write_bytes(content)
    for address in ("/thumb/4", "/picture/4"):
        answer = page.get(address)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert answer.headers["cache-control"] == "no-store"
    assert "width" not in page.get("/api/pictures/4").json


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
def test_names_of_files_outside_are_refused(page, review, name):
    review.collection.images[5] = name
    answer = page.get("/picture/5")
    assert answer.status == 404 or b"cannot be read" in answer.content
    assert SECRET not in answer.content


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_in_the_cache_is_not_followed(page, home, tmp_path, linked):
    first = page.get("/thumb/4")
    (kept,) = list((home / "out" / ".thumbnails").rglob("*.jpg"))
    secret = tmp_path / "elsewhere" / kept.name
    secret.parent.mkdir()
    secret.write_bytes(b"secret")
    kept.unlink()
    if linked == "file":
        kept.symlink_to(secret)
    else:
        kept.parent.rmdir()
        kept.parent.symlink_to(secret.parent)
    assert page.get("/thumb/4").content == first.content
    assert secret.read_bytes() == b"secret"
