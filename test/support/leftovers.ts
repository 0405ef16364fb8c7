/**
 * What test files leave behind for others to clear away: processes, folders. It is done when a file has ended, or the
 * whole process where nothing ends files one by one.
 */
const clearings = new Set<() => void>()

export function clearAtEnd(clear: () => void): void {
  clearings.add(clear)
}

export function clearLeftovers(): void {
  for (const clear of clearings) clear()
}
process.on('exit', clearLeftovers)
