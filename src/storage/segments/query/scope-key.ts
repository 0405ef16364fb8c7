import type { Scope } from '../../../access/scope.ts'

const keys = new WeakMap<Scope, string>()

/** The same for scopes that open the same. A search asks for its own several times, and it may list hundreds of datasets. */
export function scopeKey(scope: Scope): string {
  let key = keys.get(scope)
  if (key === undefined) {
    key = JSON.stringify(scope)
    keys.set(scope, key)
  }
  return key
}
