// Decisions by name while they wait. A server that was started anew may number its tags otherwise;
// a click that is sent late must still mean what it meant when it was made.

const placeOf = (list, name, hint) => (list[hint] === name ? hint : list.indexOf(name));

/** Remember what entries ({i, t} or {i, tag}) mean in this collection. */
export function named(entries, { images, tags }) {
  return entries.map(({ i, t, tag }) => ({
    i,
    t,
    image: images[i],
    tag: tag ?? tags[t],
    isTyped: tag !== undefined,
  }));
}

/** The same entries as another collection numbers them; what it does not have is left out. */
export function numbered(entries, { images, tags }) {
  const found = [];
  for (const { i, t, image, tag, isTyped } of entries) {
    const at = placeOf(images, image, i);
    const of = placeOf(tags, tag, t);
    if (at < 0) continue;
    if (isTyped || of < 0) found.push({ i: at, tag });
    else found.push({ i: at, t: of });
  }
  return found;
}
