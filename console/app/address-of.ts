/**
 * An address with these parameters; those that are empty are left out. A list has its parameter once for each value, so that
 * a value may have any character in it.
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
