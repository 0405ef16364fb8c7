import { type Command, InvalidArgumentError } from 'commander'
import { rotationGraceSecondsDefault } from '../operator/operator.ts'
import type { Key, OperatorStore } from '../operator/operator-store.ts'
import { formatTime } from '../platform/time.ts'
import { checkInput } from './check-input.ts'
import type { Context } from './context.ts'
import { expiresOption } from './expires-option.ts'
import { findApplication } from './find-owner.ts'
import { alignedTable, commandLineActor, withInstance } from './with-workbench.ts'

export function key(program: Command, context: Context): void {
  const command = program.command('key').description('List, create, revoke and rotate API keys.')
  command
    .command('list')
    .description('List all keys, including revoked and expired ones.')
    .option('--app <application>', 'only keys of this application, by ID or name')
    .action((options: { app?: string }) =>
      withInstance(context, async ({ operator }) => {
        const ownerId =
          options.app === undefined ? null : (await findApplication(operator.read, options.app)).applicationId
        const keys = await operator.keys(ownerId === null ? {} : { ownerId })
        const owners = await ownerNames(operator.read)
        const rows = keys.map((one) => ({
          key: one.keyId,
          name: one.name ?? '',
          of: one.owner.id,
          'name of owner': owners.get(one.owner.id) ?? '(deleted)',
          starts: `${one.prefix}…`,
          state: keyState(one),
          expires: one.expiresAt === null ? 'never' : formatTime(one.expiresAt),
          'last used': one.lastUsedAt === null ? 'never' : formatTime(one.lastUsedAt),
        }))
        context.say(alignedTable(rows, 'no keys yet: tidemark key create APPLICATION'))
      }),
    )
  command
    .command('create')
    .description('Create an application key and print it once.')
    .argument('<application>', 'its ID or name')
    .option('--name <name>', 'a name for the key')
    .addOption(expiresOption())
    .action((application: string, options: { name?: string; expires?: number }) =>
      withInstance(context, async ({ operator }) => {
        checkInput('KeyInput', options.name === undefined ? {} : { name: options.name })
        const key = { name: options.name ?? null, expiresAt: options.expires ?? null }
        const { applicationId } = await findApplication(operator.read, application)
        const made = await operator.createKey(commandLineActor, applicationId, key)
        context.say(`key ${made.keyId}, shown only once: ${made.secret}`)
      }),
    )
  command
    .command('revoke')
    .description('Revoke a key.')
    .argument('<key>', 'its id, key_…')
    .action((id: string) =>
      withInstance(context, async ({ operator }) => {
        await operator.revokeKey(commandLineActor, id)
        context.say(`revoked ${id}`)
      }),
    )
  command
    .command('rotate')
    .description('Replace a key with a new one. The old one still works for the grace period.')
    .argument('<key>', 'its id, key_…')
    .option(
      '--grace <seconds>',
      'how long the old key still works, in seconds',
      wholeSeconds,
      rotationGraceSecondsDefault,
    )
    .action((id: string, options: { grace: number }) =>
      withInstance(context, async ({ operator }) => {
        checkInput('RotateInput', { grace_seconds: options.grace })
        const made = await operator.rotateKey(commandLineActor, id, options.grace)
        context.say(`key ${made.keyId}, shown only once: ${made.secret}`)
        context.say(`${id} works until ${formatTime(made.oldExpiresAt)}`)
      }),
    )
}

/** The names of applications and collectors by their IDs. */
async function ownerNames(read: Pick<OperatorStore, 'applications' | 'collectors'>): Promise<Map<string, string>> {
  const [applications, collectors] = await Promise.all([read.applications(), read.collectors()])
  return new Map([
    ...applications.map(({ applicationId, name }) => [applicationId, name] as const),
    ...collectors.map(({ collectorId, name }) => [collectorId, name] as const),
  ])
}

export function keyState({ revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>): string {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'valid'
}

function wholeSeconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of seconds.')
  return Number(text)
}
