type Json = Readonly<Record<string, unknown>>

/** Returns the merge patch (RFC 7396) from one object to the other. Removed fields are set to null. */
export function patchOf(before: Json, after: Json): Json {
  const isObject = (value: unknown): value is Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const removed = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  return Object.fromEntries([
    ...removed.map((name) => [name, null]),
    ...Object.entries(after).map(([name, value]) => {
      const was = before[name]
      return [name, isObject(value) && isObject(was) ? patchOf(was, value) : value]
    }),
  ])
}
