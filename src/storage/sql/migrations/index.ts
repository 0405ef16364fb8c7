import { access } from './0001-access.ts'
import type { Migration } from './migration.ts'

export const migrations: readonly Migration[] = [access]
