import { Command, CommanderError } from 'commander'
import { shortened } from '../platform/quoted.ts'
import { version } from '../platform/version.ts'
import { defaultDataFolder, readConfig } from '../settings/config.ts'
import type { Context } from './context.ts'
import { exitFailed, exitMisused, inWords } from './in-words.ts'
import { printable } from './printable.ts'
import { sampleFolder } from './sample-folder.ts'

type AddCommand = (program: Command, context: Context) => void

/** In the order of `--help`. Each command loads only its own modules, and most need no server. */
const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import('./serve.ts')).serve,
  start: async () => (await import('./start.ts')).start,
  migrate: async () => (await import('./migrate.ts')).migrate,
  apply: async () => (await import('./apply.ts')).apply,
  import: async () => (await import('./import.ts')).importCommand,
  app: async () => (await import('./app.ts')).app,
  key: async () => (await import('./key.ts')).key,
  usage: async () => (await import('./usage.ts')).usage,
  collector: async () => (await import('./collector.ts')).collector,
  collect: async () => (await import('./collect.ts')).collect,
  mirror: async () => (await import('./mirror.ts')).mirror,
  erase: async () => (await import('./erase.ts')).erase,
  admin: async () => (await import('./admin.ts')).admin,
  'admin-token': async () => (await import('./admin-token.ts')).adminToken,
  'cursor-key': async () => (await import('./cursor-key.ts')).cursorKey,
  clock: async () => (await import('./clock.ts')).clock,
  doctor: async () => (await import('./doctor.ts')).doctor,
  reindex: async () => (await import('./reindex.ts')).reindex,
  backup: async () => (await import('./backup.ts')).backup,
  restore: async () => (await import('./restore.ts')).restore,
  copy: async () => (await import('./copy.ts')).copy,
  openapi: async () => (await import('./openapi.ts')).openapi,
}

/**
 * Loads the command that the first argument names. Loads all commands for `--help` and for the list after an unknown
 * name, and none for the version.
 */
function loadCommands([first]: readonly string[]): Promise<AddCommand[]> {
  if (first === '-V' || first === '--version') return Promise.resolve([])
  const isNamed = first !== undefined && Object.hasOwn(commands, first)
  return Promise.all(isNamed ? [commands[first]!()] : Object.values(commands).map((load) => load()))
}

/** Shortens the arguments in an error, because Commander repeats a wrong argument in full. */
const withShortened = (argv: readonly string[], text: string): string =>
  argv.reduce((rest, argument) => rest.replaceAll(argument, () => shortened(argument)), text)

export async function runCommandLine(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  let code = 0
  const program = new Command('tidemark')
    .description(
      'A self-hosted content data service. Settings are environment variables; `tidemark serve --help` lists them.',
    )
    .version(version, '-V, --version', 'print the version')
    .option(
      '--data-dir <value>',
      `the folder of the instance [TIDEMARK_DATA_DIR, ${defaultDataFolder}; start: ${sampleFolder}]`,
    )
    .exitOverride()
    .configureHelp({ sortSubcommands: false, showGlobalOptions: true })
    .configureOutput({
      writeErr: (text) => process.stderr.write(printable(text)),
      outputError: (text, write) => write(withShortened(argv, text)),
    })
    .showHelpAfterError('(add --help for the usage)')
  const context: Context = {
    config: (overrides = {}) => {
      const { dataDir } = program.opts<{ dataDir?: string }>()
      return readConfig(environment, dataDir === undefined ? overrides : { ...overrides, TIDEMARK_DATA_DIR: dataDir })
    },
    environment,
    say: (text) => process.stdout.write(`${printable(text)}\n`),
    warn: (text) => process.stderr.write(`${printable(text)}\n`),
    fail: () => {
      code = exitFailed
    },
  }
  for (const add of await loadCommands(argv)) add(program, context)
  try {
    await program.parseAsync(argv as string[], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitMisused
    const { message, exitCode } = inWords(error)
    context.warn(`tidemark: ${message.replaceAll('\n', '\ntidemark: ')}`)
    return exitCode
  }
}
