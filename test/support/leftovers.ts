/**
 * Functions that remove what test files leave behind, such as processes and folders. They run at the end of a file, or
 * of the whole process if nothing ends files one by one.
 */
const clearings = new Set<() => void>()

export function clearAtEnd(clear: () => void): void {
  clearings.add(clear)
}

export function clearLeftovers(): void {
  for (const clear of clearings) clear()
}
process.on('exit', clearLeftovers)
