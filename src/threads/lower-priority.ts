import { setPriority } from 'node:os'

/**
 * Lowers the priority of this thread; 19 is the lowest. Works only on Linux: elsewhere the call would apply to the
 * whole process.
 */
export function lowerThreadPriority(niceness: number): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(0, niceness)
  } catch {
    // Without permission it keeps its priority.
  }
}
