/** Midnight of that day. A listing that names no time shows the last 24 hours, in which nothing may have come. */
export function daysAgo(days: number): string {
  const day = new Date()
  day.setUTCDate(day.getUTCDate() - days)
  return `${day.toISOString().slice(0, 10)}T00:00:00Z`
}
