import { readFile } from 'node:fs/promises'
import {
  checkInstanceFile,
  emptyInstance,
  type InstanceFile,
  InstanceFileError,
  type Plan,
  planInstance,
} from '../operator/instance-file.ts'
import { TidemarkError } from '../platform/errors.ts'
import { fileFault } from '../platform/file-fault.ts'
import { parseYaml, YamlFault } from '../platform/parse-yaml.ts'
import type { Config } from '../settings/config.ts'
import { backendOf } from '../storage/backends.ts'
import type { Context } from './context.ts'
import { printableOnOneLine } from './printable.ts'
import { commandLineActor, withWorkbench } from './with-workbench.ts'

export async function applyFile(context: Context, path: string, options: { dryRun?: boolean }): Promise<void> {
  try {
    const file = await readInstanceFile(path)
    if (options.dryRun === true && (await isNoStoreYet(context.config()))) {
      show(context, await planInstance(file, emptyInstance))
      return
    }
    await withWorkbench(context, async (bench) => {
      const plan = await planInstance(file, bench.operator.read)
      show(context, plan)
      if (options.dryRun === true || plan.lines.length === 0) return
      await bench.operator.commit(commandLineActor, plan.changes)
      for (const { of, secret } of plan.secrets) context.say(`${of}, shown only once: ${secret}`)
      for (const name of plan.keyless) {
        context.say(`application ${name} has no key yet: tidemark key create ${JSON.stringify(name)}`)
      }
    })
  } catch (error) {
    if (!(error instanceof InstanceFileError)) throw error
    context.warn(printableOnOneLine(`tidemark: ${path}: ${error.message}`))
    context.fail()
  }
}

function show(context: Context, { lines }: Plan): void {
  for (const line of lines) context.say(line)
  if (lines.length === 0) context.say('nothing to change')
}

/** A dry run must not create a store or upgrade it. */
async function isNoStoreYet(config: Config): Promise<boolean> {
  const backend = backendOf(config)
  if (!backend.isThere()) return true
  const { schema, newestSchema } = await backend.maintenance()
  const { newest } = await schema()
  if (newest > 0 && newest < newestSchema) {
    throw new TidemarkError('conflict', 'the store was made by an older version: run tidemark migrate first')
  }
  return newest === 0
}

export const readInstanceFile = async (path: string | URL): Promise<InstanceFile> =>
  checkInstanceFile(await readYaml(path))

async function readYaml(path: string | URL): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new InstanceFileError(fileFault(error))
  }
  try {
    return parseYaml(text)
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error
    throw new InstanceFileError(`not valid YAML: ${error.message.split('\n', 1)[0]}`)
  }
}
