export function vectorPace(waiting: number, perSecond: number): string {
  return `${waiting} left at ${formatRate(perSecond)} per second, about ${formatDuration(waiting / perSecond)}`
}

export function formatDuration(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

/** A small rate has two digits, a large one is a whole number: 0.31, 3.1, 310. */
export const formatRate = (perSecond: number): string =>
  perSecond < 10 ? perSecond.toPrecision(2) : Math.round(perSecond).toString()
