import type { Config } from '../settings/config.ts'

/** The settings and the output of a command. */
export interface Context {
  /** Reads and checks the settings. Commands without settings do not call it. */
  config(overrides?: Readonly<Record<string, string | undefined>>): Config
  readonly environment: Readonly<Record<string, string | undefined>>
  say(text: string): void
  warn(text: string): void
  /** Sets exit code 1, for a command that has reported the error itself. */
  fail(): void
}
