export function vectorPace(waiting: number, perSecond: number): string {
  return `${waiting} left at ${rounded(perSecond)} per second, about ${inWords(waiting / perSecond)}`
}

export function inWords(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}

const rounded = (perSecond: number): string =>
  perSecond < 10 ? perSecond.toPrecision(2) : Math.round(perSecond).toString()
