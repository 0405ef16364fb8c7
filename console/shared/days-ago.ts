/** Returns midnight UTC of the day so many days ago. */
export function daysAgo(days: number): string {
  const day = new Date()
  day.setUTCDate(day.getUTCDate() - days)
  return `${day.toISOString().slice(0, 10)}T00:00:00Z`
}
