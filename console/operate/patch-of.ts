type Json = Readonly<Record<string, unknown>>

/** A merge patch that leads from one to the other: what is gone is set to null. */
export function patchOf(before: Json, after: Json): Json {
  const isObject = (value: unknown): value is Json =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  return Object.fromEntries([
    ...gone.map((name) => [name, null]),
    ...Object.entries(after).map(([name, value]) => {
      const was = before[name]
      return [name, isObject(value) && isObject(was) ? patchOf(was, value) : value]
    }),
  ])
}
