import { setPriority } from 'node:os'

/**
 * Lowers the priority of this thread, to 19 at most. Only on Linux: elsewhere it would be that of the whole process.
 */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, niceness)
  } catch {
    // Without permission it keeps its priority.
  }
}
