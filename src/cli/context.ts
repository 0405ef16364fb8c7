import type { Config } from '../settings/config.ts'

/** The environment of a command. */
export interface Context {
  /** Reads and checks the settings. Commands without settings do not call it. */
  config(overrides?: Readonly<Record<string, string | undefined>>): Config
  readonly environment: Readonly<Record<string, string | undefined>>
  say(text: string): void
  warn(text: string): void
  /** Ends the command with exit code 1 and no exception, after it has reported the error itself. */
  fail(): void
}
