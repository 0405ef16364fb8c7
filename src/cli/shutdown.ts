/** Resolves at the first signal, which requests an orderly end. The second signal ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      for (const one of ['SIGINT', 'SIGTERM'] as const) process.once(one, () => process.exit(130))
      resolve(signal)
    }
    process.once('SIGINT', onSignal)
    process.once('SIGTERM', onSignal)
  })
}

/** Does the work, then always closes. If both fail, throws the error of the work; the log has the other. */
export async function workThenClose(instance: { close(): Promise<void> }, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    await instance.close().catch(() => {})
    throw error
  }
  await instance.close()
}
