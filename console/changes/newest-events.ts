/** An open page keeps this many events. The feed has older ones. */
const keptMax = 10_000

/** The newest events of a feed, the newest first. */
export interface Newest<Event> {
  readonly events: readonly Event[]
  /** Whether older events were dropped. */
  readonly isCut: boolean
}

export const noEvents: Newest<never> = { events: [], isCut: false }

export function withNewer<Event>(arrived: Newest<Event>, before: Newest<Event>, max = keptMax): Newest<Event> {
  const all = [...arrived.events, ...before.events]
  return { events: all.slice(0, max), isCut: arrived.isCut || before.isCut || all.length > max }
}

export function inWordsOf({ events, isCut }: Newest<unknown>): string {
  const count = events.length.toLocaleString()
  if (isCut) return `the newest ${count} events (older ones are in the feed)`
  return `${count} event${events.length === 1 ? '' : 's'}`
}
