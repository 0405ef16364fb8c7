/**
 * Functions that remove what test files leave behind, such as processes and folders. They run at the end of a file, or
 * at the end of the process if it runs a single file.
 */
const cleanups = new Set<() => void>()

export function clearAtEnd(clear: () => void): void {
  cleanups.add(clear)
}

export function clearLeftovers(): void {
  for (const clear of cleanups) clear()
}
process.on('exit', clearLeftovers)
