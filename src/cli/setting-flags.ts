import { type Command, Option } from 'commander'
import { environmentName, settingHelp } from '../settings/config.ts'

/**
 * Adds every setting as a flag, except `--data-dir`, which every command already has. Flags override the environment.
 */
export function addSettingFlags(command: Command): Command {
  for (const { flag, environment, about, fallback } of settingHelp) {
    if (environment === 'TIDEMARK_DATA_DIR') continue
    const shown = fallback === null ? environment : `${environment}, ${fallback}`
    command.addOption(new Option(`${flag} <value>`, `${about} [${shown}]`))
  }
  return command
}

/** Returns the flags that were set, by the names of their environment variables. */
export function overridesFrom(options: Record<string, unknown>): Record<string, string> {
  const overrides: Record<string, string> = {}
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === 'string') overrides[environmentName(name)] = value
  }
  return overrides
}
