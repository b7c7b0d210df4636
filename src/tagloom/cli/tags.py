"""`tagloom tags`."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.complete import AsJson, TagFormat
from tagloom.cli.console import ConfigFile, echo, shown
from tagloom.errors import InvalidInputError

if TYPE_CHECKING:
    from tagloom.formats import Annotations
    from tagloom.words import TagLink, TagLinks, Vocabulary


def tags(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Files or folders with tags, in any format, or the folder of a run."),
    ],
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Vocabulary file (TOML), which decisions are written to."),
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(metavar="INTO=TAG", help="Make TAG another name of INTO; may be repeated."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="NEW=TAG", help="Give TAG a new name; may be repeated."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Do not learn TAG; may be repeated."),
    ] = None,
    learn: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Learn TAG after all; may be repeated."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Ignore all tags but these; may be repeated."),
    ] = None,
    photos: Annotated[
        Path | None, typer.Option(help="Folder of the pictures, for formats that need it.")
    ] = None,
    tag_format: TagFormat = None,
    to_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """List tags: how often each is used, what it means and implies, and which may be one.

    Decisions (--merge, --rename, --ignore, --learn, --only) go into the vocabulary file, which
    `tagloom complete --vocabulary` obeys. Files with tags are never changed.
    """
    from tagloom.completion.inputs import under_vocabulary
    from tagloom.words import Vocabulary, read_vocabulary, write_vocabulary

    decides = any((merge, rename, ignore, learn, only))
    if decides and vocabulary is None:
        raise typer.BadParameter(
            "is needed: it names the file that decisions are written to", param_hint="--vocabulary"
        )
    given = _read(sources, photos, tag_format)
    if vocabulary is None:
        decided = _of_run(sources)
    else:
        is_new = decides and not vocabulary.exists()
        decided = Vocabulary() if is_new else read_vocabulary(vocabulary)
    names = [*given.tags, *decided.entries, *decided.aliases]
    for into, tag in _pairs(merge, "--merge"):
        decided = decided.merge([_known(tag, names)], into=into)
    for new, tag in _pairs(rename, "--rename"):
        decided = decided.rename(_known(tag, names), new)
    decided = _choose(decided, names, ignore or (), learn or (), only or ())
    if decides and vocabulary is not None:
        write_vocabulary(vocabulary, decided)
    merged = under_vocabulary(given, decided)
    links, counts = _linked(merged, decided, sources)
    written = str(vocabulary) if decides else None
    metadata = _metadata(links, counts, decided, len(merged.images), written)
    echo(metadata, _lines(links, counts, decided, len(merged.images), written), to_json=to_json)


def _read(sources: Iterable[Path], photos: Path | None, tag_format: str | None) -> "Annotations":
    """Return the annotations of people in all sources together."""
    from tagloom.completion.export import finished_tags
    from tagloom.completion.folder import RECORD
    from tagloom.formats import AnnotationBuilder, read_tags

    builder = AnnotationBuilder()
    for source in sources:
        if (source / RECORD).is_file():
            found = finished_tags(source)
        else:
            found = read_tags(source, pictures=photos, format=tag_format).annotations
        builder.images |= dict.fromkeys(found.images)
        builder.tags |= dict.fromkeys(found.tags)
        for one in found.without_suggestions():
            builder.add(one, str(source))
    return builder.annotations()


def _of_run(sources: list[Path]) -> "Vocabulary":
    """Return the vocabulary that a run was given; an empty one for other sources."""
    from tagloom.completion.folder import RECORD
    from tagloom.completion.outputs import read_record
    from tagloom.words import Vocabulary

    if len(sources) > 1 or not (sources[0] / RECORD).is_file():
        return Vocabulary()
    return Vocabulary.of(read_record(sources[0]).get("options", {}).get("vocabulary", {}))


def _linked(
    annotations: "Annotations", vocabulary: "Vocabulary", sources: list[Path]
) -> "tuple[TagLinks, dict[str, int]]":
    """Return the links and frequencies of all tags; the pictures of a run help to choose senses."""
    from tagloom.completion.folder import RECORD
    from tagloom.completion.model import CompletionModel
    from tagloom.completion.outputs import MODEL
    from tagloom.vision import imagenet_classes
    from tagloom.words import link_tags

    tags = annotations.tags
    if len(sources) == 1 and (sources[0] / RECORD).is_file():
        seen = CompletionModel.load(sources[0] / MODEL).tagger.training_set_.features
        labels = annotations.to_labels(seen.items)
        links = link_tags(
            tags, seen.concepts, vocabulary=vocabulary, labels=labels, posteriors=seen.posteriors
        )
    else:
        labels = annotations.to_labels(annotations.images)
        links = link_tags(tags, imagenet_classes(), vocabulary=vocabulary, labels=labels)
    return links, dict(zip(tags, labels.counts().present.tolist(), strict=True))


def _pairs(given: list[str] | None, flag: str) -> list[tuple[str, str]]:
    pairs = [one.partition("=")[::2] for one in given or ()]
    for text, (first, second) in zip(given or (), pairs, strict=True):
        if not first.strip() or not second.strip():
            raise typer.BadParameter(
                f"must be two names joined by =, such as airplane=plane; got {text!r}",
                param_hint=flag,
            )
    return pairs


def _known(tag: str, names: Iterable[str]) -> str:
    """Require the name of a tag."""
    all_names = set(names)
    if tag not in all_names:
        near = get_close_matches(tag, sorted(all_names), n=3)
        hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise InvalidInputError(f"There is no tag {tag!r} in the files.{hint}")
    return tag


def _choose(
    vocabulary: "Vocabulary",
    names: list[str],
    ignore: Iterable[str],
    learn: Iterable[str],
    only: Iterable[str],
) -> "Vocabulary":
    """Return the vocabulary with the tags that are to be learned and ignored."""
    kept = {vocabulary.resolve(_known(tag, names)) for tag in only}
    if kept:
        every = dict.fromkeys(vocabulary.resolve(name) for name in names)
        vocabulary = vocabulary.ignore(tag for tag in every if tag not in kept)
        vocabulary = vocabulary.ignore(
            [tag for tag in every if tag in kept and vocabulary.is_ignored(tag)], ignore=False
        )
    vocabulary = vocabulary.ignore(_known(tag, names) for tag in ignore)
    return vocabulary.ignore((_known(tag, names) for tag in learn), ignore=False)


def _metadata(
    links: "TagLinks",
    counts: dict[str, int],
    vocabulary: "Vocabulary",
    n_pictures: int,
    written: str | None,
) -> dict[str, Any]:
    implied: dict[str, list[str]] = {tag: [] for tag in links.tags}
    for one in links.implications:
        implied[one.narrow].append(one.broad)
    return {
        "pictures": n_pictures,
        "tags": [
            {
                "tag": link.tag,
                "pictures": counts[link.tag],
                "aliases": list(vocabulary.entry(link.tag).aliases),
                "ignored": vocabulary.is_ignored(link.tag),
                "wordnet": list(link.synsets),
                "concepts": [links.concepts[column] for column in link.concepts],
                "implies": implied[link.tag],
                "how": link.how,
            }
            for link in _by_frequency(links, counts)
        ],
        "may_be_one": [{"tags": list(one.tags), "why": one.why} for one in links.merges],
        "written": written,
    }


def _lines(
    links: "TagLinks",
    counts: dict[str, int],
    vocabulary: "Vocabulary",
    n_pictures: int,
    written: str | None,
) -> list[str]:
    n_linked = sum(bool(link.concepts) for link in links.links)
    lines = [
        f"{len(links.tags):,} tags on {n_pictures:,} pictures; {n_linked:,} are linked to concepts",
    ]
    width = max(map(len, map(shown, links.tags)), default=0)
    for link in _by_frequency(links, counts):
        aliases = vocabulary.entry(link.tag).aliases
        also = f"; also called {', '.join(map(shown, aliases))}" if aliases else ""
        implies = f"; implies {', '.join(map(shown, link.parents))}" if link.parents else ""
        lines.append(
            f"{counts[link.tag]:>9,}  {shown(link.tag):{width}}  {link.how}{implies}{also}"
        )
    if links.merges:
        lines.append("may be one (join them with --merge INTO=TAG):")
        lines += [f"    {', '.join(map(shown, one.tags))}: {one.why}" for one in links.merges]
    return [*lines, f"written to {shown(written)}"] if written else lines


def _by_frequency(links: "TagLinks", counts: dict[str, int]) -> "list[TagLink]":
    return sorted(links.links, key=lambda link: (-counts[link.tag], link.tag))
