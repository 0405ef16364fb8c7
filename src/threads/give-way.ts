import { setPriority } from 'node:os'

/** Lets other threads go first, 19 the most. On Linux that is this thread alone; elsewhere it would be the whole process. */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, niceness)
  } catch {
    // Without the right to, it competes with the others; nothing else.
  }
}
