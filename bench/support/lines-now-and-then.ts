const everyMs = 5000

/** Says how far a long bench is, in lines that a log keeps: every five seconds, with the seconds since its beginning. */
export function linesNowAndThen(): (line: string) => void {
  const startedMs = performance.now()
  let lastMs = startedMs
  return (line) => {
    if (performance.now() - lastMs < everyMs) return
    lastMs = performance.now()
    console.log(`${((lastMs - startedMs) / 1000).toFixed(0)} s: ${line}`)
  }
}
