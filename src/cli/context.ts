import type { Config } from '../config.ts'

/** What a command gets from the outside. */
export interface Context {
  /** Reads and checks the settings; commands that need none never call it. */
  config(overrides?: Readonly<Record<string, string | undefined>>): Config
  readonly environment: Readonly<Record<string, string | undefined>>
  say(text: string): void
  warn(text: string): void
  /** The command ends with exit code 1, without an exception: it has said itself what is wrong. */
  fail(): void
}
