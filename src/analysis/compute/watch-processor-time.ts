import { readFileSync } from 'node:fs'

/** The time is checked in parts, so that a pause of the whole machine counts as one part at most. */
const parts = 4

/**
 * Calls `onIdle` when a process that should be working has used no CPU at all for `idleMaxMs`, because it is stopped or
 * waits forever. A process that is merely starved gets a little every minute. Returns a function that ends the watch.
 * Does nothing on systems without /proc.
 */
export function watchProcessorTime(
  pid: number | undefined,
  { idleMaxMs, isExpected, onIdle }: { idleMaxMs: number; isExpected: () => boolean; onIdle: () => void },
): () => void {
  let last = ticksOf(pid)
  let idleChecks = 0
  const timer = setInterval(() => {
    const now = ticksOf(pid)
    if (now === null || now !== last || !isExpected()) idleChecks = 0
    else if (++idleChecks === parts) onIdle()
    last = now
  }, idleMaxMs / parts).unref()
  return () => clearInterval(timer)
}

/** Returns the user and system time of all its threads, in the ticks of Linux; null if unknown. */
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
