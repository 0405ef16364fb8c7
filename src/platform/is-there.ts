import { statSync } from 'node:fs'

/** Returns whether a path exists. Throws if permission is denied, because the file may exist. */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
