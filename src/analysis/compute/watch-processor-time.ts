import { readFileSync } from 'node:fs'

/** In parts, so that a pause of this whole machine is taken for no more than one of them. */
const parts = 4

/**
 * Calls back when a process of which something is expected has had no processor time at all for so long: it is stopped, or
 * waits for what never comes. One that is merely starved gets a little in every minute. Returns what ends the watch. Where
 * the system has no table of processes, it never calls.
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

/** User and system time of all its threads, as Linux counts it; null where that is not told. */
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
