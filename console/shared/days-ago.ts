/** Returns midnight of that day. By default a listing covers the last 24 hours, which may have no documents. */
export function daysAgo(days: number): string {
  const day = new Date()
  day.setUTCDate(day.getUTCDate() - days)
  return `${day.toISOString().slice(0, 10)}T00:00:00Z`
}
