export interface Usage {
  readonly application_id: string
  readonly day: string
  readonly operation: string
  readonly used: number
}

/** Returns the number of requests on each day of the range, including days without any. */
export function byDay(
  usage: readonly Usage[],
  from: string,
  to: string,
): readonly (readonly [day: string, used: number])[] {
  const days = new Map<string, number>()
  const end = Date.parse(`${to}T00:00:00Z`)
  for (let at = Date.parse(`${from}T00:00:00Z`); at <= end; at += 86_400_000) {
    days.set(new Date(at).toISOString().slice(0, 10), 0)
  }
  for (const { day, used } of usage) if (days.has(day)) days.set(day, days.get(day)! + used)
  return [...days]
}

/** Returns the requests of each application over all days, the highest number first. */
export function usageByApplication(usage: readonly Usage[]): readonly {
  readonly applicationId: string
  readonly requests: number
  readonly operations: readonly (readonly [operation: string, used: number])[]
}[] {
  return [...Map.groupBy(usage, (one) => one.application_id)]
    .map(([applicationId, own]) => {
      const operations = [...Map.groupBy(own, (one) => one.operation)]
        .map(([operation, lines]) => [operation, lines.reduce((sum, { used }) => sum + used, 0)] as const)
        .sort(([, a], [, b]) => b - a)
      return { applicationId, requests: operations.reduce((sum, [, used]) => sum + used, 0), operations }
    })
    .sort((a, b) => b.requests - a.requests)
}
