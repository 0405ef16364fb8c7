import { type Config, ConfigError } from '../config.ts'
import type { Context } from './context.ts'

/** The settings of an instance whose store is a file of its own; another store has tools of its own. */
export function embeddedOnly(context: Context, tool: string): Config {
  const config = context.config()
  if (config.databaseUrl !== null) {
    throw new ConfigError([
      `TIDEMARK_DATABASE_URL is set: the store is PostgreSQL, whose own tools do this; use ${tool}`,
    ])
  }
  return config
}
