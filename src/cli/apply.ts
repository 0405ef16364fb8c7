import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { parse } from 'yaml'
import type { Workbench } from '../compose-workbench.ts'
import { checkInstanceFile, InstanceFileError, type Plan, planInstance } from '../operator/instance-file.ts'
import type { Context } from './context.ts'
import { commandLineActor, withWorkbench } from './with-workbench.ts'

export function apply(program: Command, context: Context): void {
  program
    .command('apply')
    .description('make the instance as a YAML file says; again changes nothing')
    .argument('<file>', 'datasets, classifications, embedding_profiles, applications, collectors')
    .option('--dry-run', 'only show the difference')
    .action(async (path: string, options: { dryRun?: boolean }) => {
      try {
        await withWorkbench(context, async (bench) => {
          const plan = await planFile(path, bench)
          for (const line of plan.lines) context.say(line)
          if (plan.lines.length === 0) context.say('nothing to change')
          if (options.dryRun === true || plan.lines.length === 0) return
          await bench.operator.commit(commandLineActor, plan.changes)
          for (const { of, secret } of plan.secrets) context.say(`${of}, shown this once: ${secret}`)
        })
      } catch (error) {
        if (!(error instanceof InstanceFileError)) throw error
        context.warn(`tidemark: ${path}: ${error.message}`)
        context.fail()
      }
    })
}

export async function planFile(path: string | URL, bench: Pick<Workbench, 'operator'>): Promise<Plan> {
  return planInstance(checkInstanceFile(await readYaml(path)), bench.operator.read)
}

async function readYaml(path: string | URL): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new InstanceFileError(`the file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`)
  }
  try {
    return parse(text)
  } catch (error) {
    throw new InstanceFileError(`not valid YAML: ${(error as Error).message.split('\n', 1)[0]}`)
  }
}
