import { Command, CommanderError } from 'commander'
import { ConfigError, readConfig } from '../config.ts'
import { TidemarkError } from '../errors.ts'
import { NewerStoreError } from '../storage/sql/migrate.ts'
import { adminToken } from './admin-token.ts'
import { app } from './app.ts'
import { apply } from './apply.ts'
import { collector } from './collector.ts'
import type { Context } from './context.ts'
import { cursorKey } from './cursor-key.ts'
import { doctor } from './doctor.ts'
import { importCommand } from './import.ts'
import { key } from './key.ts'
import { migrate } from './migrate.ts'
import { openapi } from './openapi.ts'
import { serve } from './serve.ts'
import { start } from './start.ts'

/** Exit codes: 0 done, 1 failed, 2 the command, its arguments or a setting were wrong. */
const failed = 1
const misused = 2

const commands = [
  serve,
  start,
  migrate,
  apply,
  importCommand,
  app,
  key,
  collector,
  adminToken,
  cursorKey,
  doctor,
  openapi,
]

export async function runCommandLine(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  let code = 0
  const program = new Command('tidemark')
    .description('A self-hosted content data service. Settings are environment variables; `serve --help` lists them.')
    .exitOverride()
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError('(tidemark --help lists the commands)')
  const context: Context = {
    config: (overrides = {}) => readConfig(environment, overrides),
    say: (text) => process.stdout.write(`${text}\n`),
    warn: (text) => process.stderr.write(`${text}\n`),
    fail: () => {
      code = failed
    },
  }
  for (const add of commands) add(program, context)
  try {
    await program.parseAsync(argv as string[], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : misused
    if (error instanceof ConfigError || error instanceof NewerStoreError) {
      context.warn(`tidemark: ${error.message.replaceAll('\n', '\ntidemark: ')}`)
      return misused
    }
    if (error instanceof TidemarkError) {
      context.warn(`tidemark: ${error.message}`)
      return failed
    }
    context.warn(`tidemark: ${plain(error)}`)
    return failed
  }
}

/** A sentence, not a stack: what the operator can act on. */
function plain(error: unknown): string {
  const known = error as NodeJS.ErrnoException
  if (known.code === 'EADDRINUSE')
    return 'the port is taken: set TIDEMARK_PORT to another one, or to 0 for any free one'
  if (known.code === 'EACCES' || known.code === 'EROFS') return `no permission: ${known.message}`
  return known.message ?? String(error)
}
