import { readFileSync } from 'node:fs'

/** The time is measured in parts, so that a pause of the whole machine counts as one part at most. */
const parts = 4

/**
 * Calls back when a process that should be working has used no CPU at all for this long: it is stopped, or waits
 * forever. A process that is merely starved gets a little every minute. Returns a function that ends the watch. Never
 * calls on systems without /proc.
 */
export function watchProcessorTime(
  pid: number | undefined,
  { stillMaxMs, isExpected, still }: { stillMaxMs: number; isExpected: () => boolean; still: () => void },
): () => void {
  let last = ticksOf(pid)
  let looks = 0
  const look = setInterval(() => {
    const now = ticksOf(pid)
    if (now === null || now !== last || !isExpected()) looks = 0
    else if (++looks === parts) still()
    last = now
  }, stillMaxMs / parts).unref()
  return () => clearInterval(look)
}

/** User and system time of all its threads, as Linux counts it; null if unknown. */
function ticksOf(pid: number | undefined): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything; the times are the 12th and 13th fields after it.
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ', 13)
      .slice(11)
      .join()
  } catch {
    return null
  }
}
