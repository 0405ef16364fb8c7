export interface Times {
  /** In milliseconds, ascending. */
  readonly sorted: readonly number[]
  readonly perSecond: number
}

/** Sends one request and returns the milliseconds until the last byte of the answer. */
export type TimedAsk = () => Promise<number>

/** Makes the question before the clock starts, and checks the answer after it stops. */
export function timed<Question, Answer>(
  draw: () => Question,
  ask: (question: Question) => Promise<Answer>,
  check: (answer: Answer) => void,
): TimedAsk {
  return async () => {
    const question = draw()
    const at = performance.now()
    const answer = await ask(question)
    const ms = performance.now() - at
    check(answer)
    return ms
  }
}

/**
 * Repeats requests from this many callers for this long. One caller warms up for half that time before, because code is
 * several times slower until V8 has compiled it.
 */
export async function measure(callers: number, forMs: number, ask: TimedAsk): Promise<Times> {
  for (const warmUntil = performance.now() + forMs / 2; performance.now() < warmUntil; ) await ask()
  const times: number[] = []
  const started = performance.now()
  const caller = async (): Promise<void> => {
    while (performance.now() - started < forMs) times.push(await ask())
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const perSecond = times.length / ((performance.now() - started) / 1000)
  return { sorted: times.sort((a, b) => a - b), perSecond }
}

/** One caller sends each kind in turn, so that a slow phase of the machine affects all kinds alike. */
export async function measureInTurn(asks: readonly TimedAsk[], forMs: number): Promise<Times[]> {
  const times = asks.map((): number[] => [])
  const started = performance.now()
  while (performance.now() - started < forMs * 1.5) {
    const isWarm = performance.now() - started > forMs / 2
    for (const [i, ask] of asks.entries()) {
      const ms = await ask()
      if (isWarm) times[i]!.push(ms)
    }
  }
  return times.map((some) => {
    const perSecond = (some.length * 1000) / some.reduce((sum, ms) => sum + ms, 0)
    return { sorted: some.sort((a, b) => a - b), perSecond }
  })
}

export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

export const median = (values: readonly number[]): number =>
  quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  )

export const cellHeads = `${'ms'.padEnd(43)}least     p50     p95     p99  per s`
export const cells = ({ sorted, perSecond }: Times): string =>
  // The minimum shows the time of the work itself, even on a machine with other work.
  [0, 0.5, 0.95, 0.99]
    .map((share) => quantile(sorted, share).toFixed(2).padStart(8))
    .concat(perSecond.toFixed(0).padStart(7))
    .join('')
