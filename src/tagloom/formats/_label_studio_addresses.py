"""Addresses of pictures in Label Studio, and the names they stand for."""

import re
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tagloom.formats._naming import with_slashes

_LOCAL = "/data/local-files/"
_UPLOADED = re.compile(r"/data/upload/(?:\d+/)?(?:[0-9a-fA-F]{8}-)?(.+)", re.DOTALL)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


def address_of(name: str, prefix: str) -> str:
    """Return the address of a picture below the folder that Label Studio serves files from.

    >>> address_of("a b&c.jpg", "photos")
    '/data/local-files/?d=photos/a%20b%26c.jpg'
    """
    joined = f"{prefix.rstrip('/')}/{name}" if prefix else name
    return f"{_LOCAL}?d={quote(joined, safe='/')}"


def name_at(address: str) -> str | None:
    """Return the name of the picture at an address; None where it is embedded or has none.

    Addresses are percent-decoded where they are URLs, names in buckets and plain paths are not.

    >>> name_at("http://localhost:8080/data/local-files/?d=photos/IMG%201.jpg")
    'photos/IMG 1.jpg'
    >>> name_at("/data/upload/1/ab12cd34-name.jpg")
    'name.jpg'
    >>> name_at("s3://bucket/photos/100%25.jpg")
    'photos/100%25.jpg'
    """
    if address[:5].lower() == "data:":
        return None
    scheme = _SCHEME.match(address)
    name = _path_of(address, scheme[1].lower() if scheme else "")
    return with_slashes(name) or None


def _path_of(address: str, scheme: str) -> str:
    if scheme in ("", "http", "https") and f"{_LOCAL}?" in address:
        query = address.partition(f"{_LOCAL}?")[2].partition("#")[0]
        return parse_qs(query, errors="replace").get("d", [""])[0]
    if scheme == "file":
        return unquote(address.split("://", 1)[1])
    if scheme in ("http", "https"):
        return _uploaded(_path_of_url(address).lstrip("/"))
    if scheme:
        return address.split("://", 1)[1].partition("/")[2]
    return _uploaded(address)


def _path_of_url(address: str) -> str:
    try:
        return unquote(urlsplit(address).path)
    except ValueError:  # a malformed host
        return ""


def _uploaded(path: str) -> str:
    found = _UPLOADED.fullmatch(path if path.startswith("/") else f"/{path}")
    return unquote(found[1]) if found and path.lstrip("/").startswith("data/upload/") else path
