import { Command, CommanderError } from 'commander'
import { readConfig } from '../config.ts'
import { adminToken } from './admin-token.ts'
import { app } from './app.ts'
import { apply } from './apply.ts'
import { backup } from './backup.ts'
import { collect } from './collect.ts'
import { collector } from './collector.ts'
import type { Context } from './context.ts'
import { copy } from './copy.ts'
import { cursorKey } from './cursor-key.ts'
import { doctor } from './doctor.ts'
import { importCommand } from './import.ts'
import { failed, inWords, misused } from './in-words.ts'
import { key } from './key.ts'
import { migrate } from './migrate.ts'
import { openapi } from './openapi.ts'
import { reindex } from './reindex.ts'
import { restore } from './restore.ts'
import { serve } from './serve.ts'
import { start } from './start.ts'

const commands = [
  serve,
  start,
  migrate,
  apply,
  importCommand,
  app,
  key,
  collector,
  collect,
  adminToken,
  cursorKey,
  doctor,
  reindex,
  backup,
  restore,
  copy,
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
    environment,
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
    const { message, exitCode } = inWords(error)
    context.warn(`tidemark: ${message.replaceAll('\n', '\ntidemark: ')}`)
    return exitCode
  }
}
