import json

import pytest

from tagloom.formats.interchange.label_studio import read_label_studio


@pytest.fixture
def saved(tmp_path):
    def save(content):
        path = tmp_path / "tasks.json"
        path.write_text(json.dumps(content))
        return path

    return save


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/data/local-files/?d=photos/IMG.jpg", "photos/IMG.jpg"),
        ("/data/local-files/?d=caf%C3%A9/a%20%26%2B.jpg", "café/a &+.jpg"),
        ("https://x.org:8080/data/local-files/?d=a.jpg&x=1", "a.jpg"),
        ("/data/upload/1/ab12cd34-name.jpg", "name.jpg"),
        ("/data/upload/ab12cd34-name.jpg", "name.jpg"),
        ("/data/upload/1/ab12cd34-ab12cd34-n.jpg", "ab12cd34-n.jpg"),
        ("/data/upload/1/abcdefgh-name.jpg", "abcdefgh-name.jpg"),
        ("http://localhost:8080/data/upload/3/AB12CD34-a%20b.jpg", "a b.jpg"),
        ("s3://bucket/in/a%20b.jpg", "in/a%20b.jpg"),
        ("gs://bucket/a.jpg", "a.jpg"),
        ("https://x.org/in/a%20b.jpg?X-Amz-Signature=1#f", "in/a b.jpg"),
        ("file:///home/me/a%20b.jpg", "/home/me/a b.jpg"),
        ("in/100%25.jpg", "in/100%25.jpg"),
        ("in\\a.jpg", "in\\a.jpg"),
        ("/home/me/a.jpg", "/home/me/a.jpg"),
    ],
)
def test_addresses_of_every_form(saved, address, name):
    reading = read_label_studio(saved([{"data": {"image": address}}]))
    assert reading.annotations.images == (name,)


@pytest.mark.parametrize(
    "address", ["data:image/png;base64,AAAA", "/data/local-files/?d=", "http://[", "s3://bucket"]
)
def test_pictures_without_a_name_are_counted(saved, address):
    reading = read_label_studio(saved([{"data": {"image": address}}]))
    assert reading.annotations.images == ()
    assert "without a name" in reading.warnings[0].what


def test_two_addresses_of_one_name_give_a_warning(saved):
    tasks = [{"data": {"image": f"s3://{bucket}/a.jpg"}} for bucket in ("x", "x", "y")]
    (warning,) = read_label_studio(saved(tasks)).warnings
    assert "another address" in warning.what
    assert "[2]" in warning.where
