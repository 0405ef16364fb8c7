/**
 * Returns an address with these parameters, without the empty ones. A list repeats its parameter for each value, so a
 * value may contain any character.
 */
export function addressOf(
  path: string,
  query: Readonly<Record<string, string | readonly string[] | undefined>>,
): string {
  const pairs = Object.entries(query).flatMap(([name, value = []]) =>
    [value].flat().flatMap((text): [string, string][] => (text === '' ? [] : [[name, text]])),
  )
  const search = new URLSearchParams(pairs).toString().replaceAll('%2C', ',').replaceAll('%3A', ':')
  return search === '' ? path : `${path}?${search}`
}
