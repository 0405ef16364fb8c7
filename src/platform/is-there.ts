import { statSync } from 'node:fs'

/** Returns whether a path exists. Throws if this user may not look: a file that is hidden must not count as missing. */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
