import type { Store } from './sql-store.ts'
import { type NamedCall, namedCalls } from './store-calls.ts'

/** A store whose calls run elsewhere: in a thread, or each in a transaction of its own. */
export function remoteStore(perform: (call: NamedCall, args: readonly unknown[]) => Promise<unknown>): Store {
  const ports = Map.groupBy(namedCalls, ({ port }) => port)
  const methods = (calls: readonly NamedCall[]) =>
    calls.map((call) => [call.method, (...args: readonly unknown[]) => perform(call, args)] as const)
  return Object.fromEntries(
    [...ports].map(([port, calls]) => [port, Object.fromEntries(methods(calls))]),
  ) as unknown as Store
}
