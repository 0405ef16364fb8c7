import type { Store } from './sql-store.ts'

/** A store whose every call is carried out elsewhere: in a thread, or in a transaction of its own. */
export function remoteStore(
  call: (port: keyof Store, method: string, args: readonly unknown[]) => Promise<unknown>,
): Store {
  const ports = new Map<string, unknown>()
  const remotePort = (port: keyof Store): unknown =>
    new Proxy(
      {},
      {
        // A port must be able to be the result of a promise, which asks whether it is one itself.
        get: (_, method: string) =>
          method === 'then' ? undefined : (...args: readonly unknown[]) => call(port, method, args),
      },
    )
  return new Proxy({} as Store, {
    get: (_, port: keyof Store) => {
      if (!ports.has(port)) ports.set(port, remotePort(port))
      return ports.get(port)
    },
  })
}
