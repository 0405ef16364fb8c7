interface Texts {
  readonly subjectIds: readonly string[]
  readonly documentIds: readonly string[]
}

/** Posts may all be called alike, and a long document has several parts: then more is said of each. Null where its title is its own. */
export function tellApart(
  { subjectIds, documentIds }: Texts,
  titleAt: (place: number) => string,
  factsAt: (place: number) => readonly string[],
): (place: number) => string | null {
  const alike = Map.groupBy(documentIds.keys(), titleAt)
  return (place) => {
    const [id, others] = [documentIds[place]!, alike.get(titleAt(place))!]
    if (others.length === 1) return null
    const parts = others
      .filter((other) => documentIds[other] === id)
      .sort((a, b) => (subjectIds[a]! < subjectIds[b]! ? -1 : 1))
    const isOneDocument = parts.length === others.length
    const number = parts.length === 1 ? [] : [`part ${parts.indexOf(place) + 1} of ${parts.length}`]
    return [...(isOneDocument ? [] : factsAt(place)), ...number].join(' · ')
  }
}
